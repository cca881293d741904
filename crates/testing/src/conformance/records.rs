//! The contract of [`Records`].

mod scans;

use super::in_time;
use std::sync::Arc;
use tidegate_policy::{Classification, Label};
use tidegate_store::{
    Change, ChunkQuery, ChunkRecord, Collection, Expected, Item, MemoryPatch, MemoryQuery, MemoryRecord,
    MemoryState, ModelRecord, OutlineQuery, Outlined, PointId, Provenance, RecordWrite, Records,
    RecordsCommit, ResourceRecord, ResourceState, SourceKey, SourceQuery, SourceRecord, SparseVector,
    UnstagedQuery, Vectors,
};

/// Checks records that `make` makes, new and empty each time, against the contract of [`Records`]: what is written is
/// read as it was; versions, sequences and counts; all or nothing; expectations; the journal; sources that are replaced
/// whole, and of one name at several labels; purging exactly one conversation; another model in one step; writers at the same time.
///
/// # Panics
/// If they break a rule.
pub async fn records<R: Records + 'static>(make: impl AsyncFn() -> R) {
    memories(&make().await).await;
    expectations(&make().await).await;
    sources(&make().await).await;
    sources_of_one_name(&make().await).await;
    journal(&make().await).await;
    words(&make().await).await;
    scans::scans(&make().await).await;
    other_model(&make().await).await;
    registry_and_marks(&make().await).await;
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

async fn memories(records: &dyn Records) {
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    counts(records, vec![put(memory(1, "likes tea"), Expected::Absent)]).await;
    let Some(found) = one(records, 1).await else {
        panic!("a memory that was written is there")
    };
    let expected = MemoryRecord {
        sequence: found.sequence,
        ..memory(1, "likes tea")
    };
    assert_eq!(found, expected, "a memory is read as it was written");
    assert!(found.sequence > 0, "the store counts changes");

    let mut second = memory(1, "likes coffee");
    (second.created_ms, second.updated_ms, second.version) = (5_000, 5_000, 99);
    second.vectors = Some(vectors("one", -1.0));
    counts(
        records,
        vec![put(second.clone(), Expected::Sequence(found.sequence))],
    )
    .await;
    let Some(replaced) = one(records, 1).await else {
        panic!("a memory that was replaced is there")
    };
    assert_eq!(
        (replaced.version, replaced.created_ms, replaced.updated_ms),
        (2, 1_000, 5_000),
        "created_ms is kept"
    );
    assert_eq!(
        (replaced.fact.as_str(), &replaced.vectors),
        ("likes coffee", &second.vectors),
        "text and vectors are new"
    );
    assert!(
        replaced.sequence > found.sequence,
        "each change has a larger number"
    );
    let history = got(records.history(id(1)).await);
    let told: Vec<(u32, &str)> = history
        .iter()
        .map(|version| (version.version, version.fact.as_str()))
        .collect();
    assert_eq!(told, [(1, "likes tea")], "the earlier text is history");

    let patch = MemoryPatch {
        updated_ms: Some(4_000),
        expires_ms: Some(20_000),
        importance: Some(1),
        state: None,
    };
    let patched = RecordWrite::PatchMemory {
        id: id(1),
        expected: Expected::Anything,
        patch,
    };
    assert_eq!(counts(records, vec![patched.clone()]).await, [1]);
    let Some(found) = one(records, 1).await else {
        panic!("a memory that was patched is there")
    };
    assert_eq!(
        (found.updated_ms, found.expires_ms, found.importance),
        (5_000, 20_000, 3),
        "dates and importance never fall"
    );
    assert_eq!(found.version, 2, "a patch is no version");
    assert_eq!(found.vectors, second.vectors, "a patch leaves the vectors");

    let mut other = memory(2, "of bob");
    other.user = "bob".into();
    counts(records, vec![put(other, Expected::Anything)]).await;
    let of = async |query: MemoryQuery| -> Vec<u128> {
        let found = got(records.memories(query).await);
        assert!(
            found.iter().all(|memory| memory.vectors.is_none()),
            "vectors come where they are wanted"
        );
        found.iter().map(|memory| memory.id.as_u128()).collect()
    };
    assert_eq!(of(MemoryQuery::default()).await, [1, 2], "in the order of ids");
    assert_eq!(
        of(MemoryQuery {
            user: Some("bob".into()),
            ..MemoryQuery::default()
        })
        .await,
        [2]
    );
    assert_eq!(
        of(MemoryQuery {
            memory_id: Some("m1".into()),
            ..MemoryQuery::default()
        })
        .await,
        [1]
    );
    assert_eq!(
        of(MemoryQuery {
            ids: Some(vec![]),
            ..MemoryQuery::default()
        })
        .await,
        [],
        "no id is none"
    );
    assert_eq!(
        of(MemoryQuery {
            ids: Some(vec![id(2), id(2), id(9)]),
            user: Some("ada".into()),
            ..MemoryQuery::default()
        })
        .await,
        []
    );

    let delete = RecordWrite::DeleteMemory {
        id: id(1),
        expected: Expected::Anything,
    };
    assert_eq!(
        counts(records, vec![delete.clone(), delete, patched]).await,
        [1, 0, 0],
        "deleting tells whether it was there"
    );
    assert_eq!(one(records, 1).await, None);
    assert_eq!(
        got(records.history(id(1)).await),
        [],
        "history goes with its memory"
    );
    counts(records, vec![put(memory(1, "anew"), Expected::Absent)]).await;
    assert_eq!(
        one(records, 1).await.map(|memory| memory.version),
        Some(1),
        "a new life begins at version 1"
    );
}

async fn expectations(records: &dyn Records) {
    counts(records, vec![put(memory(1, "a"), Expected::Absent)]).await;
    let Some(found) = one(records, 1).await else {
        panic!("it is there")
    };
    let before = got(records.statistics().await);
    let patch = MemoryPatch {
        importance: Some(5),
        ..MemoryPatch::default()
    };
    let refused = [
        put(memory(1, "b"), Expected::Absent),
        put(memory(1, "b"), Expected::Sequence(found.sequence + 1)),
        put(memory(3, "b"), Expected::Sequence(1)),
        put(
            MemoryRecord {
                user: "eve".into(),
                ..memory(1, "b")
            },
            Expected::Anything,
        ),
        put(
            MemoryRecord {
                label: Label::BOTTOM,
                ..memory(1, "b")
            },
            Expected::Anything,
        ),
        RecordWrite::PatchMemory {
            id: id(1),
            expected: Expected::Sequence(found.sequence + 7),
            patch,
        },
        RecordWrite::DeleteMemory {
            id: id(1),
            expected: Expected::Absent,
        },
    ];
    for write in refused {
        let told = format!("{write:?}");
        let writes = vec![put(memory(2, "first"), Expected::Anything), write];
        let done = commit(records, writes).await;
        assert!(
            matches!(done, RecordsCommit::Conflict { .. }),
            "not as expected: {told}"
        );
        assert_eq!(one(records, 2).await, None, "all or nothing: {told}");
        assert_eq!(
            one(records, 1).await.as_ref(),
            Some(&found),
            "nothing changed: {told}"
        );
        assert_eq!(
            got(records.statistics().await),
            before,
            "and nothing was counted: {told}"
        );
    }
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

async fn sources(records: &dyn Records) {
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let (first, longer, other) = (key("c1", "T_1"), key("c1", "T_17"), key("c2", "T_1"));
    let chunks = vec![
        chunk(1, first.clone(), 0, "a"),
        chunk(2, first.clone(), 1, "b"),
        chunk(3, first.clone(), 2, "c"),
    ];
    counts(
        records,
        vec![
            replace(&first, chunks.clone()),
            replace(&longer, vec![chunk(4, longer.clone(), 0, "d")]),
            replace(&other, vec![chunk(5, other.clone(), 0, "e")]),
        ],
    )
    .await;
    let found = got(records.memory_sources(SourceQuery::default()).await);
    let told: Vec<(&SourceKey, u32)> = found.iter().map(|source| (&source.key, source.chunks)).collect();
    assert_eq!(
        told,
        [(&first, 3), (&longer, 1), (&other, 1)],
        "sources by key, with their chunks counted"
    );
    assert_eq!(
        found.first(),
        Some(&SourceRecord {
            chunks: 3,
            ..source(first.clone())
        }),
        "a source is read as written"
    );

    let of = async |query: ChunkQuery| -> Vec<u128> {
        got(records.chunks(query).await)
            .iter()
            .map(|chunk| chunk.id.as_u128())
            .collect()
    };
    let of_source = ChunkQuery {
        source: Some("T_1".into()),
        ..ChunkQuery::default()
    };
    assert_eq!(
        of(of_source.clone()).await,
        [1, 2, 3, 5],
        "by the whole name of a source"
    );
    assert_eq!(
        of(ChunkQuery {
            chat: Some("c1".into()),
            ..of_source.clone()
        })
        .await,
        [1, 2, 3]
    );
    assert_eq!(
        of(ChunkQuery {
            chat: Some("c1".into()),
            ordinals: Some(1..3),
            ..of_source
        })
        .await,
        [2, 3]
    );
    assert_eq!(
        of(ChunkQuery {
            ids: Some(vec![id(5), id(2)]),
            ..ChunkQuery::default()
        })
        .await,
        [2, 5]
    );
    assert_eq!(
        of(ChunkQuery {
            user: Some("bob".into()),
            ..ChunkQuery::default()
        })
        .await,
        []
    );
    let whole = ChunkQuery {
        ids: Some(vec![id(2)]),
        vectors: true,
        ..ChunkQuery::default()
    };
    let Some(read) = got(records.chunks(whole).await).pop() else {
        panic!("a chunk is there")
    };
    let expected = ChunkRecord {
        sequence: read.sequence,
        ..chunk(2, first.clone(), 1, "b")
    };
    assert_eq!(read, expected, "a chunk is read as it was written");

    assert_eq!(
        counts(
            records,
            vec![replace(&first, vec![chunk(1, first.clone(), 0, "new")])]
        )
        .await,
        [1]
    );
    assert_eq!(
        of(ChunkQuery::default()).await,
        [1, 4, 5],
        "a source is replaced whole"
    );
    let purge = RecordWrite::PurgeChat {
        user: "ada".into(),
        chat: "c1".into(),
    };
    assert_eq!(
        counts(records, vec![purge.clone(), purge]).await,
        [2, 0],
        "a conversation is purged, once"
    );
    assert_eq!(of(ChunkQuery::default()).await, [5], "and no other is");
    let delete = RecordWrite::DeleteSource(other);
    assert_eq!(
        counts(records, vec![delete.clone(), delete]).await,
        [1, 0],
        "a source is deleted, once"
    );
    let left = got(records.statistics().await);
    assert_eq!((left.chunks, left.sources), (0, 0), "nothing is left over");
}

fn told(changes: &[Change]) -> Vec<(Collection, u128, bool)> {
    changes
        .iter()
        .map(|change| (change.collection, change.id.as_u128(), change.item.is_some()))
        .collect()
}

/// The label is part of the key: sources of one name at several labels know nothing of each other.
async fn sources_of_one_name(records: &dyn Records) {
    let at = |label| SourceKey {
        label,
        ..key("c1", "notes")
    };
    // In the order of their keys, which is that of levels and not of the words for them.
    let keys: Vec<SourceKey> = Classification::ALL
        .into_iter()
        .flat_map(|level| [at(Label::trusted(level)), at(Label::untrusted(level))])
        .collect();
    for (key, first) in keys.iter().rev().zip([10, 20, 30, 40, 50, 60, 70, 80]) {
        let chunks = vec![
            chunk(first, key.clone(), 0, "a"),
            chunk(first + 1, key.clone(), 1, "b"),
        ];
        assert_eq!(counts(records, vec![replace(key, chunks)]).await, [2]);
    }
    let left = async || -> Vec<(SourceKey, u32)> {
        let found = got(records.memory_sources(SourceQuery::default()).await);
        found
            .into_iter()
            .map(|source| (source.key, source.chunks))
            .collect()
    };
    let all: Vec<(SourceKey, u32)> = keys.iter().map(|key| (key.clone(), 2)).collect();
    assert_eq!(
        left().await,
        all,
        "one of another label is another one, and they come in the order of keys"
    );
    let chunks = got(records.chunks(ChunkQuery::default()).await);
    assert!(
        chunks.iter().map(|chunk| (&chunk.key, chunk.ordinal)).is_sorted(),
        "chunks come source by source, each in its order"
    );
    let middle = at(Label::untrusted(Classification::Internal));
    let rest = keys.iter().filter(|key| **key != middle).cloned();
    let rest: Vec<(SourceKey, u32)> = rest.map(|key| (key, 2)).collect();
    let of_one = ChunkQuery {
        source: Some("notes".into()),
        label: Some(middle.label),
        ..ChunkQuery::default()
    };
    let texts = async || -> Vec<String> {
        let found = got(records.chunks(of_one.clone()).await);
        found.into_iter().map(|chunk| chunk.text).collect()
    };
    assert_eq!(texts().await, ["a", "b"], "chunks of one of them");
    counts(
        records,
        vec![replace(&middle, vec![chunk(1, middle.clone(), 0, "new")])],
    )
    .await;
    assert_eq!(texts().await, ["new"]);
    assert_eq!(
        got(records.memory_sources(SourceQuery::one(&middle)).await).len(),
        1,
        "the one of a key"
    );
    assert_eq!(
        got(records.statistics().await).chunks,
        15,
        "nothing of the others was replaced"
    );
    assert_eq!(
        counts(records, vec![RecordWrite::DeleteSource(middle)]).await,
        [1]
    );
    assert_eq!(left().await, rest, "deleting one deletes no other");
    let purge = RecordWrite::PurgeChat {
        user: "ada".into(),
        chat: "c1".into(),
    };
    assert_eq!(
        counts(records, vec![purge]).await,
        [7],
        "a conversation goes whole, of whatever label"
    );
    assert_eq!(left().await, []);
    assert_eq!(got(records.statistics().await).chunks, 0);
}

async fn journal(records: &dyn Records) {
    use Collection::{MetaArtifacts, SessionRag};
    assert_eq!(got(records.changes(0, 10).await), [], "a new journal is empty");
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let of = key("c1", "s");
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            replace(
                &of,
                vec![chunk(1, of.clone(), 0, "x"), chunk(2, of.clone(), 1, "y")],
            ),
            put(memory(2, "b"), Expected::Anything),
        ],
    )
    .await;
    let all = got(records.changes(0, 10).await);
    assert_eq!(
        told(&all),
        [
            (MetaArtifacts, 1, true),
            (SessionRag, 1, true),
            (SessionRag, 2, true),
            (MetaArtifacts, 2, true)
        ]
    );
    for change in &all {
        let Some(item) = &change.item else {
            panic!("every item is there")
        };
        assert_eq!(
            (item.id(), item.collection(), item.sequence()),
            (change.id, change.collection, change.sequence)
        );
        assert!(item.vectors().is_some(), "items come with vectors");
    }
    let sequences: Vec<u64> = all.iter().map(|change| change.sequence).collect();
    assert!(
        sequences.is_sorted() && sequences.first() > Some(&0),
        "in order: {sequences:?}"
    );
    let Some(second) = sequences.get(1) else {
        panic!("four changes")
    };
    assert_eq!(
        told(&got(records.changes(*second, 1).await)),
        [(SessionRag, 2, true)],
        "from behind a number, up to a limit"
    );

    counts(
        records,
        vec![
            put(memory(1, "again"), Expected::Anything),
            RecordWrite::DeleteMemory {
                id: id(2),
                expected: Expected::Anything,
            },
            RecordWrite::DeleteSource(of),
        ],
    )
    .await;
    let all = got(records.changes(0, 10).await);
    assert_eq!(
        told(&all),
        [
            (MetaArtifacts, 1, true),
            (MetaArtifacts, 2, false),
            (SessionRag, 1, false),
            (SessionRag, 2, false)
        ],
        "each item once, with its last change; what was deleted is told"
    );
    let last = all.last().map(|change| change.sequence);
    assert_eq!(
        Some(got(records.statistics().await).sequence),
        last,
        "the last number is told"
    );
}

async fn words(records: &dyn Records) {
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let of = key("c1", "s");
    let chunk = chunk(2, of.clone(), 0, "x");
    let kept = Arc::new(SparseVector {
        indices: vec![3, u32::MAX],
        values: vec![1.0, 2.5],
    });
    let keep = |collection, number, sequence| RecordWrite::KeepWords {
        collection,
        id: id(number),
        sequence,
        form: 7,
        words: Arc::clone(&kept),
    };
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            keep(Collection::MetaArtifacts, 1, None),
            replace(&of, vec![chunk.clone()]),
            keep(Collection::SessionRag, 2, None),
        ],
    )
    .await;
    let sequence = got(records.statistics().await).sequence;
    let query = |form, vectors_behind| OutlineQuery {
        after: 0,
        limit: 10,
        form,
        vectors_behind,
    };
    for (form, vectors_behind) in [(7, 0), (7, sequence), (8, 0)] {
        let told = got(records.outlines(query(form, vectors_behind)).await);
        assert_eq!(told.len(), 2, "each item once");
        for change in &told {
            match &change.item {
                Outlined::Gone => panic!("both are there"),
                Outlined::Whole(item) => assert_eq!(item.id(), change.id),
                Outlined::Outline(outline) => {
                    assert_eq!(form, 7, "words of another form are not given out");
                    assert_eq!(outline.words, *kept);
                    assert_eq!(
                        outline.vectors.is_some(),
                        vectors_behind == 0,
                        "vectors behind a number"
                    );
                    assert_eq!(outline.user, "ada".into());
                    let expected = match change.collection {
                        Collection::MetaArtifacts => memory(1, "a").label,
                        Collection::SessionRag => chunk.key.label,
                    };
                    assert_eq!(outline.label, expected);
                }
            }
        }
    }
    // A copy of an earlier text is none of the present one.
    counts(records, vec![put(memory(1, "b"), Expected::Anything)]).await;
    counts(records, vec![keep(Collection::MetaArtifacts, 1, Some(sequence))]).await;
    let told = got(records.outlines(query(7, 0)).await);
    let Some(of_memory) = told
        .iter()
        .find(|change| change.collection == Collection::MetaArtifacts)
    else {
        panic!("the memory is there")
    };
    let Outlined::Whole(Item::Memory(whole)) = &of_memory.item else {
        panic!(
            "a new text begins without words, and is told whole: {:?}",
            of_memory.item
        )
    };
    assert_eq!(whole.fact, "b");
    // What was deleted is gone in outlines too.
    let delete = RecordWrite::DeleteMemory {
        id: id(1),
        expected: Expected::Anything,
    };
    counts(records, vec![delete, RecordWrite::DeleteSource(of)]).await;
    let told = got(records.outlines(query(7, 0)).await);
    assert!(told.iter().all(|change| change.item == Outlined::Gone));
}

async fn other_model(records: &dyn Records) {
    assert_eq!(got(records.model().await), None, "new records have no model");
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    assert_eq!(got(records.model().await), Some(model("one")));
    let of = key("c1", "s");
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            put(memory(2, "b"), Expected::Anything),
            replace(&of, vec![chunk(3, of.clone(), 0, "x")]),
        ],
    )
    .await;
    let unstaged = async |collection| -> Vec<Item> {
        let query = UnstagedQuery {
            collection,
            model: "two".to_owned(),
            after: None,
            limit: 10,
        };
        got(records.unstaged(query).await)
    };
    let waiting = unstaged(Collection::MetaArtifacts).await;
    assert_eq!(
        waiting.iter().map(|item| item.id().as_u128()).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(unstaged(Collection::SessionRag).await.len(), 1);
    let stage = |item: &Item, sequence| RecordWrite::StageVectors {
        collection: item.collection(),
        id: item.id(),
        sequence,
        vectors: vectors("two", 2.0),
    };
    for item in &waiting {
        assert_eq!(
            counts(records, vec![stage(item, item.sequence() + 100)]).await,
            [0],
            "a text that changed is not staged"
        );
        assert_eq!(counts(records, vec![stage(item, item.sequence())]).await, [1]);
    }
    assert_eq!(
        unstaged(Collection::MetaArtifacts).await,
        [],
        "what is staged waits no more"
    );
    let of_model = async |number| {
        one(records, number)
            .await
            .and_then(|memory| memory.vectors)
            .map(|vectors| vectors.model.to_string())
    };
    assert_eq!(
        of_model(1).await.as_deref(),
        Some("one"),
        "until the switch the old vectors are there"
    );
    // Written anew meanwhile: what was staged is of another text.
    counts(records, vec![put(memory(2, "changed"), Expected::Anything)]).await;
    assert_eq!(unstaged(Collection::MetaArtifacts).await.len(), 1);
    let before = got(records.statistics().await).sequence;
    assert_eq!(
        counts(records, vec![RecordWrite::SetModel(model("two"))]).await,
        [3],
        "every item counts as changed"
    );
    assert_eq!(got(records.model().await), Some(model("two")));
    assert_eq!(of_model(1).await.as_deref(), Some("two"));
    assert_eq!(of_model(2).await, None, "vectors of another model are none");
    assert_eq!(
        got(records.changes(before, 10).await).len(),
        3,
        "an index hears of every item"
    );
}

async fn registry_and_marks(records: &dyn Records) {
    let resource = ResourceRecord {
        key: key("c1", "U_abc123_C_xyz789_T_1748246400"),
        filename: "tide \"tables\".pdf".to_owned(),
        mime_type: "application/pdf".to_owned(),
        bytes: 3_000_000,
        state: ResourceState::Failed {
            why: "it is encrypted".to_owned(),
        },
        summary: Some("tides".to_owned()),
        created_ms: 1,
        changed_ms: 2,
    };
    let earlier = ResourceRecord {
        state: ResourceState::PendingIngestion,
        summary: None,
        ..resource.clone()
    };
    let done = counts(
        records,
        vec![
            RecordWrite::AddResource(Box::new(earlier.clone())),
            RecordWrite::PutResource(Box::new(resource.clone())),
            RecordWrite::AddResource(Box::new(earlier)),
        ],
    )
    .await;
    assert_eq!(done, [1, 1, 0], "one that is there is not added again");
    assert_eq!(
        got(records.resources(SourceQuery::default()).await),
        std::slice::from_ref(&resource),
        "each resource has one state"
    );
    let mut above = resource.clone();
    above.key.label = Label::untrusted(Classification::Restricted);
    let done = counts(
        records,
        vec![
            RecordWrite::AddResource(Box::new(above.clone())),
            RecordWrite::DeleteSource(above.key.clone()),
            RecordWrite::AddResource(Box::new(above.clone())),
        ],
    )
    .await;
    assert_eq!(done, [1, 1, 1], "one of another label is another one");
    assert_eq!(
        got(records.resources(SourceQuery::default()).await),
        [resource.clone(), above],
        "and is deleted alone"
    );
    assert_eq!(
        got(records.resources(SourceQuery::one(&resource.key)).await),
        [resource]
    );
    let purge = RecordWrite::PurgeChat {
        user: "ada".into(),
        chat: "c1".into(),
    };
    assert_eq!(counts(records, vec![purge]).await, [2]);
    assert_eq!(got(records.resources(SourceQuery::default()).await), []);

    assert_eq!(got(records.mark("position").await), None);
    for value in [7, 3] {
        counts(
            records,
            vec![RecordWrite::SetMark {
                name: "position".to_owned(),
                value,
            }],
        )
        .await;
        assert_eq!(got(records.mark("position").await), Some(value));
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
