//! What a memory begins with: all items at once where the records can, else the journal.

use super::common::{ada, fact, named, recall, remember, scope};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    EmbedWork, HashedEmbedder, Memory, Passages, Recalled, SessionSearch, VectorIndex, memory_point_id,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{
    BoxFuture, Durability, Expected, ItemVisitor, MemoryQuery, OutlineQuery, OutlinedChange, RecordWrite,
    Records, SqliteStore, StoreError, VectorsVisitor,
};
use tokio::sync::Notify;

/// Records whose scans are counted, may be missing, and may meet a write between items and vectors.
struct Scanned {
    inner: SqliteStore,
    scans: bool,
    /// Written when the items were scanned, before the vectors are.
    between: Mutex<Vec<RecordWrite>>,
    items_are_scanned: Notify,
    read: AtomicUsize,
}

impl Scanned {
    fn new(inner: &SqliteStore, scans: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: inner.clone(),
            scans,
            between: Mutex::default(),
            items_are_scanned: Notify::new(),
            read: AtomicUsize::new(0),
        })
    }

    async fn open(self: &Arc<Self>) -> Memory {
        let records = Arc::clone(self) as Arc<dyn Records>;
        let embedder = Arc::new(HashedEmbedder::new());
        Memory::builder(records, embedder).open().await.unwrap()
    }
}

impl Records for Scanned {
    tidegate_testing::delegate_records!(inner: write, memories, history, chunks, memory_sources, resources, model, unstaged, mark, changes, keeps_words, vectors, statistics);

    fn outlines(&self, query: OutlineQuery) -> BoxFuture<'_, Result<Vec<OutlinedChange>, StoreError>> {
        Box::pin(async move {
            let changes = self.inner.outlines(query).await?;
            self.read.fetch_add(changes.len(), Ordering::Relaxed);
            Ok(changes)
        })
    }

    fn scan_items(&self, form: u32, visit: ItemVisitor) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            let number = if self.scans {
                self.inner.scan_items(form, visit).await?
            } else {
                None
            };
            let between = std::mem::take(&mut *self.between.lock().unwrap());
            if !between.is_empty() {
                self.inner.write(between).await?;
            }
            self.items_are_scanned.notify_one();
            Ok(number)
        })
    }

    fn scan_vectors<'a>(
        &'a self,
        model: &'a str,
        visit: VectorsVisitor,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            self.items_are_scanned.notified().await;
            self.inner.scan_vectors(model, visit).await
        })
    }
}

fn store(folder: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(folder.path().join("store.sqlite"), Durability::Process).unwrap()
}

/// Memories of several users and labels, some replaced, superseded or deleted; sources, one deleted.
async fn filled(store: &SqliteStore) {
    let memory = Scanned::new(store, true).open().await;
    let secret = scope(
        "ada",
        Label::trusted(Classification::Confidential),
        Classification::Confidential,
    );
    let bob = scope("bob", ada().label, Classification::Confidential);
    for number in 0..40 {
        let new = named(
            &format!("n{number}"),
            &format!("The boat {number} lies at the old pier"),
        );
        remember(&memory, &ada(), new).await;
    }
    remember(&memory, &secret, named("n3", "The boat of the smuggler is green")).await;
    remember(&memory, &bob, named("n4", "The boat of Bob is red")).await;
    remember(
        &memory,
        &ada(),
        named("n5", "A green lantern hangs in the kitchen"),
    )
    .await;
    memory.forget(&ada(), &"n6".into()).await.unwrap();
    for (source, text) in [
        ("tides", "High water is at noon."),
        ("fish", "The pike waits in the reeds."),
    ] {
        let text = Passages::Text(text.to_owned());
        memory
            .save_session_context(&ada(), &source.into(), text, EmbedWork::default())
            .await
            .unwrap();
    }
    memory
        .delete_session_source(&ada(), &"fish".into())
        .await
        .unwrap();
}

async fn told(memory: &Memory) -> Vec<String> {
    let shown = |recalled: Recalled| {
        let hits = recalled.hits.iter();
        let hits = hits.map(|hit| format!("{} {:?} {}", hit.memory.fact, hit.also_at, hit.score));
        format!("{:?} {:?}", recalled.label, hits.collect::<Vec<_>>())
    };
    let confidential = Label::trusted(Classification::Confidential);
    let scopes = [
        ada(),
        scope("bob", confidential, Classification::Confidential),
        scope("ada", confidential, Classification::Confidential),
    ];
    let mut told = Vec::new();
    for scope in scopes {
        for query in ["boat at the pier", "green", "lantern", "smuggler", "noon"] {
            told.push(shown(recall(memory, &scope, query).await));
            let found = memory
                .search_session_context(&scope, SessionSearch::new(query))
                .await
                .unwrap();
            told.push(format!("{found:?}"));
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn all_at_once_and_by_the_journal_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    filled(&store).await;
    let (scanned, journal) = (Scanned::new(&store, true), Scanned::new(&store, false));
    let by_scan = told(&scanned.open().await).await;
    assert_eq!(by_scan, told(&journal.open().await).await);
    assert_eq!(
        scanned.read.load(Ordering::Relaxed),
        0,
        "the journal is not read again"
    );
    assert!(journal.read.load(Ordering::Relaxed) > 40);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_between_the_items_and_the_vectors_is_found_and_what_is_deleted_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    filled(&store).await;
    let id = |name: &str| memory_point_id(&ada().user, ada().label, &name.into());
    let query = MemoryQuery {
        ids: Some(vec![id("n7")]),
        vectors: true,
        ..MemoryQuery::default()
    };
    let mut changed = store.memories(query).await.unwrap().pop().unwrap();
    changed.fact = "The anchor is in the shed".to_owned();
    let records = Scanned::new(&store, true);
    *records.between.lock().unwrap() = vec![
        RecordWrite::PutMemory {
            record: Box::new(changed),
            expected: Expected::Anything,
        },
        RecordWrite::DeleteMemory {
            id: id("n5"),
            expected: Expected::Anything,
        },
    ];
    let memory = records.open().await;
    let first = |recalled: Recalled| recalled.hits[0].memory.fact.clone();
    assert_eq!(
        first(recall(&memory, &ada(), "anchor shed").await),
        "The anchor is in the shed"
    );
    let lantern = recall(&memory, &ada(), "green lantern in the kitchen").await;
    assert!(
        lantern
            .hits
            .iter()
            .all(|hit| !hit.memory.fact.contains("lantern"))
    );
    assert_eq!(
        told(&memory).await,
        told(&Scanned::new(&store, false).open().await).await
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_in_step_is_given_nothing_again_and_what_came_since() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    filled(&store).await;
    let index = Arc::new(tidegate_memory::ExactIndex::new());
    let records = Scanned::new(&store, true);
    let open = async || {
        Memory::builder(
            Arc::clone(&records) as Arc<dyn Records>,
            Arc::new(HashedEmbedder::new()),
        )
        .index(Arc::clone(&index) as Arc<dyn VectorIndex>)
        .open()
        .await
        .unwrap()
    };
    drop(open().await);
    let filled_with = records.read.swap(0, Ordering::Relaxed);
    assert!(filled_with > 40, "an empty index gets everything");
    let without = Scanned::new(&store, true).open().await;
    remember(&without, &ada(), fact("A heron stands on the mole")).await;
    let memory = open().await;
    assert_eq!(records.read.load(Ordering::Relaxed), 1, "what came since");
    assert_eq!(memory.index(), ("exact", true));
    assert_eq!(told(&memory).await, told(&without).await);
    store.close().await;
}
