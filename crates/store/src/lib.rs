//! Durable sessions: transcripts, checkpoints, tool-call journals, events, full texts, file labels.
//!
//! The trait [`Store`] is what the runtime needs; [`SqliteStore`] keeps it all in one SQLite file, with one
//! writer that groups commits and a small pool of readers. Everything that must happen together is one
//! [`Store::commit`] of several [`Write`]s: all or nothing, durable when it returns.
//!
//! **Not here:** what the entries mean, when to write them (`tidegate-runtime`), vector indexes.

mod sqlite;
mod store;

pub use sqlite::SqliteStore;
pub use store::{
    BoxFuture, CallRecord, CallState, Checkpoint, Committed, Durability, EventFilter, FileLabel, NewEvent,
    NewSession, SessionPatch, SessionRecord, SessionState, SessionSummary, SourceText, Store, StoreError, Write,
};
