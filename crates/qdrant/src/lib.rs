//! Two indexes of vectors for `tidegate-memory`: Qdrant's engine in the process, and a Qdrant server.
//!
//! [`EmbeddedIndex`] keeps its points in one folder, with `qdrant-edge`. [`ServerIndex`] keeps them on one node or a
//! cluster, over gRPC with `qdrant-client`. Both follow the journal of the records and can be lost, emptied, restored or
//! away: what they have not got is searched exactly from the records meanwhile, and applied to them afterwards.
//!
//! Both have the collections `meta_artifacts` and `session_rag`; in each, the named vectors `dense` (cosine), `sparse`
//! (learned, where the model has one) and `lexical` (how often each term stands in the text, weighed by rarity); and an
//! index of each payload field that is filtered. No text is in them.
//!
//! ```no_run
//! # async fn example(records: std::sync::Arc<dyn tidegate_store::Records>) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use tidegate_memory::{HashedEmbedder, Memory};
//! use tidegate_qdrant::EmbeddedIndex;
//!
//! let index = EmbeddedIndex::open("data/memory-index")?;
//! let memory = Memory::builder(records, Arc::new(HashedEmbedder::new())).index(Arc::new(index)).open().await?;
//! # drop(memory); Ok(()) }
//! ```
//!
//! **Not here:** texts and vectors themselves (`tidegate-store`), ranking (`tidegate-memory`), and which index is used
//! (`tidegate-cli`).
//!
//! **Invariants**
//! - The position of an index is never ahead of what is durably in it: it is written after a flush succeeded, in one piece.
//! - What is wrong with an index is an error; it never ends the process and never deletes a record.

mod cut;
mod embedded;
mod error;
mod schema;
mod server;

pub use embedded::{EmbeddedIndex, EmbeddedSettings, Step};
pub use error::QdrantError;
pub use server::{ServerIndex, ServerSettings};
