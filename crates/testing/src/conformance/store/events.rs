//! Events, and many writers.

use super::made::*;
use super::{Make, commit, read};
use futures::future::join_all;
use std::sync::Arc;
use tidegate_policy::EventId;
use tidegate_store::{EventFilter, Store, Write};

const WRITERS: u128 = 8;
const ROWS: u64 = 25;

pub(super) async fn are_numbered_without_a_gap(make: Make<'_>) {
    let store = make().await;
    commit(&*store, vec![create(1), create(2)]).await;
    let events =
        |n, calls: &[&str]| Write::Events(session(n), calls.iter().map(|call| happened(call)).collect());
    let mut told = commit(
        &*store,
        vec![events(1, &["a", "b"]), events(2, &["c"]), events(1, &["d"])],
    )
    .await
    .events;
    told.extend(
        commit(&*store, vec![events(2, &[]), events(2, &["e"])])
            .await
            .events,
    );
    let numbers: Vec<_> = told.iter().map(|event| (event.session, event.sequence)).collect();
    let (one, two) = (session(1), session(2));
    assert_eq!(
        numbers,
        [(one, 1), (one, 2), (two, 1), (one, 3), (two, 2)],
        "a commit gives its events, numbered from 1 without a gap in each session"
    );
    let stored = read(store.events(EventFilter::default()).await);
    let found: Vec<_> = stored
        .iter()
        .map(|stored| Arc::new(stored.event.clone()))
        .collect();
    assert_eq!(
        found, told,
        "events are read as they were told, in the order of recording"
    );
    assert!(
        stored.is_sorted_by(|a, b| a.position < b.position),
        "positions grow"
    );
    for stored in stored {
        let id = EventId {
            session: stored.event.session,
            sequence: stored.event.sequence,
        };
        assert_eq!(
            read(store.event(id).await),
            Some(stored),
            "an event is found by its id"
        );
    }
}

pub(super) async fn are_found_by_filter(make: Make<'_>) {
    let store = make().await;
    commit(&*store, vec![create(1), create(2)]).await;
    for n in [1, 2, 1, 2, 1] {
        commit(&*store, vec![Write::Events(session(n), vec![happened("c")])]).await;
    }
    let all = read(store.events(EventFilter::default()).await);
    let filter = |session: Option<u128>, kind: Option<&str>, after, limit| EventFilter {
        session: session.map(super::made::session),
        kind: kind.map(ToOwned::to_owned),
        after,
        limit,
    };
    let third = all.get(2).map_or(0, |stored| stored.position);
    for (filter, expected) in [
        (filter(Some(1), None, 0, None), 3),
        (filter(None, Some("tool.started"), 0, None), 5),
        (filter(None, Some("tool"), 0, None), 5),
        (filter(None, Some("too"), 0, None), 0),
        (filter(None, Some("model"), 0, None), 0),
        (filter(None, None, third, None), 2),
        (filter(Some(2), None, third, None), 1),
        (filter(None, None, 0, Some(4)), 4),
        (filter(None, None, third, Some(1)), 1),
        (filter(None, None, 0, Some(0)), 0),
        (filter(None, None, u64::MAX, None), 0),
    ] {
        let found = read(store.events(filter.clone()).await);
        assert_eq!(found.len(), expected, "events that pass {filter:?}");
        assert!(
            found.iter().all(|stored| all.contains(stored)),
            "a filter changes no event"
        );
    }
}

pub(super) async fn many_writers_lose_nothing(make: Make<'_>) {
    let store = make().await;
    let tasks = (1..=WRITERS).map(|n| tokio::spawn(write_rows(Arc::clone(&store), n)));
    for ended in join_all(tasks).await {
        assert!(ended.is_ok(), "many tasks may write at once");
    }
    for n in 1..=WRITERS {
        let entries = read(store.entries(session(n)).await);
        let expected: Vec<_> = (1..=ROWS)
            .map(|row| said(row, &format!("row {row} of {n}")))
            .collect();
        assert_eq!(entries, expected, "no entry of a session is lost");
    }
    let events = read(store.events(EventFilter::default()).await);
    assert!(
        events.is_sorted_by(|a, b| a.position < b.position),
        "positions grow"
    );
    assert_eq!(
        events.len() as u128,
        WRITERS * u128::from(ROWS),
        "no event is lost"
    );
}

async fn write_rows(store: Arc<dyn Store>, n: u128) {
    let id = session(n);
    commit(&*store, vec![create(n)]).await;
    for row in 1..=ROWS {
        let entry = Write::Append(id, vec![said(row, &format!("row {row} of {n}"))]);
        let committed = commit(&*store, vec![entry, Write::Events(id, vec![happened("c")])]).await;
        let numbers: Vec<u64> = committed.events.iter().map(|event| event.sequence).collect();
        assert_eq!(numbers, [row], "each session has its own sequence");
    }
}
