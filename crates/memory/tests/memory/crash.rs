//! Killed at each step: old or new, never half.

use crate::common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_memory::{
    Auxiliary, Cause, Distilled, EmbedWork, Embedder, Memory, MemoryError, MemoryListing, Passages,
    ResourceListing, reembed, state_name,
};
use tidegate_policy::Classification;
use tidegate_store::{
    Change, ChunkQuery, ChunkRecord, Collection, Durability, Item, ItemVisitor, MemoryQuery, MemoryRecord,
    MemoryVersion, ModelRecord, OutlineQuery, OutlinedChange, PointId, RecordWrite, Records, RecordsCommit,
    RecordsStatistics, ResourceRecord, SourceQuery, SourceRecord, SqliteStore, StoreError, UnstagedQuery,
    Vectors, VectorsVisitor,
};
use tidegate_tools::BoxFuture;

/// Records that answer nothing any more after so many calls. The call at which it dies happens or does not.
pub(crate) struct Mortal {
    pub(crate) inner: Arc<dyn Records>,
    pub(crate) left: AtomicUsize,
    pub(crate) last_happens: bool,
}

impl Mortal {
    fn dead() -> StoreError {
        StoreError::Closed {
            path: "killed".into(),
        }
    }

    fn call<'a, T: Send + 'a>(
        &'a self,
        work: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            let left = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            match left {
                Ok(left) if left > 1 => work.await,
                Ok(_) if self.last_happens => {
                    work.await?;
                    Err(Self::dead())
                }
                _ => Err(Self::dead()),
            }
        })
    }
}

impl Records for Mortal {
    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>> {
        self.call(self.inner.write(writes))
    }
    fn memories(&self, query: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>> {
        self.call(self.inner.memories(query))
    }
    fn history(&self, id: PointId) -> BoxFuture<'_, Result<Vec<MemoryVersion>, StoreError>> {
        self.call(self.inner.history(id))
    }
    fn chunks(&self, query: ChunkQuery) -> BoxFuture<'_, Result<Vec<ChunkRecord>, StoreError>> {
        self.call(self.inner.chunks(query))
    }
    fn memory_sources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<SourceRecord>, StoreError>> {
        self.call(self.inner.memory_sources(query))
    }
    fn resources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<ResourceRecord>, StoreError>> {
        self.call(self.inner.resources(query))
    }
    fn model(&self) -> BoxFuture<'_, Result<Option<ModelRecord>, StoreError>> {
        self.call(self.inner.model())
    }
    fn unstaged(&self, query: UnstagedQuery) -> BoxFuture<'_, Result<Vec<Item>, StoreError>> {
        self.call(self.inner.unstaged(query))
    }
    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        self.call(self.inner.mark(name))
    }
    fn changes(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        self.call(self.inner.changes(after, limit))
    }
    fn keeps_words(&self) -> bool {
        self.inner.keeps_words()
    }
    fn outlines(&self, query: OutlineQuery) -> BoxFuture<'_, Result<Vec<OutlinedChange>, StoreError>> {
        self.call(self.inner.outlines(query))
    }
    fn scan_items(&self, form: u32, visit: ItemVisitor) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        self.call(self.inner.scan_items(form, visit))
    }
    fn scan_vectors<'a>(
        &'a self,
        model: &'a str,
        visit: VectorsVisitor,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        self.call(self.inner.scan_vectors(model, visit))
    }
    fn vectors(
        &self,
        collection: Collection,
        ids: Vec<PointId>,
    ) -> BoxFuture<'_, Result<Vec<(PointId, Vectors)>, StoreError>> {
        self.call(self.inner.vectors(collection, ids))
    }
    fn statistics(&self) -> BoxFuture<'_, Result<RecordsStatistics, StoreError>> {
        self.call(self.inner.statistics())
    }
}

/// What there is: facts, sources, chunks.
pub(crate) async fn state(memory: &Memory) -> String {
    let mut index = memory
        .memory_index(&ada(), MemoryListing::default())
        .await
        .unwrap();
    let items = index.themes.iter_mut().flat_map(|theme| theme.items.drain(..));
    let mut facts: Vec<String> = items
        .map(|item| format!("{} v{}", item.memory.fact, item.memory.version))
        .collect();
    facts.sort_unstable();
    let sources = memory.session_sources(&ada(), true).await.unwrap().sources;
    let sources: Vec<String> = sources
        .iter()
        .map(|source| format!("{} of {}", source.preview, source.chunks))
        .collect();
    let resources = memory
        .query_registry(&ada(), ResourceListing::default())
        .await
        .unwrap();
    let resources: Vec<&str> = resources
        .resources
        .iter()
        .map(|resource| state_name(&resource.state))
        .collect();
    let statistics = memory.statistics().await.unwrap();
    format!(
        "{} {facts:?} {sources:?} {resources:?} {} {} {}",
        memory.embedder().model().id,
        statistics.memories,
        statistics.chunks,
        statistics.sources
    )
}

pub(crate) async fn prepare(records: &Arc<dyn Records>) {
    let memory = over(records).open().await.unwrap();
    remember(&memory, &ada(), named("m", "the old fact")).await;
    for number in 0..10 {
        let text = format!("small tide note {number}");
        let new = tidegate_memory::NewMemory {
            importance: 1,
            ..named(&text, &text)
        };
        remember(&memory, &ada(), new).await;
    }
    remember(&memory, &ada(), named("walk", WALK)).await;
    save(&memory, "s", "The old text of a source. ").await.unwrap();
}

const WALK: &str = "Ada likes to walk along the old harbour wall before breakfast when the weather is calm";

/// A model that makes one text of several.
struct Joins;

impl Auxiliary for Joins {
    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>> {
        Box::pin(std::future::ready(Err(fact.into())))
    }

    fn merge<'a>(&'a self, facts: &'a [String]) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(std::future::ready(Ok(facts.join("; "))))
    }
}

async fn save(memory: &Memory, source: &str, sentence: &str) -> Result<(), MemoryError> {
    let text = Passages::Text(sentence.repeat(60));
    memory
        .save_session_context(&ada(), &source.into(), text, EmbedWork::default())
        .await
        .map(|_| ())
}

pub(crate) type Work = for<'a> fn(&'a Arc<dyn Records>) -> BoxFuture<'a, Result<(), MemoryError>>;

fn told() -> Arc<dyn Embedder> {
    Arc::new(Told::new(false))
}

pub(crate) fn works() -> Vec<(&'static str, Work)> {
    vec![
        ("upsert", |records| {
            Box::pin(async move {
                let memory = over(records).open().await?;
                memory
                    .remember(&ada(), named("m", "the new fact"), &never())
                    .await
                    .map(|_| ())
            })
        }),
        ("merge", |records| {
            Box::pin(async move {
                let memory = over(records).auxiliary(Arc::new(Joins)).open().await?;
                let new = fact(&format!("{WALK} and everybody sleeps"));
                memory.remember(&ada(), new, &never()).await.map(|_| ())
            })
        }),
        ("replace", |records| {
            Box::pin(async move {
                save(
                    &over(records).open().await?,
                    "s",
                    "The new text, which is quite another. ",
                )
                .await
            })
        }),
        ("purge", |records| {
            Box::pin(async move {
                over(records)
                    .open()
                    .await?
                    .purge_session(&"ada".into(), "s_1")
                    .await
                    .map(|_| ())
            })
        }),
        ("forget", |records| {
            Box::pin(async move {
                over(records)
                    .open()
                    .await?
                    .forget(&ada(), &"m".into())
                    .await
                    .map(|_| ())
            })
        }),
        ("consolidate", |records| {
            Box::pin(async move {
                over(records)
                    .open()
                    .await?
                    .consolidate(&"ada".into(), &never())
                    .await
                    .map(|_| ())
            })
        }),
        ("reembed", |records| {
            Box::pin(async move { reembed(records, &told(), &never(), |_, _| {}).await.map(|_| ()) })
        }),
    ]
}

pub(crate) async fn reopened(records: &Arc<dyn Records>) -> Memory {
    match over(records).open().await {
        Ok(memory) => memory,
        Err(MemoryError::OtherModel { .. }) => {
            Memory::builder(Arc::clone(records), told()).open().await.unwrap()
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_call_everything_is_old_or_new() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = folder.path().join("prepared.sqlite");
    let store = SqliteStore::open(&prepared, Durability::Process).unwrap();
    let records: Arc<dyn Records> = Arc::new(store.clone());
    prepare(&records).await;
    let old = state(&reopened(&records).await).await;
    store.close().await;
    let fresh = |name: String| {
        let path = folder.path().join(name);
        std::fs::copy(&prepared, &path).unwrap();
        path
    };
    for (what, work) in works() {
        let path = fresh(format!("{what}-whole.sqlite"));
        let records: Arc<dyn Records> = Arc::new(SqliteStore::open(path, Durability::Process).unwrap());
        work(&records).await.unwrap();
        let new = state(&reopened(&records).await).await;
        assert_ne!(old, new, "{what}");
        if what == "merge" {
            assert!(new.contains("; "), "nothing was merged: {new}");
        }
        let mut seen_new = false;
        for last_happens in [false, true] {
            for calls in 1.. {
                let path = fresh(format!("{what}-{last_happens}-{calls}.sqlite"));
                let store = SqliteStore::open(&path, Durability::Process).unwrap();
                let mortal: Arc<dyn Records> = Arc::new(Mortal {
                    inner: Arc::new(store.clone()),
                    left: AtomicUsize::new(calls),
                    last_happens,
                });
                let ended = work(&mortal).await;
                store.close().await;
                let store = SqliteStore::open(&path, Durability::Process).unwrap();
                let records: Arc<dyn Records> = Arc::new(store.clone());
                let found = state(&reopened(&records).await).await;
                assert!(
                    found == old || found == new,
                    "{what} killed at call {calls}: {found}"
                );
                seen_new |= found == new;
                // Done again, it is whole.
                let again = work(&records).await;
                if what != "consolidate" || again.is_ok() {
                    again.unwrap_or_else(|error| panic!("{what} after a kill at call {calls}: {error}"));
                }
                store.close().await;
                std::fs::remove_file(&path).unwrap();
                if ended.is_ok() {
                    break;
                }
            }
        }
        assert!(seen_new, "{what}");
    }
}
