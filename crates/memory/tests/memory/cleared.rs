//! An index with a clearance gets nothing above it: no point, no query, no id.

use crate::common::{named, over, remember, scope};
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    ClearedIndex, ExactIndex, IndexChange, IndexError, IndexFilter, IndexHit, IndexSearch, MemorySearch,
    VectorIndex,
};
use tidegate_policy::Classification::{self, Confidential, Internal, Public};
use tidegate_policy::Label;
use tidegate_store::{Collection, MemoryRecords, ModelRecord, Records};
use tidegate_tools::BoxFuture;

/// An index elsewhere, and what it was told.
#[derive(Clone, Default)]
struct Elsewhere {
    inner: ExactIndex,
    told: Arc<Mutex<Vec<String>>>,
}

impl Elsewhere {
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

impl VectorIndex for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.open(model)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.inner.position()
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        self.told
            .lock()
            .unwrap()
            .extend(changes.iter().map(|change| match change {
                IndexChange::Upsert(point) => {
                    let name = point.payload.memory_id.as_ref().map(ToString::to_string);
                    format!("upsert {}", name.unwrap_or_default())
                }
                IndexChange::Delete { .. } => "delete".to_owned(),
            }));
        self.inner.apply(changes, position)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.flush()
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        self.told.lock().unwrap().push("search".to_owned());
        self.inner.search(search)
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.told.lock().unwrap().push("count".to_owned());
        self.inner.count(collection, filter)
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.reset(model)
    }
}

#[tokio::test]
async fn what_is_above_the_clearance_is_searched_here_and_the_index_is_told_nothing_of_it() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let index = Elsewhere::default();
    let cleared = ClearedIndex::new(Arc::new(index.clone()), Arc::clone(&records), Internal);
    let memory = over(&records).index(Arc::new(cleared)).open().await.unwrap();
    let at = |level: Classification| scope("ada", Label::trusted(level), Classification::Restricted);
    remember(&memory, &at(Public), named("low", "The tide is low at noon")).await;
    remember(
        &memory,
        &at(Internal),
        named("middle", "The tide is fair at four"),
    )
    .await;
    assert_eq!(index.told(), ["upsert low", "upsert middle"].map(str::to_owned));
    remember(
        &memory,
        &at(Confidential),
        named("high", "The tide is high at ten"),
    )
    .await;
    assert_eq!(index.told(), [""; 0]);

    let found = async |level| -> Vec<String> {
        let search = MemorySearch::new("when is the tide");
        let found = memory.recall(&at(level), search).await.unwrap();
        let mut names: Vec<String> = found
            .hits
            .iter()
            .map(|hit| hit.memory.memory_id.to_string())
            .collect();
        names.sort();
        names
    };
    assert_eq!(found(Confidential).await, ["high", "low", "middle"]);
    assert_eq!(index.told(), [""; 0], "the query is as high as its session");
    assert_eq!(found(Internal).await, ["low", "middle"]);
    assert!(index.told().iter().all(|told| told == "search"));

    memory.forget(&at(Confidential), &"high".into()).await.unwrap();
    assert_eq!(index.told(), [""; 0]);
    assert_eq!(found(Confidential).await, ["low", "middle"]);
}
