//! What tests have in common.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    EmbedWork, Embedder, EmbedderError, Embedding, HashedEmbedder, Memory, MemoryBuilder, MemorySearch, NewMemory,
    Outcome, Recalled, Remembered, Scope, estimated_tokens,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{MemoryRecords, ModelRecord, Records};
use tidegate_tools::{BoxFuture, Cancel, NeverCancelled};

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A session of `ada` at INTERNAL that may read up to CONFIDENTIAL.
pub(crate) fn ada() -> Scope {
    scope("ada", Label::trusted(Classification::Internal), Classification::Confidential)
}

pub(crate) fn scope(user: &str, label: Label, clearance: Classification) -> Scope {
    Scope {
        user: user.into(),
        chat: "s_1".into(),
        label,
        clearance,
    }
}

pub(crate) fn never() -> Arc<dyn Cancel> {
    Arc::new(NeverCancelled)
}

/// A clock that stands until it is moved.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicI64>);

impl Clock {
    pub(crate) fn at(time_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(time_ms)))
    }

    pub(crate) fn advance(&self, by_ms: i64) {
        self.0.fetch_add(by_ms, Ordering::Relaxed);
    }

    pub(crate) fn reader(&self) -> impl Fn() -> i64 + Send + Sync + 'static {
        let clock = Arc::clone(&self.0);
        move || clock.load(Ordering::Relaxed)
    }
}

pub(crate) fn hashed() -> MemoryBuilder {
    Memory::builder(Arc::new(MemoryRecords::new()), Arc::new(HashedEmbedder::new()))
}

pub(crate) fn with(embedder: impl Embedder + 'static) -> MemoryBuilder {
    Memory::builder(Arc::new(MemoryRecords::new()), Arc::new(embedder))
}

pub(crate) fn over(records: &Arc<dyn Records>) -> MemoryBuilder {
    Memory::builder(Arc::clone(records), Arc::new(HashedEmbedder::new()))
}

pub(crate) fn fact(fact: &str) -> NewMemory {
    NewMemory::new("likes", fact)
}

pub(crate) fn named(name: &str, text: &str) -> NewMemory {
    NewMemory {
        memory_id: Some(name.into()),
        ..fact(text)
    }
}

pub(crate) async fn remember(memory: &Memory, scope: &Scope, new: NewMemory) -> Remembered {
    memory.remember(scope, new, &never()).await.unwrap()
}

pub(crate) async fn outcome(memory: &Memory, scope: &Scope, new: NewMemory) -> Outcome {
    remember(memory, scope, new).await.outcome
}

pub(crate) async fn recall(memory: &Memory, scope: &Scope, query: &str) -> Recalled {
    memory.recall(scope, MemorySearch::new(query)).await.unwrap()
}

pub(crate) fn facts(recalled: &Recalled) -> Vec<&str> {
    recalled.hits.iter().map(|hit| hit.memory.fact.as_str()).collect()
}

/// An embedder that is told each vector, to have any cosine one likes.
pub(crate) struct Told {
    model: ModelRecord,
    vectors: Mutex<BTreeMap<String, Vec<f32>>>,
    calibrated: bool,
    pub(crate) clearance: Classification,
}

impl Told {
    /// Of two values; texts without a vector point elsewhere.
    pub(crate) fn new(calibrated: bool) -> Self {
        Self {
            model: ModelRecord {
                id: "told".to_owned(),
                dimension: 3,
                prefixes: String::new(),
            },
            vectors: Mutex::default(),
            calibrated,
            clearance: Classification::Restricted,
        }
    }

    /// Gives `text` a vector with this cosine to `[1, 0, 0]`.
    pub(crate) fn cosine(self, text: &str, cosine: f32) -> Self {
        let vector = vec![cosine, (1.0 - cosine * cosine).max(0.0).sqrt(), 0.0];
        self.vectors.lock().unwrap().insert(text.to_owned(), vector);
        self
    }

    pub(crate) fn vector(self, text: &str, vector: Vec<f32>) -> Self {
        self.vectors.lock().unwrap().insert(text.to_owned(), vector);
        self
    }

    fn of(&self, text: &str, index: usize) -> Result<Embedding, EmbedderError> {
        if text.trim().is_empty() {
            return Err(EmbedderError::EmptyText { index });
        }
        let known = self.vectors.lock().unwrap().get(text).cloned();
        Ok(Embedding {
            dense: known.unwrap_or_else(|| vec![0.0, 0.0, 1.0]),
            sparse: None,
        })
    }
}

impl Embedder for Told {
    fn model(&self) -> &ModelRecord {
        &self.model
    }

    fn clearance(&self) -> Classification {
        self.clearance
    }

    fn most_tokens(&self) -> usize {
        256
    }

    fn count_tokens(&self, text: &str) -> usize {
        estimated_tokens(text)
    }

    fn is_calibrated(&self) -> bool {
        self.calibrated
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        _: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        let embedded = texts.iter().enumerate().map(|(index, text)| self.of(text, index)).collect();
        Box::pin(std::future::ready(embedded))
    }

    fn embed_query(&self, text: String, _: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(std::future::ready(self.of(&text, 0)))
    }
}
