//! Models that somebody else computes.

mod embedder;
mod endpoint;
mod settings;

pub use embedder::RemoteEmbedder;
pub use settings::RemoteSettings;
