//! The trait.

use super::item::{ChunkRecord, Item, MemoryRecord, MemoryVersion, PointId, SourceKey, SourceRecord};
use super::outline::{OutlineQuery, OutlinedChange};
use super::registry::ResourceRecord;
use super::scan::{ItemVisitor, VectorsVisitor};
use super::vectors::{Collection, ModelRecord, Vectors};
use super::write::{RecordWrite, RecordsCommit};
use crate::{BoxFuture, StoreError};
use std::ops::Range;
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId, SourceId, UserId};

/// Which memories. Each field that is none asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryQuery {
    /// Whose.
    pub user: Option<UserId>,
    /// With these ids.
    pub ids: Option<Vec<PointId>>,
    /// With this name.
    pub memory_id: Option<MemoryId>,
    /// Whether vectors are wanted too.
    pub vectors: bool,
}

/// Which chunks. Each field that is none asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkQuery {
    /// Whose.
    pub user: Option<UserId>,
    /// Of this conversation.
    pub chat: Option<Arc<str>>,
    /// Of the sources of this name.
    pub source: Option<SourceId>,
    /// Of sources of this label.
    pub label: Option<Label>,
    /// With these ids.
    pub ids: Option<Vec<PointId>>,
    /// At these places of their sources.
    pub ordinals: Option<Range<u32>>,
    /// Whether vectors are wanted too.
    pub vectors: bool,
}

/// Which sources or resources. Each field that is none asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceQuery {
    /// Whose.
    pub user: Option<UserId>,
    /// Of this conversation.
    pub chat: Option<Arc<str>>,
    /// Of this name.
    pub source: Option<SourceId>,
    /// Of this label.
    pub label: Option<Label>,
}

impl SourceQuery {
    /// The one of this key.
    pub fn one(key: &SourceKey) -> Self {
        Self {
            user: Some(key.user.clone()),
            chat: Some(Arc::clone(&key.chat)),
            source: Some(key.source.clone()),
            label: Some(key.label),
        }
    }
}

/// Items without vectors of a model, staged or in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnstagedQuery {
    /// The collection.
    pub collection: Collection,
    /// The model.
    pub model: String,
    /// Those behind this id, in the order of ids; from the first if none.
    pub after: Option<PointId>,
    /// At most so many.
    pub limit: usize,
}

/// One change of the journal: the last of its item.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its number.
    pub sequence: u64,
    /// The collection.
    pub collection: Collection,
    /// The item.
    pub id: PointId,
    /// The item as it is now; none if it was deleted.
    pub item: Option<Item>,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsStatistics {
    /// Memories, in all states.
    pub memories: u64,
    /// Chunks.
    pub chunks: u64,
    /// Sources.
    pub sources: u64,
    /// The last number of the journal; 0 of records that were never written.
    pub sequence: u64,
}

/// Durable records. All methods may be called from many tasks at once, on any runtime.
///
/// Records know nothing of clearances: who asks has to leave out what may not be seen.
pub trait Records: Send + Sync {
    /// Makes all `writes` happen in order, or none. Durable when it returns. Dropping the future does not take it
    /// back: once polled, it may still happen.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was written then.
    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>>;

    /// Memories, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn memories(&self, query: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>>;

    /// The earlier versions of a memory, oldest first.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn history(&self, id: PointId) -> BoxFuture<'_, Result<Vec<MemoryVersion>, StoreError>>;

    /// Chunks, in the order of their sources' keys and of their places.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn chunks(&self, query: ChunkQuery) -> BoxFuture<'_, Result<Vec<ChunkRecord>, StoreError>>;

    /// Sources, in the order of their keys.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn memory_sources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<SourceRecord>, StoreError>>;

    /// Rows of the registry, in the order of their keys.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn resources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<ResourceRecord>, StoreError>>;

    /// The model of the records; none before the first was set.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if it cannot be read.
    fn model(&self) -> BoxFuture<'_, Result<Option<ModelRecord>, StoreError>>;

    /// Items without vectors of a model, staged or in use, in the order of their ids, without any vectors.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn unstaged(&self, query: UnstagedQuery) -> BoxFuture<'_, Result<Vec<Item>, StoreError>>;

    /// A number by name; none if it was never set.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<u64>, StoreError>>;

    /// The journal behind number `after`, ascending, at most `limit` changes. Each item appears once, with its last
    /// change; items come with vectors.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if an item cannot be read.
    fn changes(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Change>, StoreError>>;

    /// Whether [`RecordWrite::KeepWords`] does anything. By default it does not.
    fn keeps_words(&self) -> bool {
        false
    }

    /// The same journal for an index: items come without their texts where their words are kept. By default they come
    /// whole, with vectors.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if an item cannot be read.
    fn outlines(&self, query: OutlineQuery) -> BoxFuture<'_, Result<Vec<OutlinedChange>, StoreError>> {
        Box::pin(async move {
            let changes = self.changes(query.after, query.limit).await?;
            Ok(changes.into_iter().map(OutlinedChange::from).collect())
        })
    }

    /// Tells `visit` all items that count, without texts, in no particular order, as they are at one moment: the journal's
    /// last number then. To fill an index from nothing this is much faster than the journal from its beginning; what
    /// comes after the number is in the journal.
    ///
    /// None if the records cannot do so, or if the words of an item are not kept in this form: some items may have been
    /// told all the same, and the journal tells everything. By default they cannot.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if an item cannot be read.
    fn scan_items(&self, form: u32, visit: ItemVisitor) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        drop((form, visit));
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The same for all vectors of a model, also of items that do not count: a view of its own, so that its number may
    /// be another one. By default they cannot.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if a vector cannot be read.
    fn scan_vectors<'a>(
        &'a self,
        model: &'a str,
        visit: VectorsVisitor,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        drop((model, visit));
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Vectors of the model in use of the items with these ids, in no particular order; items without are left out. By
    /// default the items are read whole.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn vectors(
        &self,
        collection: Collection,
        ids: Vec<PointId>,
    ) -> BoxFuture<'_, Result<Vec<(PointId, Vectors)>, StoreError>> {
        Box::pin(async move {
            let (ids, vectors) = (Some(ids), true);
            Ok(match collection {
                Collection::MetaArtifacts => {
                    let query = MemoryQuery {
                        ids,
                        vectors,
                        ..MemoryQuery::default()
                    };
                    let found = self.memories(query).await?.into_iter();
                    found.filter_map(|item| Some((item.id, item.vectors?))).collect()
                }
                Collection::SessionRag => {
                    let query = ChunkQuery {
                        ids,
                        vectors,
                        ..ChunkQuery::default()
                    };
                    let found = self.chunks(query).await?.into_iter();
                    found.filter_map(|item| Some((item.id, item.vectors?))).collect()
                }
            })
        })
    }

    /// How much there is.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn statistics(&self) -> BoxFuture<'_, Result<RecordsStatistics, StoreError>>;
}
