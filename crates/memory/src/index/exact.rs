//! Exact search over all points.

use super::contract::{IndexChange, IndexHit, IndexSearch, VectorIndex};
use super::point::IndexFilter;
use super::table::Table;
use crate::IndexError;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};
use tidegate_store::{Collection, ModelRecord};
use tidegate_tools::BoxFuture;

/// Compares a query with every point: never misses one, and is fast enough up to about 20,000. In memory; it is
/// filled from the records at start.
#[derive(Clone, Debug, Default)]
pub struct ExactIndex {
    state: Arc<RwLock<State>>,
}

struct State {
    memories: Table,
    chunks: Table,
    model: Option<ModelRecord>,
    position: u64,
}

impl Default for State {
    fn default() -> Self {
        Self::of(None)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("model", &self.model)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl State {
    fn of(model: Option<ModelRecord>) -> Self {
        let dimension = model.as_ref().map_or(0, |model| model.dimension);
        Self {
            memories: Table::new(dimension),
            chunks: Table::new(dimension),
            model,
            position: 0,
        }
    }

    fn table(&self, collection: Collection) -> &Table {
        match collection {
            Collection::MetaArtifacts => &self.memories,
            Collection::SessionRag => &self.chunks,
        }
    }

    fn table_mut(&mut self, collection: Collection) -> &mut Table {
        match collection {
            Collection::MetaArtifacts => &mut self.memories,
            Collection::SessionRag => &mut self.chunks,
        }
    }
}

impl ExactIndex {
    /// Without a point.
    pub fn new() -> Self {
        Self::default()
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl VectorIndex for ExactIndex {
    fn name(&self) -> &str {
        "exact"
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let opened = self.write(|state| match &state.model {
            Some(found) if found != model => Err(IndexError::OtherModel {
                index: "exact".to_owned(),
                found: found.id.clone(),
                wanted: model.id.clone(),
            }),
            Some(_) => Ok(()),
            None => {
                *state = State::of(Some(model.clone()));
                Ok(())
            }
        });
        Box::pin(ready(opened))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(ready(Ok(self.read(|state| state.position))))
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        self.write(|state| {
            for change in changes {
                match change {
                    IndexChange::Upsert(point) => state.table_mut(point.collection).upsert(&point, true),
                    IndexChange::Delete { collection, id } => state.table_mut(collection).delete(id),
                }
            }
            state.position = state.position.max(position);
        });
        Box::pin(ready(Ok(())))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(ready(Ok(())))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        let index = self.clone();
        Box::pin(async move {
            let find = move || {
                index.read(|state| {
                    let table = state.table(search.collection);
                    let visible = table.visible(&search.filter);
                    table.best(&search.leg, &visible, search.limit, search.least)
                })
            };
            crate::off_thread(find).await.map_err(|cause| IndexError::Failed {
                index: "exact".to_owned(),
                cause,
            })
        })
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        let count = self.read(|state| state.table(collection).visible(&filter).number());
        Box::pin(ready(Ok(count as u64)))
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.write(|state| *state = State::of(Some(model.clone())));
        Box::pin(ready(Ok(())))
    }
}
