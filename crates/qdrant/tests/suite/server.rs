//! The server index: what it makes, what it notices, what it refuses.

use crate::common::*;
use crate::peer::{Fault, Peer};
use std::time::Duration;
use tidegate_memory::{IndexError, VectorIndex};
use tidegate_policy::Classification;
use tidegate_qdrant::{ServerIndex, ServerSettings};
use tidegate_store::Collection;
use tonic::Code;

async fn opened(peer: &Peer) -> ServerIndex {
    let index = peer.index();
    index.open(&model(4)).await.unwrap();
    index
}

/// With three points, flushed at position 3.
async fn filled(peer: &Peer) -> ServerIndex {
    let index = opened(peer).await;
    index
        .apply(upserts([point(1, 0.9), point(2, 0.8), point(3, 0.7)]), 3)
        .await
        .unwrap();
    index.flush().await.unwrap();
    index
}

#[test]
fn settings_that_cannot_work_are_refused_with_what_would() {
    let of = |url: &str| ServerSettings::new(url.parse().unwrap());
    let near = || of("http://127.0.0.1:6334");
    let far = || of("https://qdrant.example.com:6334");
    let with = |settings: ServerSettings, change: fn(&mut ServerSettings)| {
        let mut settings = settings;
        change(&mut settings);
        settings
    };
    let key = |settings: &mut ServerSettings| settings.api_key = Some("key".into());
    let table = [
        (of("ftp://127.0.0.1:6334"), "write it as http://HOST:6334"),
        (of("http://127.0.0.1"), "name the port"),
        (of("https://me:secret@qdrant.example.com:6334"), "set `api_key`"),
        (of("https://qdrant.example.com:6334/path"), "gRPC has no paths"),
        (
            with(of("http://qdrant.example.com:6334"), key),
            "readable on the way",
        ),
        (
            with(near(), |settings| settings.prefix = "a/b".to_owned()),
            "prefix is a/b",
        ),
        (
            with(near(), |settings| settings.replication = 0),
            "replication is 0",
        ),
        (
            with(near(), |settings| settings.write_consistency = Some(2)),
            "write_consistency is 2",
        ),
        (with(near(), |settings| settings.shards = Some(0)), "shards is 0"),
        (with(near(), |settings| settings.attempts = 0), "attempts is 0"),
        (
            with(near(), |settings| settings.timeout = Duration::ZERO),
            "timeout is 0",
        ),
        (
            with(far(), |settings| settings.api_key = Some("a\nb".into())),
            "api_key is (hidden)",
        ),
    ];
    for (settings, expected) in table {
        let error = ServerIndex::connect(settings.clone()).unwrap_err();
        let said = told(&error);
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn settings_that_can_work_are_taken_and_show_no_key() {
    let of = |url: &str| ServerSettings {
        api_key: Some("a-key".into()),
        ..ServerSettings::new(url.parse().unwrap())
    };
    for (url, clearance) in [
        ("http://127.0.0.1:6334", Classification::Restricted),
        ("http://localhost:6334/", Classification::Restricted),
        ("https://qdrant.example.com:6334", Classification::Internal),
    ] {
        let index = ServerIndex::connect(of(url)).unwrap();
        assert_eq!(index.clearance(), clearance, "{url}");
        assert!(!format!("{index:?} {:?}", of(url)).contains("a-key"));
    }
}

#[tokio::test]
async fn collections_are_made_with_named_vectors_indexed_fields_and_the_settings_of_a_cluster() {
    let peer = Peer::new();
    let settings = ServerSettings {
        prefix: "mine_".to_owned(),
        replication: 3,
        shards: Some(6),
        ..peer.settings()
    };
    ServerIndex::connect(settings)
        .unwrap()
        .open(&model(4))
        .await
        .unwrap();
    let data = peer.backup();
    let names: Vec<&str> = data.collections.keys().map(String::as_str).collect();
    assert_eq!(names, ["mine_meta_artifacts", "mine_session_rag"]);
    for collected in data.collections.values() {
        assert_eq!(collected.dense, [("dense".to_owned(), 4)].into());
        let idf = [("lexical".to_owned(), true), ("sparse".to_owned(), false)];
        assert_eq!(collected.sparse, idf.into());
        assert_eq!(
            (collected.shards, collected.replication, collected.acknowledging),
            (Some(6), Some(3), Some(2)),
            "the majority of three acknowledges"
        );
        let tenants: Vec<&String> = collected
            .fields
            .iter()
            .filter(|(_, index)| index.is_tenant)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(tenants, ["user_id"]);
        let fields: Vec<&str> = collected.fields.keys().map(String::as_str).collect();
        let expected = [
            "artifact_name",
            "chat_id",
            "expires_ms",
            "label",
            "source_id",
            "time_ms",
            "user_id",
        ];
        assert_eq!(fields, expected);
    }
}

#[tokio::test]
async fn a_key_is_sent_and_a_wrong_one_is_told() {
    let peer = Peer::asking_for(Some("right"));
    let with = |key: &str| {
        let settings = ServerSettings {
            api_key: Some(key.into()),
            ..peer.settings()
        };
        ServerIndex::connect(settings).unwrap()
    };
    with("right").open(&model(4)).await.unwrap();
    for index in [with("wrong"), peer.index()] {
        let error = index.open(&model(4)).await.unwrap_err();
        let said = told(&error);
        assert!(said.contains("refuses the API key"), "{said}");
        assert!(!said.contains("wrong"), "{said}");
    }
}

#[tokio::test]
async fn the_position_is_kept_in_the_collections_and_a_new_connection_goes_on_there() {
    let peer = Peer::new();
    filled(&peer).await;
    let again = opened(&peer).await;
    assert_eq!(again.position().await.unwrap(), 3);
    assert_eq!(counts(&again).await, (3, 0), "what says the position is no point");
    let numbers: Vec<u128> = nearest(&again, 9)
        .await
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn the_position_stands_behind_every_change_without_being_asked_for() {
    let peer = Peer::new();
    let index = opened(&peer).await;
    for batch in 1..=3_u64 {
        let points = (1..=400).map(|number| point(u128::from(batch * 1_000 + number), 0.5));
        index.apply(upserts(points), batch * 400).await.unwrap();
    }
    assert_eq!(opened(&peer).await.position().await.unwrap(), 1_200);
}

#[tokio::test]
async fn a_server_that_was_emptied_deleted_or_restored_says_how_far_it_is() {
    let peer = Peer::new();
    let index = opened(&peer).await;
    let empty = peer.backup();
    index
        .apply(upserts([point(1, 0.9), point(2, 0.8)]), 2)
        .await
        .unwrap();
    index.flush().await.unwrap();
    let older = peer.backup();
    index.apply(upserts([point(3, 0.7)]), 3).await.unwrap();
    index.flush().await.unwrap();
    let full = peer.backup();

    let mut one_deleted = full.clone();
    one_deleted.collections.remove("session_rag");
    let mut one_emptied = full.clone();
    one_emptied.collections.get_mut("meta_artifacts").unwrap().clear();
    let mut one_restored = full.clone();
    let restored = older.of("meta_artifacts").unwrap().clone();
    one_restored
        .collections
        .insert("meta_artifacts".to_owned(), restored);
    let mut gone = full.clone();
    gone.collections.clear();

    for (what, data, position, points) in [
        ("nothing happened", full, 3, 3),
        ("restored", older, 2, 2),
        ("one collection restored", one_restored, 2, 2),
        ("restored to before anything was in it", empty, 0, 0),
        ("one collection deleted", one_deleted, 0, 0),
        ("one collection emptied", one_emptied, 0, 0),
        ("all deleted", gone, 0, 0),
    ] {
        peer.restore(data);
        let again = opened(&peer).await;
        assert_eq!(again.position().await.unwrap(), position, "{what}");
        assert_eq!(counts(&again).await, (points, 0), "{what}");
    }
}

#[tokio::test]
async fn a_server_that_was_away_and_came_back_older_is_noticed_while_it_is_in_use() {
    let mut peer = Peer::new();
    let index = opened(&peer).await;
    index.apply(upserts([point(1, 0.9)]), 1).await.unwrap();
    index.flush().await.unwrap();
    let older = peer.backup();
    index.apply(upserts([point(2, 0.8)]), 2).await.unwrap();
    index.flush().await.unwrap();

    // Away and back with everything: nobody notices.
    peer.stop();
    peer.start();
    index.apply(upserts([point(3, 0.7)]), 3).await.unwrap();
    index.flush().await.unwrap();
    assert_eq!(nearest(&index, 9).await.len(), 3);

    peer.stop();
    peer.restore(older.clone());
    peer.start();
    let error = index.apply(upserts([point(4, 0.6)]), 4).await.unwrap_err();
    assert!(
        told(&error).contains("back to position 1 from 3"),
        "{}",
        told(&error)
    );
    assert!(index.flush().await.is_err(), "it is not open any more");
    index.open(&model(4)).await.unwrap();
    assert_eq!(index.position().await.unwrap(), 1);

    index.apply(upserts([point(2, 0.8)]), 2).await.unwrap();
    peer.restore(older);
    let search = tidegate_memory::IndexSearch {
        collection: Collection::MetaArtifacts,
        leg: tidegate_memory::Leg::Dense([1.0, 0.0, 0.0, 0.0].into()),
        filter: tidegate_memory::IndexFilter::of("ada".into(), vec![INTERNAL]),
        limit: 9,
        least: None,
    };
    assert!(
        index.search(search).await.is_err(),
        "a search notices too, without any connection lost"
    );
    index.open(&model(4)).await.unwrap();
    assert_eq!(
        (index.position().await.unwrap(), counts(&index).await),
        (1, (1, 0))
    );
}

#[tokio::test]
async fn collections_that_somebody_else_made_are_left_alone() {
    let peer = Peer::new();
    filled(&peer).await;
    let mut data = peer.backup();
    // The marker is not there: as far as can be known these are another program's points.
    data.of_mut("meta_artifacts")
        .unwrap()
        .delete(Some("74696465-6761-7465-0000-000000000001".into()))
        .unwrap();
    peer.restore(data);
    let index = peer.index();
    for error in [
        index.open(&model(4)).await.unwrap_err(),
        index.reset(&model(4)).await.unwrap_err(),
    ] {
        let said = told(&error);
        assert!(
            said.contains("meta_artifacts with 3 points that Tidegate did not make"),
            "{said}"
        );
    }
    let data = peer.backup();
    assert_eq!(data.of("meta_artifacts").unwrap().len(), 3);
    assert!(data.of("session_rag").unwrap().len() == 1);
}

#[tokio::test]
async fn another_model_is_told_and_another_clearance_empties() {
    let peer = Peer::new();
    filled(&peer).await;
    let mut other = model(4);
    other.prefixes = "query: ".to_owned();
    let error = peer.index().open(&other).await.unwrap_err();
    assert!(matches!(error, IndexError::OtherModel { .. }), "{error}");
    assert_eq!(
        opened(&peer).await.position().await.unwrap(),
        3,
        "nothing was changed"
    );

    let settings = ServerSettings {
        clearance: Classification::Internal,
        ..peer.settings()
    };
    let lower = ServerIndex::connect(settings).unwrap();
    lower.open(&model(4)).await.unwrap();
    assert_eq!(
        (lower.position().await.unwrap(), counts(&lower).await),
        (0, (0, 0))
    );
}

#[tokio::test]
async fn making_the_collections_may_end_anywhere_and_the_next_start_makes_them_whole() {
    let peer = Peer::new();
    let before = filled(&peer).await;
    drop(before);
    let full = peer.backup();
    for is_done in [false, true] {
        for after in 0.. {
            peer.restore(full.clone());
            let index = opened(&peer).await;
            peer.fail(Fault {
                after,
                times: usize::MAX,
                is_done,
                code: Code::Unavailable,
            });
            let reset = index.reset(&model(4)).await;
            peer.state().fault = None;
            drop(index);
            let again = opened(&peer).await;
            let found = (again.position().await.unwrap(), counts(&again).await);
            assert!(
                found == (3, (3, 0)) || found == (0, (0, 0)),
                "after {after} calls: {found:?}"
            );
            again.apply(upserts([point(9, 0.5)]), 9).await.unwrap();
            again.flush().await.unwrap();
            for collected in peer.backup().collections.values() {
                assert_eq!(collected.fields.len(), 7, "after {after} calls");
            }
            if reset.is_ok() {
                assert!(after > 10);
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_may_help_is_tried_again_a_few_times_and_what_cannot_is_not() {
    let table = [
        (Code::Unavailable, 2, true, 3),
        (Code::ResourceExhausted, 2, true, 3),
        (Code::Aborted, 1, true, 2),
        (Code::ResourceExhausted, 9, false, 3),
        (Code::DeadlineExceeded, 1, false, 1),
        (Code::InvalidArgument, 1, false, 1),
        (Code::Internal, 9, false, 1),
    ];
    for (code, times, goes_well, tries) in table {
        let peer = Peer::new();
        let index = filled(&peer).await;
        peer.calls();
        // Two positions are read before the points are written, and two written afterwards.
        peer.fail(Fault {
            after: 2,
            times,
            is_done: true,
            code,
        });
        let applied = index.apply(upserts([point(9, 0.1)]), 9).await;
        assert_eq!(applied.is_ok(), goes_well, "{code:?}: {applied:?}");
        let calls = peer.calls().iter().filter(|call| **call == "upsert").count();
        // The client itself tries once more where a connection may be broken.
        let of_the_client = matches!(code, Code::Unavailable | Code::Internal);
        let calls = if goes_well { calls - 2 } else { calls };
        assert!(
            if of_the_client {
                (2..=tries * 2).contains(&calls)
            } else {
                calls == tries
            },
            "{code:?}: {calls} calls"
        );
        if let Err(error) = applied {
            let said = told(&error);
            assert!(
                said.contains("writing points") && !said.contains("second line"),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let mut peer = Peer::new();
    let index = filled(&peer).await;
    peer.stop();
    for error in [
        index.open(&model(4)).await.unwrap_err(),
        index.apply(upserts([point(9, 0.1)]), 9).await.unwrap_err(),
        index.position().await.unwrap_err(),
    ] {
        assert!(
            matches!(error, IndexError::Unreachable { .. }),
            "{}",
            told(&error)
        );
        let said = told(&error);
        assert!(
            said.contains("http://127.0.0.1:") && said.contains("cannot be reached"),
            "{said}"
        );
    }
    peer.start();
    index.open(&model(4)).await.unwrap();
    assert_eq!(index.position().await.unwrap(), 3);
}
