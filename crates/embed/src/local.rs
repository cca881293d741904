//! Models that compute in this process.

mod batches;
mod bge_m3;
mod embedder;
mod model;
mod text;

pub use embedder::LocalEmbedder;
