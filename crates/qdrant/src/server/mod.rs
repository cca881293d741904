//! A Qdrant server, or a cluster of them.

mod connection;
mod index;
mod marker;
mod request;
mod settings;

pub use index::ServerIndex;
pub use settings::ServerSettings;
