//! An index that may not see everything.

use crate::common::*;
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    ExactIndex, HashedEmbedder, IndexChange, IndexError, IndexFilter, IndexHit, IndexSearch, Memory,
    MemorySettings, Mode, Scope, VectorIndex,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{Collection, MemoryRecords, ModelRecord, Records};
use tidegate_tools::BoxFuture;

/// An index up to INTERNAL that notes what it is given and asked.
#[derive(Clone, Default)]
struct Far {
    inner: ExactIndex,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Far {
    fn note(&self, what: String) {
        self.seen.lock().unwrap().push(what);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl VectorIndex for Far {
    fn name(&self) -> &str {
        "far"
    }

    fn clearance(&self) -> Classification {
        Classification::Internal
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.open(model)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.inner.position()
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        for change in &changes {
            match change {
                IndexChange::Upsert(point) => {
                    assert!(
                        point.payload.label.can_flow_to(Classification::Internal),
                        "{point:?}"
                    );
                    self.note(format!("upsert {}", point.payload.memory_id.as_ref().unwrap()));
                }
                IndexChange::Delete { .. } => self.note("delete".to_owned()),
            }
        }
        self.inner.apply(changes, position)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.flush()
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        self.note("search".to_owned());
        self.inner.search(search)
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        self.inner.count(collection, filter)
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        self.inner.reset(model)
    }
}

fn at(level: Classification) -> Scope {
    scope("ada", Label::trusted(level), level)
}

/// Searched by vectors alone: nothing is found but by the index, or exactly beside it.
async fn open(records: &Arc<dyn Records>, index: &Far) -> Memory {
    let settings = MemorySettings {
        mode: Mode::Dense,
        ..MemorySettings::default()
    };
    let memory = Memory::builder(Arc::clone(records), Arc::new(HashedEmbedder::new()));
    memory
        .index(Arc::new(index.clone()))
        .settings(settings)
        .open()
        .await
        .unwrap()
}

async fn found(memory: &Memory, level: Classification) -> Vec<String> {
    let recalled = recall(memory, &at(level), "tide").await;
    let mut found: Vec<String> = recalled.hits.into_iter().map(|hit| hit.memory.fact).collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn what_is_above_an_index_is_neither_given_to_it_nor_asked_of_it_and_is_found_all_the_same() {
    use Classification::{Confidential, Internal, Public};
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let index = Far::default();
    let memory = open(&records, &index).await;
    remember(&memory, &at(Public), named("p", "tide in public")).await;
    remember(&memory, &at(Internal), named("i", "tide within")).await;
    index.taken();
    remember(&memory, &at(Confidential), named("c", "tide in confidence")).await;
    assert_eq!(
        index.taken(),
        ["delete"],
        "the secret is kept out, and its query for alike ones too"
    );

    assert_eq!(found(&memory, Internal).await, ["tide in public", "tide within"]);
    assert_eq!(
        found(&memory, Confidential).await,
        ["tide in confidence", "tide in public", "tide within"]
    );
    memory.reindex().await.unwrap();
    assert!(!index.taken().contains(&"upsert c".to_owned()));

    // A new start: the index has everything it may have, and the rest is read again.
    let memory = open(&records, &index).await;
    assert_eq!(memory.index(), ("far", true));
    assert_eq!(found(&memory, Internal).await, ["tide in public", "tide within"]);
    assert_eq!(
        index.taken(),
        ["search"],
        "a context within its clearance asks it"
    );
    let escalating = Scope {
        clearance: Confidential,
        ..at(Internal)
    };
    let seen = recall(&memory, &escalating, "tide").await;
    assert_eq!(facts(&seen).len(), 2, "what is above the context is not recalled");
    index.taken();

    let everything = ["tide in confidence", "tide in public", "tide within"];
    assert_eq!(found(&memory, Confidential).await, everything);
    remember(&memory, &at(Confidential), named("c", "tide in confidence anew")).await;
    memory.forget(&at(Confidential), &"nothing".into()).await.unwrap();
    assert_eq!(
        found(&memory, Confidential).await.first().unwrap(),
        "tide in confidence anew"
    );
    assert_eq!(
        index.taken(),
        ["delete"],
        "a context above its clearance never asks it"
    );
    remember(&memory, &at(Internal), named("i", "tide within anew")).await;
    assert_eq!(
        found(&memory, Internal).await,
        ["tide in public", "tide within anew"]
    );
}
