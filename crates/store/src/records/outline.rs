//! What an index wants of an item: without its text.

use super::contract::Change;
use super::item::{Item, PointId};
use super::vectors::{Collection, SparseVector, Vectors};
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId, SourceId, UserId};

/// Which changes of the journal, and how much of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlineQuery {
    /// Those behind this number.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
    /// The form of words that is wanted; see [`RecordWrite::KeepWords`](super::RecordWrite::KeepWords).
    pub form: u32,
    /// Vectors are given for changes behind this number alone: an index has the others.
    pub vectors_behind: u64,
}

/// One change of the journal, with as much of the item as an index wants.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlinedChange {
    /// Its number.
    pub sequence: u64,
    /// The collection.
    pub collection: Collection,
    /// The item.
    pub id: PointId,
    /// The item as it is now.
    pub item: Outlined,
}

/// An item, as far as it is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Outlined {
    /// It is not there, or counts no longer.
    Gone,
    /// All of it, since its words are not kept in the form that was asked for.
    Whole(Item),
    /// Without its text.
    Outline(Box<Outline>),
}

/// An item without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Whose it is.
    pub user: UserId,
    /// The conversation, as text.
    pub chat: Arc<str>,
    /// Its label.
    pub label: Label,
    /// Of a chunk: its source.
    pub source: Option<SourceId>,
    /// Of a chunk: its place in the source.
    pub ordinal: Option<u32>,
    /// Of a memory: its name.
    pub memory_id: Option<MemoryId>,
    /// Of a memory: its group.
    pub artifact_name: Option<String>,
    /// Of a memory: its importance.
    pub importance: Option<u8>,
    /// When it is from, in milliseconds since 1970 (UTC): of a memory its last update.
    pub time_ms: i64,
    /// Of a memory: when it ends.
    pub expires_ms: Option<i64>,
    /// Language (ISO 639-3) as its word forms were made.
    pub language: String,
    /// Its words.
    pub words: SparseVector,
    /// Its vectors, where they were asked for and there are some.
    pub vectors: Option<Vectors>,
}

impl From<Change> for OutlinedChange {
    fn from(change: Change) -> Self {
        Self {
            sequence: change.sequence,
            collection: change.collection,
            id: change.id,
            item: change.item.map_or(Outlined::Gone, Outlined::Whole),
        }
    }
}
