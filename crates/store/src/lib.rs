//! Durable sessions: transcripts, checkpoints, tool-call journals, approvals, events, full texts, file labels.
//!
//! The trait [`Store`] is what the runtime needs; [`SqliteStore`] keeps it all in one SQLite file, with one
//! writer that groups commits and a small pool of readers. Everything that must happen together is one
//! [`Store::commit`] of several [`Write`]s: all or nothing, durable when it returns.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use tidegate_store::{EventFilter, SqliteStore, Store};
//!
//! let store = SqliteStore::in_memory()?;
//! assert!(store.sessions().await?.sessions.is_empty());
//! assert!(store.events(EventFilter::default()).await?.is_empty());
//! # Ok::<(), tidegate_store::StoreError>(()) }).unwrap();
//! ```
//!
//! **Not here:** what the entries mean, when to write them (`tidegate-runtime`), vector indexes.
//!
//! **Invariants**
//! - A stored taint never falls: a write that would lower it fails.
//! - A grant is used at most once, whoever asks at the same time.
//! - Entries and events of a session are numbered from 1 without a gap.
//! - A label that cannot be read is RESTRICTED and UNTRUSTED, a clearance that cannot be read is PUBLIC.

mod approval;
mod error;
mod record;
mod sqlite;
mod store;

pub use approval::{ApprovalFilter, ApprovalRecord, ApprovalState, NewApproval};
pub use error::{Cause, ForeignFile, StoreError};
pub use record::{
    CallRecord, CallState, Checkpoint, Committed, EventFilter, FileLabel, NewEvent, NewSession, SessionList,
    SessionPatch, SessionRecord, SessionState, SessionSummary, SourceText, StoredEvent,
};
pub use sqlite::SqliteStore;
pub use store::{BoxFuture, Durability, Store, Write};
