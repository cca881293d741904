//! Exact search over all points.

use super::contract::{IndexChange, IndexHit, IndexSearch, Leg, VectorIndex};
use super::point::{IndexFilter, IndexPoint};
use crate::IndexError;
use crate::embedder::scalar_product;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};
use tidegate_store::{Collection, ModelRecord, PointId, SparseVector};
use tidegate_tools::BoxFuture;

/// Compares a query with every point: never misses one, and is fast enough up to about 20,000. In memory; it is
/// filled from the records at start.
#[derive(Clone, Debug, Default)]
pub struct ExactIndex {
    state: Arc<RwLock<State>>,
}

#[derive(Debug, Default)]
struct State {
    points: BTreeMap<(Collection, PointId), Arc<IndexPoint>>,
    model: Option<ModelRecord>,
    position: u64,
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

    /// Whether there is any point.
    pub(crate) fn is_empty(&self) -> bool {
        self.read(|state| state.points.is_empty())
    }

    /// The point of that id.
    pub(crate) fn point(&self, collection: Collection, id: PointId) -> Option<Arc<IndexPoint>> {
        self.read(|state| state.points.get(&(collection, id)).cloned())
    }

    /// Takes points out for which `keep` says no.
    pub(crate) fn retain(&self, keep: impl Fn(Collection, PointId) -> bool) {
        self.write(|state| state.points.retain(|(collection, id), _| keep(*collection, *id)));
    }

    pub(crate) fn apply_now(&self, changes: Vec<IndexChange>, position: u64) {
        self.write(|state| {
            for change in changes {
                match change {
                    IndexChange::Upsert(point) => {
                        state.points.insert((point.collection, point.id), Arc::new(*point));
                    }
                    IndexChange::Delete { collection, id } => {
                        state.points.remove(&(collection, id));
                    }
                }
            }
            state.position = state.position.max(position);
        });
    }

    pub(crate) fn search_now(&self, search: &IndexSearch) -> Vec<IndexHit> {
        let mut hits: Vec<IndexHit> = self.read(|state| {
            of_collection(state, search.collection)
                .filter(|point| search.filter.passes(&point.payload))
                .filter_map(|point| {
                    let score = score(&search.leg, point)?;
                    Some(IndexHit { id: point.id, score })
                })
                .filter(|hit| search.least.is_none_or(|least| hit.score >= least))
                .collect()
        });
        sort(&mut hits);
        hits.truncate(search.limit);
        hits
    }
}

fn of_collection(state: &State, collection: Collection) -> impl Iterator<Item = &Arc<IndexPoint>> {
    let first = (collection, PointId::nil());
    let last = (collection, PointId::max());
    state.points.range(first..=last).map(|(_, point)| point)
}

/// Best first; of equal scores the smaller id first.
pub(crate) fn sort(hits: &mut [IndexHit]) {
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
}

/// None if the point has no such vector.
pub(crate) fn score(leg: &Leg, point: &IndexPoint) -> Option<f32> {
    match leg {
        Leg::Dense(query) => {
            let dense = point.dense.as_ref().filter(|dense| dense.len() == query.len())?;
            Some(scalar_product(query, dense))
        }
        Leg::Sparse(query) => {
            let product = sparse_product(query, point.sparse.as_ref()?);
            (product > 0.0).then_some(product)
        }
    }
}

fn sparse_product(left: &SparseVector, right: &SparseVector) -> f32 {
    let lefts = left.indices.iter().zip(&left.values);
    lefts
        .filter_map(|(index, value)| {
            let place = right.indices.binary_search(index).ok()?;
            Some(value * right.values.get(place)?)
        })
        .sum()
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
            _ => {
                state.model = Some(model.clone());
                Ok(())
            }
        });
        Box::pin(ready(opened))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(ready(Ok(self.read(|state| state.position))))
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        self.apply_now(changes, position);
        Box::pin(ready(Ok(())))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(ready(Ok(())))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        let index = self.clone();
        Box::pin(async move {
            crate::off_thread(move || index.search_now(&search))
                .await
                .map_err(|cause| IndexError::Failed {
                    index: "exact".to_owned(),
                    cause,
                })
        })
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        let count = self.read(|state| {
            of_collection(state, collection)
                .filter(|point| filter.passes(&point.payload))
                .count()
        });
        Box::pin(ready(Ok(count as u64)))
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.write(|state| {
            *state = State {
                model: Some(model.clone()),
                ..State::default()
            };
        });
        Box::pin(ready(Ok(())))
    }
}
