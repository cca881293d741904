//! An index that is behind, away, or gone.

use crate::common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tidegate_memory::{
    ExactIndex, HashedEmbedder, IndexChange, IndexError, IndexFilter, IndexHit, IndexSearch, Memory,
    VectorIndex,
};
use tidegate_store::{Collection, MemoryRecords, ModelRecord, Records};
use tidegate_tools::BoxFuture;

/// An index that may be away, and may forget on a crash what was not flushed.
#[derive(Clone, Default)]
struct Flaky {
    inner: ExactIndex,
    away: Arc<AtomicBool>,
    applied: Arc<AtomicUsize>,
    searched: Arc<AtomicUsize>,
}

impl Flaky {
    fn check(&self) -> Result<(), IndexError> {
        if self.away.load(Ordering::Relaxed) {
            return Err(IndexError::Unreachable {
                index: "flaky".to_owned(),
                cause: "away".into(),
            });
        }
        Ok(())
    }

    fn go(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }
}

impl VectorIndex for Flaky {
    fn name(&self) -> &str {
        "flaky"
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        match self.check() {
            Ok(()) => self.inner.open(model),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        match self.check() {
            Ok(()) => self.inner.position(),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        match self.check() {
            Ok(()) => {
                self.applied.fetch_add(changes.len(), Ordering::Relaxed);
                self.inner.apply(changes, position)
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(std::future::ready(self.check()))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        self.searched.fetch_add(1, Ordering::Relaxed);
        match self.check() {
            Ok(()) => self.inner.search(search),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.inner.count(collection, filter)
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.reset(model)
    }
}

async fn open(records: &Arc<dyn Records>, index: &Flaky) -> Memory {
    Memory::builder(Arc::clone(records), Arc::new(HashedEmbedder::new()))
        .index(Arc::new(index.clone()))
        .open()
        .await
        .unwrap()
}

async fn found(memory: &Memory) -> Vec<String> {
    let recalled = recall(memory, &ada(), "tide").await;
    let mut found: Vec<String> = recalled.hits.into_iter().map(|hit| hit.memory.fact).collect();
    found.sort_unstable();
    found
}

async fn tide(memory: &Memory, number: u32) {
    remember(
        memory,
        &ada(),
        named(&format!("m{number}"), &format!("tide {number}")),
    )
    .await;
}

#[tokio::test]
async fn an_index_that_goes_away_loses_nothing_and_reads_go_on() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let index = Flaky::default();
    let memory = open(&records, &index).await;
    tide(&memory, 1).await;
    tide(&memory, 2).await;
    assert_eq!(found(&memory).await, ["tide 1", "tide 2"]);
    assert!(index.searched.load(Ordering::Relaxed) > 0, "the index was asked");
    assert_eq!(memory.index(), ("flaky", true));

    index.go(true);
    assert_eq!(
        found(&memory).await,
        ["tide 1", "tide 2"],
        "what only the index had is read from the records"
    );
    tide(&memory, 3).await;
    remember(&memory, &ada(), named("m1", "tide 1 anew")).await;
    memory.forget(&ada(), &"m2".into()).await.unwrap();
    assert_eq!(found(&memory).await, ["tide 1 anew", "tide 3"]);
    assert_eq!(memory.index(), ("flaky", false));

    index.go(false);
    // It is left alone for a while after a failure; a new start opens it at once.
    let memory = open(&records, &index).await;
    assert_eq!(found(&memory).await, ["tide 1 anew", "tide 3"]);
    assert_eq!(memory.index(), ("flaky", true), "it was caught up");
    let of = IndexFilter::of("ada".into(), vec![ada().label]);
    assert_eq!(index.count(Collection::MetaArtifacts, of).await.unwrap(), 2);
}

#[tokio::test]
async fn an_index_that_is_away_at_the_start_is_no_error() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    tide(&over(&records).open().await.unwrap(), 1).await;
    let index = Flaky::default();
    index.go(true);
    let memory = open(&records, &index).await;
    assert_eq!(found(&memory).await, ["tide 1"]);
    tide(&memory, 2).await;
    assert_eq!(found(&memory).await, ["tide 1", "tide 2"]);
}

#[tokio::test]
async fn an_index_that_lost_its_tail_is_given_it_again_and_one_that_has_it_is_not() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let index = Flaky::default();
    let memory = open(&records, &index).await;
    for number in 0..5 {
        tide(&memory, number).await;
    }
    index.applied.store(0, Ordering::Relaxed);
    let memory = open(&records, &index).await;
    assert_eq!(found(&memory).await.len(), 5);
    assert_eq!(
        index.applied.load(Ordering::Relaxed),
        0,
        "what it has is not given again"
    );

    // The same records with an empty index, as after a crash before the first flush.
    let empty = Flaky::default();
    let memory = open(&records, &empty).await;
    assert_eq!(empty.applied.load(Ordering::Relaxed), 5);
    assert_eq!(found(&memory).await.len(), 5);
    memory.reindex().await.unwrap();
    assert_eq!(found(&memory).await.len(), 5);
    assert_eq!(memory.index(), ("flaky", true));
}

#[tokio::test]
async fn the_index_and_exact_search_find_the_same() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let (exact, indexed) = (
        over(&records).open().await.unwrap(),
        open(&records, &Flaky::default()).await,
    );
    for number in 0..60 {
        let text = format!(
            "tide {number} of the {} harbour",
            ["north", "south", "old"][number % 3]
        );
        remember(&exact, &ada(), named(&format!("m{number}"), &text)).await;
    }
    for query in ["tide 7", "north harbour", "harbor of old"] {
        let (left, right) = (
            recall(&exact, &ada(), query).await,
            recall(&indexed, &ada(), query).await,
        );
        assert_eq!(left, right, "{query}");
        assert!(!left.hits.is_empty());
    }
}

#[tokio::test]
async fn an_index_of_other_records_or_another_model_is_filled_anew() {
    let index = Flaky::default();
    let longer: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = open(&longer, &index).await;
    for number in 0..9 {
        tide(&memory, number).await;
    }
    // An older copy of the records, as after a backup was restored.
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    tide(&over(&records).open().await.unwrap(), 1).await;
    let memory = open(&records, &index).await;
    assert_eq!(
        (found(&memory).await, memory.index()),
        (vec!["tide 1".to_owned()], ("flaky", true))
    );

    let other = Flaky::default();
    let model = ModelRecord {
        id: "other".to_owned(),
        dimension: 512,
        prefixes: String::new(),
    };
    other.inner.open(&model).await.unwrap();
    let memory = open(&records, &other).await;
    assert_eq!(
        (found(&memory).await, memory.index()),
        (vec!["tide 1".to_owned()], ("flaky", true))
    );
}
