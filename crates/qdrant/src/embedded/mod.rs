//! Qdrant's engine in the process.

mod engine;
mod folder;
mod index;
mod settings;
mod writer;

pub use index::EmbeddedIndex;
pub use settings::{EmbeddedSettings, Step};
