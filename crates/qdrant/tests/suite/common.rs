//! What tests have in common.

use std::sync::Arc;
use tidegate_memory::{
    HashedEmbedder, IndexChange, IndexFilter, IndexPoint, IndexSearch, Leg, Memory, MemorySearch,
    MemorySettings, Mode, NewMemory, PointPayload, Scope, VectorIndex, lexical_vector,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{Collection, ModelRecord, PointId, Records};
use tidegate_tools::{Cancel, NeverCancelled};

pub(crate) const INTERNAL: Label = Label::trusted(Classification::Internal);

/// A session of `ada` at INTERNAL.
pub(crate) fn ada() -> Scope {
    scope(Classification::Internal)
}

pub(crate) fn scope(level: Classification) -> Scope {
    Scope {
        user: "ada".into(),
        chat: "s_1".into(),
        label: Label::trusted(level),
        clearance: level,
    }
}

pub(crate) fn never() -> Arc<dyn Cancel> {
    Arc::new(NeverCancelled)
}

/// A memory that is searched by vectors alone, so that nothing is found but by the index, or exactly instead of it.
pub(crate) async fn dense(records: &Arc<dyn Records>, index: Arc<dyn VectorIndex>) -> Memory {
    let settings = MemorySettings {
        mode: Mode::Dense,
        ..MemorySettings::default()
    };
    Memory::builder(Arc::clone(records), Arc::new(HashedEmbedder::new()))
        .index(index)
        .settings(settings)
        .open()
        .await
        .unwrap()
}

pub(crate) fn named(name: &str, text: &str) -> NewMemory {
    NewMemory {
        memory_id: Some(name.into()),
        ..NewMemory::new("likes", text)
    }
}

pub(crate) async fn remember(memory: &Memory, name: &str, text: &str) {
    memory
        .remember(&ada(), named(name, text), &never())
        .await
        .unwrap();
}

/// What is recalled, best first.
pub(crate) async fn recalled(memory: &Memory, scope: &Scope, query: &str) -> Vec<String> {
    let search = MemorySearch {
        limit: 100,
        ..MemorySearch::new(query)
    };
    let found = memory.recall(scope, search).await.unwrap();
    found.hits.into_iter().map(|hit| hit.memory.fact).collect()
}

/// The same in the order of the alphabet.
pub(crate) async fn all(memory: &Memory) -> Vec<String> {
    let mut found = recalled(memory, &ada(), "tide").await;
    found.sort_unstable();
    found
}

pub(crate) fn all_labels() -> Vec<Label> {
    let both = |level| [Label::trusted(level), Label::untrusted(level)];
    Classification::ALL.into_iter().flat_map(both).collect()
}

/// How many points of ada an index has.
pub(crate) async fn counts(index: &dyn VectorIndex) -> (u64, u64) {
    let of = || IndexFilter::of("ada".into(), all_labels());
    (
        index.count(Collection::MetaArtifacts, of()).await.unwrap(),
        index.count(Collection::SessionRag, of()).await.unwrap(),
    )
}

pub(crate) fn model(dimension: usize) -> ModelRecord {
    ModelRecord {
        id: "told".to_owned(),
        dimension,
        prefixes: String::new(),
    }
}

/// A point whose cosine to `[1, 0, 0, 0]` is that.
pub(crate) fn point(number: u128, cosine: f32) -> IndexPoint {
    IndexPoint {
        id: PointId::from_u128(number),
        collection: Collection::MetaArtifacts,
        payload: PointPayload {
            user: "ada".into(),
            chat: "s_1".into(),
            label: INTERNAL,
            source: None,
            ordinal: None,
            memory_id: Some(format!("m{number}").as_str().into()),
            artifact_name: Some("likes".to_owned()),
            importance: Some(3),
            time_ms: 1_000,
            expires_ms: None,
            language: "eng".to_owned(),
        },
        dense: Some([cosine, (1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, 0.0].into()),
        sparse: None,
        lexical: Arc::new(lexical_vector("a tide", "eng")),
    }
}

pub(crate) fn upserts(points: impl IntoIterator<Item = IndexPoint>) -> Vec<IndexChange> {
    points
        .into_iter()
        .map(|point| IndexChange::Upsert(Box::new(point)))
        .collect()
}

/// The numbers of the best points, and their scores.
pub(crate) async fn nearest(index: &dyn VectorIndex, limit: usize) -> Vec<(u128, f32)> {
    let search = IndexSearch {
        collection: Collection::MetaArtifacts,
        leg: Leg::Dense([1.0, 0.0, 0.0, 0.0].into()),
        filter: IndexFilter::of("ada".into(), all_labels()),
        limit,
        least: None,
    };
    let hits = index.search(search).await.unwrap();
    hits.into_iter()
        .map(|hit| (hit.id.as_u128(), hit.score))
        .collect()
}

/// An error with all its causes, as a user sees it.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(": ");
        told.push_str(&error.to_string());
        cause = error.source();
    }
    told
}
