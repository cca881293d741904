//! Sources and resources: replaced whole, apart by label, purged.

use super::{chunk, counts, got, id, key, model, replace, source};
use tidegate_policy::{Classification, Label};
use tidegate_store::{
    ChunkQuery, ChunkRecord, RecordWrite, Records, ResourceRecord, ResourceState, SourceKey, SourceQuery,
    SourceRecord,
};

pub(super) async fn sources(records: &dyn Records) {
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

/// The label is part of the key: sources of one name at several labels know nothing of each other.
pub(super) async fn sources_of_one_name(records: &dyn Records) {
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

pub(super) async fn registry_and_marks(records: &dyn Records) {
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
