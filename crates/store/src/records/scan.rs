//! What an index wants of all items at once, told where it lies.

use super::item::PointId;
use super::vectors::{Collection, SparseVector};
use tidegate_policy::Label;

/// An item without its text, as a scan tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScannedItem<'a> {
    /// The collection.
    pub collection: Collection,
    /// Its id.
    pub id: PointId,
    /// Whose it is.
    pub user: &'a str,
    /// The conversation, as text.
    pub chat: &'a str,
    /// Its label.
    pub label: Label,
    /// Of a chunk: its source.
    pub source: Option<&'a str>,
    /// Of a chunk: its place in the source.
    pub ordinal: Option<u32>,
    /// Of a memory: its name.
    pub memory_id: Option<&'a str>,
    /// Of a memory: its group.
    pub artifact_name: Option<&'a str>,
    /// Of a memory: its importance.
    pub importance: Option<u8>,
    /// When it is from, in milliseconds since 1970 (UTC): of a memory its last update.
    pub time_ms: i64,
    /// Of a memory: when it ends.
    pub expires_ms: Option<i64>,
    /// Language (ISO 639-3) as its word forms were made.
    pub language: &'a str,
    /// Its words, by number, ascending.
    pub words: &'a [u32],
    /// How often each of `words` stands in it; as long as `words`.
    pub counts: &'a [f32],
}

/// The vectors of an item, as a scan tells them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScannedVectors<'a> {
    /// The collection.
    pub collection: Collection,
    /// The id of the item.
    pub id: PointId,
    /// The dense vector, as it is stored.
    pub dense: &'a [f32],
    /// The learned sparse vector, where there is one.
    pub sparse: Option<SparseVector>,
}

/// Is told each item once, on a thread of the records.
pub type ItemVisitor = Box<dyn FnMut(ScannedItem<'_>) + Send>;

/// Is told the vectors of each item once, on a thread of the records.
pub type VectorsVisitor = Box<dyn FnMut(ScannedVectors<'_>) + Send>;
