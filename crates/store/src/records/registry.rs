//! The registry of what was given to a session.

use super::item::SourceKey;
use serde::{Deserialize, Serialize};

/// Where a resource is on its way into a session. Each has one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResourceState {
    /// Nothing was done with it yet.
    PendingIngestion,
    /// It stands in the context, whole.
    PutInContext,
    /// It was cut into chunks, and a summary of it was made.
    VectorizedSumUp,
    /// It was cut into chunks.
    Indexed,
    /// It cannot be used.
    Failed {
        /// Why, for people and models.
        why: String,
    },
}

/// A resource: a file, a picture, a large result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceRecord {
    /// Which, and its label; its source is the native id.
    pub key: SourceKey,
    /// The name of the file, as it was given.
    pub filename: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it is.
    pub state: ResourceState,
    /// The summary, where there is one.
    pub summary: Option<String>,
    /// When it came, in milliseconds since 1970 (UTC).
    pub created_ms: i64,
    /// When its state changed last.
    pub changed_ms: i64,
}
