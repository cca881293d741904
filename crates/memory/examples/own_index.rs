//! An index of one's own: points in a map behind a lock. `conformance::vector_index` checks it against the contract.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tidegate_memory::{IndexChange, IndexError, IndexFilter, IndexHit, IndexPoint, IndexSearch, Leg, VectorIndex};
use tidegate_store::{Collection, ModelRecord, PointId};
use tidegate_testing::conformance;
use tidegate_tools::BoxFuture;

#[derive(Default)]
struct Points {
    by_id: BTreeMap<(Collection, PointId), IndexPoint>,
    position: u64,
}

#[derive(Default)]
struct MapIndex(Mutex<Points>);

impl MapIndex {
    fn points(&self) -> MutexGuard<'_, Points> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn score(leg: &Leg, point: &IndexPoint) -> Option<f32> {
    match leg {
        Leg::Dense(query) => {
            let dense = point.dense.as_ref()?;
            Some(query.iter().zip(dense.iter()).map(|(a, b)| a * b).sum())
        }
        Leg::Sparse(query) => {
            let sparse = point.sparse.as_ref()?;
            let known: BTreeMap<&u32, &f32> = sparse.indices.iter().zip(&sparse.values).collect();
            let pairs = query.indices.iter().zip(&query.values);
            let shared: Vec<f32> = pairs.filter_map(|(index, value)| Some(value * *known.get(index)?)).collect();
            (!shared.is_empty()).then(|| shared.iter().sum())
        }
    }
}

impl VectorIndex for MapIndex {
    fn name(&self) -> &str {
        "map"
    }

    fn open(&self, _: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(ready(Ok(())))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(ready(Ok(self.points().position)))
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        let mut points = self.points();
        for change in changes {
            match change {
                IndexChange::Upsert(point) => drop(points.by_id.insert((point.collection, point.id), *point)),
                IndexChange::Delete { collection, id } => drop(points.by_id.remove(&(collection, id))),
            }
        }
        points.position = position;
        Box::pin(ready(Ok(())))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(ready(Ok(())))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        let points = self.points();
        let fitting = points.by_id.values().filter(|point| {
            point.collection == search.collection && search.filter.passes(&point.payload)
        });
        let mut hits: Vec<IndexHit> = fitting
            .filter_map(|point| Some(IndexHit { id: point.id, score: score(&search.leg, point)? }))
            .filter(|hit| search.least.is_none_or(|least| hit.score >= least))
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        hits.truncate(search.limit);
        Box::pin(ready(Ok(hits)))
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        let points = self.points();
        let fitting = points.by_id.values().filter(|point| {
            point.collection == collection && filter.passes(&point.payload)
        });
        Box::pin(ready(Ok(fitting.count() as u64)))
    }

    fn reset(&self, _: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        *self.points() = Points::default();
        Box::pin(ready(Ok(())))
    }
}

#[tokio::main]
async fn main() {
    conformance::vector_index(async || MapIndex::default()).await;
    println!("the map keeps the contract of an index");
}
