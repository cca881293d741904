//! Memories: versions, counts, expectations.

use super::{commit, counts, got, id, memory, model, one, put, vectors};
use tidegate_policy::Label;
use tidegate_store::{Expected, MemoryPatch, MemoryQuery, MemoryRecord, RecordWrite, Records, RecordsCommit};

pub(super) async fn memories(records: &dyn Records) {
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

pub(super) async fn expectations(records: &dyn Records) {
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
