//! Two memories for agents, labelled, searched by meaning and by words.
//!
//! **Meta-artifacts** are long-term: what a user prefers and an agent learned, across sessions ([`Memory::remember`],
//! [`Memory::recall`]). **Session RAG** is working memory: large texts of one session, cut in chunks
//! ([`Memory::save_session_context`], [`Memory::search_session_context`]). [`memory_tools`] gives both to models.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use std::sync::Arc;
//! use tidegate_memory::{HashedEmbedder, Memory, MemorySearch, NewMemory, Scope};
//! use tidegate_policy::{Classification, Label};
//! use tidegate_store::MemoryRecords;
//! use tidegate_tools::{Cancel, NeverCancelled};
//!
//! let memory = Memory::builder(Arc::new(MemoryRecords::new()), Arc::new(HashedEmbedder::new())).open().await?;
//! let session = |level| Scope {
//!     user: "ada".into(),
//!     chat: "s_1".into(),
//!     label: Label::trusted(level),
//!     clearance: level,
//! };
//! let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
//! let fact = NewMemory::new("likes", "Ada prefers the early ferry.");
//! memory.remember(&session(Classification::Internal), fact, &never).await?;
//!
//! let found = memory.recall(&session(Classification::Internal), MemorySearch::new("which ferries")).await?;
//! assert_eq!(found.hits[0].memory.fact, "Ada prefers the early ferry.");
//! let found = memory.recall(&session(Classification::Public), MemorySearch::new("which ferries")).await?;
//! assert!(found.hits.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The truth is in [`Records`](tidegate_store::Records) of `tidegate-store`, texts and vectors. A [`VectorIndex`] follows
//! their journal, and may be lost or away: what it has not got is searched exactly beside it. Without one everything is,
//! which is good up to about 20,000 items. An [`Embedder`] makes the vectors; [`HashedEmbedder`] needs no model. Words are
//! always searched too: stemmed in the language of the text, weighed by what may be seen.
//!
//! Files that are given to a session are registered and read ([`Memory::ingest`]); what a conversation says and nobody
//! wrote down is proposed ([`Memory::extract`]), if that is switched on.
//!
//! **Not here:** models (`tidegate-embed`), Qdrant (`tidegate-qdrant`), when to recall (`tidegate-runtime`), who may
//! release a memory.
//!
//! **Invariants**
//! - What a scope may not see has no influence on anything it is told: it is left out before anything is counted, weighed,
//!   ranked or cut.
//! - A write carries the writer's label and replaces, merges, renews and deletes nothing into whose label the writer may
//!   not write.
//! - Facts that differ in a number, date, name or negation are never made one without a model.
//! - A write is durable and can be found when it returns; killed anywhere, everything is as before or as after it.

mod artifacts;
mod auxiliary;
mod blocking;
mod bounds;
mod chunk;
mod dates;
mod embedder;
mod error;
pub mod evaluation;
mod extraction;
mod fusion;
mod hashed;
mod ids;
mod index;
mod ingestion;
mod memory;
mod ranking;
mod reembed;
mod sessions;
mod settings;
mod text;
mod tools;

use blocking::off_thread;

pub use artifacts::{
    ArtifactIndex, Consolidated, Forgotten, IndexedMemory, MemoryListing, MemorySearch, NewMemory, Outcome,
    Recalled, RecalledMemory, Remembered, Theme, check_memory, check_version,
};
pub use auxiliary::{Auxiliary, Distilled};
pub use bounds::LONGEST_SOURCE_ID;
pub(crate) use bounds::{bounds, check_source_id};
pub use chunk::{Piece, pieces};
pub use dates::Period;
pub use embedder::{EmbedWork, Embedder, Embedding, check_embeddings};
pub use error::{BadVector, Cause, EmbedderError, IndexError, MemoryError};
pub use extraction::{Extraction, Said, Speaker, said_in};
pub use hashed::{HashedEmbedder, estimated_tokens};
pub use ids::memory_point_id;
pub use index::{
    ExactIndex, IndexChange, IndexFilter, IndexHit, IndexPoint, IndexSearch, IndexTrouble, Leg, PointPayload,
    VectorIndex, lexical_vector,
};
pub use ingestion::{
    FileText, Ingested, LARGEST_FILE, NewResource, READABLE, ReadResource, ResourceKind, ResourceListing,
    Resources, WHOLE_PDF, WHOLE_TEXT, Way, file_text, smart_context, state_name,
};
pub use memory::{Memory, MemoryBuilder, WordsAlone};
pub use reembed::reembed;
pub use sessions::{
    Deleted, Passage, Passages, Saved, SavedPiece, SessionSearch, SessionSearchResult, SourceListing,
};
pub use settings::{MemorySettings, Mode, Recall, Scope};
pub use tools::{SessionOwner, memory_tools, registry_tools};
