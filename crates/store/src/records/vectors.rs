//! Vectors and the model that made them.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an item belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collection {
    /// Long-term memories.
    MetaArtifacts,
    /// Chunks of the texts of a session.
    SessionRag,
}

impl Collection {
    /// Both, in the order in which they are looked through.
    pub const ALL: [Self; 2] = [Self::MetaArtifacts, Self::SessionRag];

    /// The name, as indexes and files use it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MetaArtifacts => "meta_artifacts",
            Self::SessionRag => "session_rag",
        }
    }
}

/// A vector most of whose values are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseVector {
    /// The places of the values that are not 0, ascending, each once.
    pub indices: Vec<u32>,
    /// The values at these places.
    pub values: Vec<f32>,
}

/// What an embedder made of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The id of the model.
    pub model: Arc<str>,
    /// The dense vector. Its length is the model's dimension.
    pub dense: Arc<[f32]>,
    /// The learned sparse vector, of a model that has one.
    pub sparse: Option<Arc<SparseVector>>,
}

/// The model with which the records were embedded. Two models of the same dimension are two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Its id.
    pub id: String,
    /// The length of its dense vectors.
    pub dimension: usize,
    /// What it puts before texts and queries, as the embedder describes it; empty if nothing.
    pub prefixes: String,
}
