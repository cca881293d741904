//! Two memories for agents: long-term meta-artifacts, and session RAG.

mod artifacts;
mod auxiliary;
mod blocking;
mod chunk;
mod dates;
mod embedder;
mod error;
pub mod evaluation;
mod fusion;
mod hashed;
mod ids;
mod index;
mod memory;
mod ranking;
mod reembed;
mod sessions;
mod settings;
mod text;
mod tools;

use blocking::off_thread;

pub use artifacts::{
    ArtifactIndex, Consolidated, Forgotten, IndexedMemory, MemoryListing, MemorySearch, NewMemory, Outcome, Recalled,
    RecalledMemory, Remembered, Theme,
};
pub use auxiliary::{Auxiliary, Distilled};
pub use chunk::{Piece, pieces};
pub use dates::Period;
pub use embedder::{EmbedWork, Embedder, Embedding, check_embeddings};
pub use error::{BadVector, Cause, EmbedderError, IndexError, MemoryError};
pub use hashed::{HashedEmbedder, estimated_tokens};
pub use ids::memory_point_id;
pub use index::{
    ExactIndex, IndexChange, IndexFilter, IndexHit, IndexPoint, IndexSearch, Leg, PointPayload, VectorIndex,
    lexical_vector,
};
pub use memory::{Memory, MemoryBuilder};
pub use reembed::reembed;
pub use sessions::{
    Deleted, Passage, Passages, Saved, SavedPiece, SessionSearch, SessionSearchResult, SourceListing,
};
pub use settings::{MemorySettings, Mode, Recall, Scope};
pub use tools::{SessionOwner, memory_tools};

/// Checks a number that was given.
pub(crate) fn bounds(what: &'static str, given: usize, most: usize) -> Result<(), MemoryError> {
    if (1..=most).contains(&given) {
        return Ok(());
    }
    Err(MemoryError::OutOfBounds {
        what,
        given: given as u64,
        least: 1,
        most: most as u64,
    })
}
