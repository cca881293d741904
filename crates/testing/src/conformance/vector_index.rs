//! The contract of [`VectorIndex`].

use super::in_time;
use std::sync::Arc;
use tidegate_memory::{
    IndexChange, IndexFilter, IndexHit, IndexPoint, IndexSearch, Leg, PointPayload, VectorIndex,
    lexical_vector,
};
use tidegate_policy::{Classification, Label};
use tidegate_store::{Collection, ModelRecord, PointId, SparseVector};

const PUBLIC: Label = Label::trusted(Classification::Public);
const SECRET: Label = Label::untrusted(Classification::Restricted);

/// Checks an index that `make` makes, new and empty each time, for vectors of four values:
///
/// - a new one is empty at position 0; what was applied is found, and found when it is asked again;
/// - results are ordered by score, equal ones by id, and cut to the limit and the least score;
/// - user, label, conversation, source, group, time (both bounds included) and end are filtered before anything is cut;
/// - the same change twice is one; a point that comes again is replaced whole; a deleted one is gone, and deleting it again
///   is no error; the collections are apart;
/// - a point without a dense vector is not found by one; sparse vectors are searched by their product;
/// - a position is kept by `flush`; `reset` empties.
///
/// # Panics
/// If it breaks a rule.
pub async fn vector_index<I: VectorIndex>(make: impl AsyncFn() -> I) {
    let model = ModelRecord {
        id: "conformance".to_owned(),
        dimension: 4,
        prefixes: String::new(),
    };
    let opened = async || {
        let index = make().await;
        done(index.open(&model).await, "a new index is opened");
        index
    };
    new_and_empty(&opened().await).await;
    order_and_bounds(&opened().await).await;
    filters(&opened().await).await;
    changes(&opened().await).await;
    sparse(&opened().await).await;
    positions(&opened().await, &model).await;
}

fn done<T>(result: Result<T, impl std::error::Error>, rule: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{rule}: {error}"),
    }
}

fn id(number: u128) -> PointId {
    PointId::from_u128(number)
}

/// A point of `ada` in conversation `c1`.
fn point(number: u128, dense: [f32; 4]) -> IndexPoint {
    let length = dense.iter().map(|value| value * value).sum::<f32>().sqrt();
    IndexPoint {
        id: id(number),
        collection: Collection::MetaArtifacts,
        payload: PointPayload {
            user: "ada".into(),
            chat: "c1".into(),
            label: PUBLIC,
            source: None,
            ordinal: None,
            memory_id: Some(format!("m{number}").as_str().into()),
            artifact_name: Some("likes".to_owned()),
            importance: Some(3),
            time_ms: 1_000,
            expires_ms: Some(10_000),
            language: "eng".to_owned(),
        },
        dense: Some(dense.map(|value| value / length).into()),
        sparse: None,
        lexical: Arc::new(lexical_vector("a tide", "eng")),
    }
}

fn with(mut point: IndexPoint, change: impl FnOnce(&mut PointPayload)) -> IndexPoint {
    change(&mut point.payload);
    point
}

fn filter() -> IndexFilter {
    IndexFilter::of("ada".into(), vec![PUBLIC])
}

async fn apply(index: &dyn VectorIndex, changes: Vec<IndexChange>, position: u64) {
    let applied = in_time("changes are applied", index.apply(changes, position)).await;
    done(applied, "changes are applied");
}

async fn upsert(index: &dyn VectorIndex, points: impl IntoIterator<Item = IndexPoint>, position: u64) {
    let changes = points
        .into_iter()
        .map(|point| IndexChange::Upsert(Box::new(point)));
    apply(index, changes.collect(), position).await;
}

async fn search(index: &dyn VectorIndex, search: IndexSearch) -> Vec<IndexHit> {
    let found = in_time("a search ends", index.search(search)).await;
    done(found, "a search ends well")
}

fn dense(filter: IndexFilter) -> IndexSearch {
    IndexSearch {
        collection: Collection::MetaArtifacts,
        leg: Leg::Dense([1.0, 0.0, 0.0, 0.0].into()),
        filter,
        limit: 100,
        least: None,
    }
}

fn ids(hits: &[IndexHit]) -> Vec<u128> {
    hits.iter().map(|hit| hit.id.as_u128()).collect()
}

async fn new_and_empty(index: &dyn VectorIndex) {
    assert!(!index.name().is_empty(), "an index has a name");
    assert_eq!(
        done(index.position().await, "it has a position"),
        0,
        "a new index is at position 0"
    );
    assert_eq!(search(index, dense(filter())).await, [], "a new index is empty");
    upsert(index, [point(1, [1.0, 0.0, 0.0, 0.0])], 1).await;
    for _ in 0..2 {
        assert_eq!(
            ids(&search(index, dense(filter())).await),
            [1],
            "what was applied is found"
        );
    }
}

async fn order_and_bounds(index: &dyn VectorIndex) {
    let points = [
        point(5, [0.0, 1.0, 0.0, 0.0]),
        point(4, [1.0, 1.0, 0.0, 0.0]),
        point(3, [1.0, 0.0, 0.0, 0.0]),
        point(2, [1.0, 1.0, 0.0, 0.0]),
        point(1, [-1.0, 0.0, 0.0, 0.0]),
    ];
    upsert(index, points, 5).await;
    let hits = search(index, dense(filter())).await;
    assert_eq!(ids(&hits), [3, 2, 4, 5, 1], "by score, then by id");
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    for (score, expected) in scores
        .iter()
        .zip([1.0, 0.707_106_77, 0.707_106_77, 0.0, -1.0_f32])
    {
        assert!((score - expected).abs() < 1e-3, "{scores:?} are the cosines");
    }
    let cut = IndexSearch {
        limit: 2,
        ..dense(filter())
    };
    assert_eq!(
        ids(&search(index, cut).await),
        [3, 2],
        "the best, up to the limit"
    );
    let least = IndexSearch {
        least: Some(0.5),
        ..dense(filter())
    };
    assert_eq!(
        ids(&search(index, least).await),
        [3, 2, 4],
        "none below the least score"
    );
}

async fn filters(index: &dyn VectorIndex) {
    let far = || point(1, [0.1, 1.0, 0.0, 0.0]);
    let near = |number| point(number, [1.0, 0.0, 0.0, 0.0]);
    let points = [
        far(),
        with(near(2), |payload| payload.user = "bob".into()),
        with(near(3), |payload| payload.label = SECRET),
        with(near(4), |payload| payload.chat = "c2".into()),
        with(near(5), |payload| {
            payload.artifact_name = Some("rules".to_owned())
        }),
        with(near(6), |payload| payload.time_ms = 2_000),
        with(near(7), |payload| payload.time_ms = 999),
        with(near(8), |payload| payload.expires_ms = Some(5_000)),
        with(near(9), |payload| payload.source = Some("T_1".into())),
        with(near(10), |payload| payload.source = Some("T_17".into())),
        with(near(11), |payload| payload.expires_ms = None),
        with(near(12), |payload| {
            payload.source = Some("T_1".into());
            payload.label = SECRET;
        }),
    ];
    upsert(index, points, 12).await;
    let table: Vec<(&str, IndexFilter, Vec<u128>)> = vec![
        ("user and label", filter(), vec![4, 5, 6, 7, 8, 9, 10, 11, 1]),
        (
            "another user",
            IndexFilter::of("bob".into(), vec![PUBLIC]),
            vec![2],
        ),
        (
            "a user by a part of the name",
            IndexFilter::of("ad".into(), vec![PUBLIC]),
            vec![],
        ),
        ("no label", IndexFilter::of("ada".into(), vec![]), vec![]),
        (
            "another label",
            IndexFilter::of("ada".into(), vec![SECRET]),
            vec![3, 12],
        ),
        (
            "several labels",
            IndexFilter::of("ada".into(), vec![PUBLIC, SECRET]),
            vec![3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1],
        ),
        (
            "a conversation",
            IndexFilter {
                chat: Some("c2".into()),
                ..filter()
            },
            vec![4],
        ),
        (
            "a source",
            IndexFilter {
                source: Some("T_1".into()),
                ..filter()
            },
            vec![9],
        ),
        (
            "a source of that name at several labels",
            IndexFilter {
                source: Some("T_1".into()),
                ..IndexFilter::of("ada".into(), vec![PUBLIC, SECRET])
            },
            vec![9, 12],
        ),
        (
            "a longer source",
            IndexFilter {
                source: Some("T_17".into()),
                ..filter()
            },
            vec![10],
        ),
        (
            "a group",
            IndexFilter {
                artifact_name: Some("rules".to_owned()),
                ..filter()
            },
            vec![5],
        ),
        (
            "from a time, included",
            IndexFilter {
                from_ms: Some(2_000),
                ..filter()
            },
            vec![6],
        ),
        (
            "to a time, included",
            IndexFilter {
                to_ms: Some(999),
                ..filter()
            },
            vec![7],
        ),
        (
            "alive at a time",
            IndexFilter {
                alive_at_ms: Some(5_000),
                ..filter()
            },
            vec![4, 5, 6, 7, 9, 10, 11, 1],
        ),
        (
            "alive at the end of most",
            IndexFilter {
                alive_at_ms: Some(10_000),
                ..filter()
            },
            vec![11],
        ),
    ];
    for (what, filter, expected) in table {
        let hits = ids(&search(index, dense(filter.clone())).await);
        assert_eq!(hits, expected, "filtered by {what}");
        let counted = in_time("counting ends", index.count(Collection::MetaArtifacts, filter)).await;
        let counted = done(counted, "counting ends well");
        assert_eq!(counted, expected.len() as u64, "counted by {what}");
    }
    let one = IndexSearch {
        limit: 1,
        ..dense(IndexFilter {
            from_ms: Some(1_000),
            to_ms: Some(1_000),
            chat: Some("c1".into()),
            artifact_name: Some("likes".to_owned()),
            alive_at_ms: Some(9_999),
            source: None,
            ..filter()
        })
    };
    assert_eq!(
        ids(&search(index, one).await),
        [9],
        "the filter comes before the cut"
    );
}

async fn changes(index: &dyn VectorIndex) {
    let first = [point(1, [1.0, 0.0, 0.0, 0.0]), point(2, [0.0, 1.0, 0.0, 0.0])];
    upsert(index, first.clone(), 2).await;
    upsert(index, first, 2).await;
    assert_eq!(
        ids(&search(index, dense(filter())).await),
        [1, 2],
        "the same change twice is one"
    );

    let moved = with(point(1, [0.0, 0.0, 1.0, 0.0]), |payload| {
        payload.artifact_name = Some("rules".to_owned())
    });
    upsert(index, [moved], 3).await;
    let hits = search(index, dense(filter())).await;
    assert!(
        hits.iter().all(|hit| hit.score.abs() < 1e-3),
        "a point that comes again has its new vector: {hits:?}"
    );
    let old = IndexFilter {
        artifact_name: Some("likes".to_owned()),
        ..filter()
    };
    assert_eq!(ids(&search(index, dense(old)).await), [2], "and its new payload");
    let blind = IndexPoint {
        dense: None,
        ..point(1, [1.0, 0.0, 0.0, 0.0])
    };
    upsert(index, [blind], 4).await;
    assert_eq!(
        ids(&search(index, dense(filter())).await),
        [2],
        "a vector it has no more is not found"
    );

    let delete = |collection, number| IndexChange::Delete {
        collection,
        id: id(number),
    };
    apply(index, vec![delete(Collection::SessionRag, 2)], 5).await;
    assert_eq!(
        ids(&search(index, dense(filter())).await),
        [2],
        "the collections are apart"
    );
    for _ in 0..2 {
        let gone = vec![
            delete(Collection::MetaArtifacts, 2),
            delete(Collection::MetaArtifacts, 77),
        ];
        apply(index, gone, 6).await;
        assert_eq!(
            search(index, dense(filter())).await,
            [],
            "a deleted point is gone"
        );
    }
    let both = vec![
        IndexChange::Upsert(Box::new(point(3, [1.0, 0.0, 0.0, 0.0]))),
        delete(Collection::MetaArtifacts, 3),
        IndexChange::Upsert(Box::new(point(4, [1.0, 0.0, 0.0, 0.0]))),
    ];
    apply(index, both, 9).await;
    assert_eq!(
        ids(&search(index, dense(filter())).await),
        [4],
        "changes are applied in order"
    );
}

async fn sparse(index: &dyn VectorIndex) {
    let vector = |pairs: &[(u32, f32)]| {
        Arc::new(SparseVector {
            indices: pairs.iter().map(|(index, _)| *index).collect(),
            values: pairs.iter().map(|(_, value)| *value).collect(),
        })
    };
    let of = |number, pairs: &[(u32, f32)]| IndexPoint {
        sparse: Some(vector(pairs)),
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    };
    let points = [
        of(1, &[(3, 1.0), (9, 2.0)]),
        of(2, &[(3, 4.0)]),
        of(3, &[(4_000_000_000, 1.0)]),
        point(4, [1.0, 0.0, 0.0, 0.0]),
    ];
    upsert(index, points, 4).await;
    let hits = search(
        index,
        IndexSearch {
            leg: Leg::Sparse(vector(&[(3, 0.5), (9, 3.0)])),
            ..dense(filter())
        },
    )
    .await;
    assert_eq!(
        ids(&hits),
        [1, 2],
        "by the product, without those that share nothing"
    );
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    assert!(
        scores
            .iter()
            .zip([6.5, 2.0_f32])
            .all(|(score, expected)| (score - expected).abs() < 1e-2),
        "{scores:?}"
    );
}

async fn positions(index: &dyn VectorIndex, model: &ModelRecord) {
    upsert(index, [point(1, [1.0, 0.0, 0.0, 0.0])], 7).await;
    done(index.flush().await, "flushing ends well");
    assert_eq!(
        done(index.position().await, "it has a position"),
        7,
        "what was flushed is durable"
    );
    apply(index, vec![], 9).await;
    done(index.flush().await, "flushing ends well");
    assert_eq!(
        done(index.position().await, "it has a position"),
        9,
        "a position without a change is one"
    );
    done(index.reset(model).await, "resetting ends well");
    assert_eq!(
        done(index.position().await, "it has a position"),
        0,
        "a reset index is at position 0"
    );
    assert_eq!(search(index, dense(filter())).await, [], "a reset index is empty");
}
