//! The contract of [`Records`].

mod journal;
mod memories;
mod scans;
mod sources;

use super::in_time;
use std::sync::Arc;
use tidegate_policy::{Classification, Label};
use tidegate_store::{
    ChunkRecord, Expected, MemoryQuery, MemoryRecord, MemoryState, ModelRecord, PointId, Provenance,
    RecordWrite, Records, RecordsCommit, SourceKey, SourceRecord, SparseVector, Vectors,
};

/// Checks records that `make` makes, new and empty each time, against the contract of [`Records`]: what is written is
/// read as it was; versions, sequences and counts; all or nothing; expectations; the journal; sources that are replaced
/// whole, and of one name at several labels; purging exactly one conversation; another model in one step; writers at the same time.
///
/// # Panics
/// If they break a rule.
pub async fn records<R: Records + 'static>(make: impl AsyncFn() -> R) {
    memories::memories(&make().await).await;
    memories::expectations(&make().await).await;
    sources::sources(&make().await).await;
    sources::sources_of_one_name(&make().await).await;
    journal::journal(&make().await).await;
    journal::words(&make().await).await;
    scans::scans(&make().await).await;
    journal::other_model(&make().await).await;
    sources::registry_and_marks(&make().await).await;
    writers_at_once(Arc::new(make().await)).await;
}

fn id(number: u128) -> PointId {
    PointId::from_u128(number)
}

fn vectors(model: &str, first: f32) -> Vectors {
    Vectors {
        model: model.into(),
        dense: [first, -0.0, f32::MIN_POSITIVE].into(),
        sparse: Some(Arc::new(SparseVector {
            indices: vec![0, u32::MAX],
            values: vec![0.25, first],
        })),
    }
}

fn memory(number: u128, fact: &str) -> MemoryRecord {
    MemoryRecord {
        id: id(number),
        user: "ada".into(),
        chat: "c1".into(),
        memory_id: format!("m{number}").as_str().into(),
        artifact_name: "likes".to_owned(),
        fact: fact.to_owned(),
        importance: 3,
        tags: vec!["tea".to_owned(), "\"quoted\"".to_owned()],
        language: "eng".to_owned(),
        created_ms: 1_000,
        updated_ms: 1_000,
        expires_ms: 9_000,
        label: Label::untrusted(Classification::Internal),
        provenance: Provenance::Tool {
            tool: "read_file".into(),
            source: Some("src_1".into()),
        },
        supersedes: vec![id(77)],
        state: MemoryState::Active,
        version: 1,
        vectors: Some(vectors("one", 0.5)),
        sequence: 0,
    }
}

fn model(id: &str) -> ModelRecord {
    ModelRecord {
        id: id.to_owned(),
        dimension: 3,
        prefixes: "query: ".to_owned(),
    }
}

async fn commit(records: &dyn Records, writes: Vec<RecordWrite>) -> RecordsCommit {
    match in_time("a commit ends", records.write(writes)).await {
        Ok(done) => done,
        Err(error) => panic!("a commit succeeds: {error}"),
    }
}

async fn counts(records: &dyn Records, writes: Vec<RecordWrite>) -> Vec<usize> {
    match commit(records, writes).await {
        RecordsCommit::Done { counts, .. } => counts,
        RecordsCommit::Conflict { id } => panic!("nothing is in the way of a commit, and {id} is"),
    }
}

fn put(record: MemoryRecord, expected: Expected) -> RecordWrite {
    RecordWrite::PutMemory {
        record: Box::new(record),
        expected,
    }
}

fn got<T>(read: Result<T, tidegate_store::StoreError>) -> T {
    match read {
        Ok(value) => value,
        Err(error) => panic!("what was written can be read: {error}"),
    }
}

async fn one(records: &dyn Records, number: u128) -> Option<MemoryRecord> {
    let query = MemoryQuery {
        ids: Some(vec![id(number)]),
        vectors: true,
        ..MemoryQuery::default()
    };
    got(in_time("memories are read", records.memories(query)).await).pop()
}

fn key(chat: &str, source: &str) -> SourceKey {
    SourceKey {
        user: "ada".into(),
        chat: chat.into(),
        source: source.into(),
        label: Label::trusted(Classification::Confidential),
    }
}

fn source(key: SourceKey) -> SourceRecord {
    SourceRecord {
        key,
        saved_ms: 1_000,
        characters: 12,
        chunks: 0,
        tags: vec!["tide".to_owned()],
        preview: "the tide".to_owned(),
    }
}

fn chunk(number: u128, key: SourceKey, ordinal: u32, text: &str) -> ChunkRecord {
    ChunkRecord {
        id: id(number),
        key,
        ordinal,
        text: text.to_owned(),
        context: "Ada".to_owned(),
        language: "eng".to_owned(),
        lines: (1, 2),
        characters: (3, 4),
        time_ms: 1_500,
        vectors: Some(vectors("one", 0.75)),
        sequence: 0,
    }
}

fn replace(key: &SourceKey, chunks: Vec<ChunkRecord>) -> RecordWrite {
    RecordWrite::ReplaceSource {
        source: Box::new(source(key.clone())),
        chunks,
    }
}

async fn writers_at_once<R: Records + 'static>(records: Arc<R>) {
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..16_u128 {
        let records = Arc::clone(&records);
        writers.spawn(async move {
            let same = put(memory(1, &format!("of writer {number}")), Expected::Anything);
            let own = put(memory(100 + number, "own"), Expected::Absent);
            counts(&*records, vec![same, own]).await;
        });
    }
    while let Some(ended) = in_time("writers end", writers.join_next()).await {
        assert!(ended.is_ok(), "a writer failed");
    }
    assert_eq!(
        one(&*records, 1).await.map(|memory| memory.version),
        Some(16),
        "each of 16 writers made a version"
    );
    assert_eq!(got(records.history(id(1)).await).len(), 15, "and none was lost");
    assert_eq!(got(records.statistics().await).memories, 17);
}
