//! An index that may not get everything.

use super::contract::{IndexChange, IndexHit, IndexSearch, VectorIndex};
use super::exact::ExactIndex;
use super::point::{IndexFilter, IndexPoint};
use crate::memory::may_flow;
use crate::{Cause, IndexError};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tidegate_policy::{Classification, Label};
use tidegate_store::{ChunkQuery, Collection, Item, MemoryQuery, ModelRecord, PointId, Records, StoreError};
use tidegate_tools::BoxFuture;

/// Changes that are read at once.
const BATCH: usize = 1_000;

/// An index with a clearance: a server elsewhere, say. Points above it are never sent there, nor are searches among
/// labels above it, since their vector is made of a text that may be as high: those are done exactly over the records,
/// in this process.
///
/// What an index was sent before its clearance was lowered is still there until [`Memory::reindex`](crate::Memory::reindex).
/// It learns the id, a hash, of an item above the clearance if that was deleted while no process ran.
pub struct ClearedIndex {
    inner: Arc<dyn VectorIndex>,
    records: Arc<dyn Records>,
    clearance: Classification,
    model: OnceLock<ModelRecord>,
    /// What is above the clearance, so that it is not even told that it is gone.
    above: Mutex<BTreeSet<(Collection, PointId)>>,
}

impl ClearedIndex {
    /// `inner` with what of `records` may flow to `clearance`.
    pub fn new(inner: Arc<dyn VectorIndex>, records: Arc<dyn Records>, clearance: Classification) -> Self {
        Self {
            inner,
            records,
            clearance,
            model: OnceLock::new(),
            above: Mutex::default(),
        }
    }

    fn may_get(&self, label: Label) -> bool {
        may_flow(label, self.inner.name(), self.clearance)
    }

    fn may_be_asked(&self, filter: &IndexFilter) -> bool {
        filter.labels.iter().all(|label| self.may_get(*label))
    }

    fn remember(&self, collection: Collection, id: PointId, is_above: bool) -> bool {
        let mut above = self.above.lock().unwrap_or_else(PoisonError::into_inner);
        if is_above {
            above.insert((collection, id));
            true
        } else {
            above.remove(&(collection, id))
        }
    }

    /// The changes that may be told.
    fn cleared(&self, changes: Vec<IndexChange>) -> Vec<IndexChange> {
        changes
            .into_iter()
            .filter(|change| match change {
                IndexChange::Upsert(point) => {
                    let is_above = !self.may_get(point.payload.label);
                    self.remember(point.collection, point.id, is_above);
                    !is_above
                }
                IndexChange::Delete { collection, id } => !self.remember(*collection, *id, false),
            })
            .collect()
    }

    /// Notes what is above the clearance.
    async fn look_above(&self) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let changes = self.records.changes(after, BATCH).await?;
            let Some(last) = changes.last().map(|change| change.sequence) else {
                return Ok(());
            };
            for change in changes {
                if change.item.is_some_and(|item| !self.may_get(item.label())) {
                    self.remember(change.collection, change.id, true);
                }
            }
            after = last;
        }
    }

    fn failed(&self, cause: impl Into<Cause>) -> IndexError {
        IndexError::Failed {
            index: self.inner.name().to_owned(),
            cause: cause.into(),
        }
    }

    /// All points that pass, exactly, in this process.
    async fn exact(&self, collection: Collection, filter: &IndexFilter) -> Result<ExactIndex, IndexError> {
        let user = Some(filter.user.clone());
        let items: Vec<Item> = match collection {
            Collection::MetaArtifacts => {
                let query = MemoryQuery {
                    user,
                    vectors: true,
                    ..MemoryQuery::default()
                };
                let found = self.records.memories(query).await;
                let found = found.map_err(|error| self.failed(error))?;
                found
                    .into_iter()
                    .map(|memory| Item::Memory(Box::new(memory)))
                    .collect()
            }
            Collection::SessionRag => {
                let query = ChunkQuery {
                    user,
                    chat: filter.chat.clone(),
                    source: filter.source.clone(),
                    vectors: true,
                    ..ChunkQuery::default()
                };
                let found = self.records.chunks(query).await;
                let found = found.map_err(|error| self.failed(error))?;
                found
                    .into_iter()
                    .map(|chunk| Item::Chunk(Box::new(chunk)))
                    .collect()
            }
        };
        let exact = ExactIndex::new();
        if let Some(model) = self.model.get() {
            exact.open(model).await?;
            let points = items.iter().filter_map(|item| IndexPoint::of(item, &model.id));
            let points = points.filter(|point| filter.passes(&point.payload));
            let changes = points.map(|point| IndexChange::Upsert(Box::new(point))).collect();
            exact.apply(changes, 0).await?;
        }
        Ok(exact)
    }
}

impl VectorIndex for ClearedIndex {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(async move {
            self.look_above().await.map_err(|error| self.failed(error))?;
            // It is opened again after an outage, for the same model.
            let model = self.model.get_or_init(|| model);
            self.inner.open(model).await
        })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.inner.position()
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.apply(self.cleared(changes), position)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.flush()
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        Box::pin(async move {
            if self.may_be_asked(&search.filter) {
                return self.inner.search(search).await;
            }
            let exact = self.exact(search.collection, &search.filter).await?;
            exact.search(search).await
        })
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(async move {
            if self.may_be_asked(&filter) {
                return self.inner.count(collection, filter).await;
            }
            let exact = self.exact(collection, &filter).await?;
            exact.count(collection, filter).await
        })
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(async move { self.inner.reset(&model).await })
    }
}
