//! Durable sessions: transcripts, checkpoints, tool-call journals, approvals, events, full texts, file labels; and the
//! records of memories ([`Records`]) for `tidegate-memory`.
//!
//! The trait [`Store`] is what the runtime needs; [`SqliteStore`] keeps it all in one SQLite file, with one
//! writer that groups commits and a small pool of readers; [`MemoryStore`] keeps it as long as the process lives.
//! Everything that must happen together is one [`Store::commit`] of several [`Write`]s: all or nothing, durable (in
//! a file) when it returns.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use tidegate_store::{EventFilter, MemoryStore, Store};
//!
//! let store = MemoryStore::new();
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
mod clock;
mod content_hash;
mod error;
mod file_labels;
mod memory;
mod note;
mod record;
mod records;
mod segment;
mod sqlite;
mod store;
mod title;
mod words;

pub use approval::{ApprovalFilter, ApprovalRecord, ApprovalState, NewApproval};
pub use error::{Cause, ForeignFile, StoreError};
pub use file_labels::{FileLabel, FileLabelRange, PendingPlace, PendingWrites};
pub use memory::MemoryStore;
pub use note::{NewNote, StoredNote};
pub use record::{
    CallRecord, CallState, Checkpoint, Committed, EventFilter, NewEvent, NewSession, SessionList,
    SessionPatch, SessionRecord, SessionState, SessionSummary, SourceText, StoredEvent,
};
pub use records::{
    Change, ChunkQuery, ChunkRecord, Collection, Expected, Item, ItemVisitor, MemoryPatch, MemoryQuery,
    MemoryRecord, MemoryRecords, MemoryState, MemoryVersion, ModelRecord, Outline, OutlineQuery, Outlined,
    OutlinedChange, PointId, Provenance, RecordWrite, Records, RecordsCommit, RecordsStatistics,
    ResourceRecord, ResourceState, ScannedItem, ScannedVectors, SourceKey, SourceQuery, SourceRecord,
    SparseVector, UnstagedQuery, Vectors, VectorsVisitor,
};
pub use segment::{CompactionRest, NewSegment, Segment, SegmentSizes};
pub use sqlite::SqliteStore;
pub use store::{BoxFuture, Durability, Store, Write};
