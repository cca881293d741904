//! Many tasks, many handles, many processes.

use crate::common::*;
use futures::future::{join, join_all};
use std::io::Write as _;
use std::process::{Command, Stdio};
use tidegate_store::*;

const WRITERS: u64 = 16;
const ROWS: u64 = 200;

/// Session `n` has `ROWS` entries and as many events, each as it was written.
async fn is_complete(store: &SqliteStore, n: u64) {
    let id = session(u128::from(n));
    let entries = store.entries(id).await.unwrap();
    let expected: Vec<_> = (1..=ROWS)
        .map(|row| said(row, &format!("row {row} of {n}")))
        .collect();
    assert_eq!(entries, expected);
    let events = store
        .events(EventFilter {
            session: Some(id),
            ..EventFilter::default()
        })
        .await
        .unwrap();
    let numbers: Vec<_> = events.iter().map(|stored| stored.event.sequence).collect();
    assert_eq!(numbers, (1..=ROWS).collect::<Vec<_>>());
    assert!(events.is_sorted_by(|a, b| a.position < b.position && a.event.at_ms <= b.event.at_ms));
}

async fn writes_all_rows(store: &SqliteStore, n: u64) {
    let id = session(u128::from(n));
    for row in 1..=ROWS {
        let mut writes = if row == 1 {
            vec![create(u128::from(n))]
        } else {
            vec![]
        };
        writes.push(Write::Append(id, vec![said(row, &format!("row {row} of {n}"))]));
        writes.push(Write::Events(id, vec![tool_started(&format!("call_{row}"))]));
        let committed = store.commit(writes).await.unwrap();
        assert_eq!(committed.events[0].sequence, row);
    }
}

/// Field report 25.
#[test]
fn sixteen_writers_and_a_long_reader_lose_nothing() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(99)]).unwrap();
    let reader = sqlite(&path);
    reader.execute_batch("BEGIN").unwrap();
    let count = |reader: &rusqlite::Connection| -> i64 {
        reader
            .query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(count(&reader), 1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    runtime.block_on(async {
        let tasks = (0..WRITERS).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                writes_all_rows(&store, n).await;
                is_complete(&store, n).await;
            })
        });
        join_all(tasks).await.into_iter().for_each(Result::unwrap);
    });
    assert_eq!(count(&reader), 1, "the long reader still sees its own view");
    run(store.close());
    drop(reader);
    let store = open(&path);
    run(async {
        for n in 0..WRITERS {
            is_complete(&store, n).await;
        }
    });
}

#[test]
fn two_handles_write_to_one_file_at_once() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let path = &path;
            scope.spawn(move || {
                let store = open(path);
                run(join_all((0..4).map(|n| writes_all_rows(&store, half * 4 + n))));
            });
        }
    });
    let store = open(&path);
    run(async {
        for n in 0..8 {
            is_complete(&store, n).await;
        }
        let all = store.events(EventFilter::default()).await.unwrap();
        assert_eq!(all.len() as u64, 8 * ROWS);
    });
}

#[test]
fn commits_that_are_queued_together_are_one_transaction() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(0)]).unwrap();
    let before = store.transactions();
    // The writer gets stuck in its first transaction; all others have to queue.
    let other = sqlite(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let commits = (1..=100).map(|n| store.commit(vec![create(n)]));
    let (results, ()) = run(join(join_all(commits), async {
        other.execute_batch("COMMIT").unwrap()
    }));
    results.into_iter().for_each(|result| {
        result.unwrap();
    });
    let transactions = store.transactions() - before;
    assert!(
        (1..=2).contains(&transactions),
        "{transactions} transactions for 100 commits"
    );
    assert_eq!(run(store.sessions()).unwrap().sessions.len(), 101);
}

#[test]
fn a_commit_that_fails_in_a_group_fails_alone() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(0)]).unwrap();
    let other = sqlite(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Every third one makes a session, then trips.
    let commits = (1..=60).map(|n| {
        let last = if n % 3 == 0 { create(0) } else { create(1000 + n) };
        store.commit(vec![create(n), last])
    });
    let (results, ()) = run(join(join_all(commits), async {
        other.execute_batch("COMMIT").unwrap()
    }));
    for (n, result) in (1..=60).zip(results) {
        match result {
            Ok(_) => assert_ne!(n % 3, 0),
            Err(StoreError::SessionExists { session: id }) => assert_eq!((n % 3, id), (0, session(0))),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(
            run(store.session(session(n))).unwrap().is_some(),
            n % 3 != 0,
            "session {n}"
        );
    }
}

#[test]
fn handles_that_open_a_new_file_at_once_all_succeed() {
    for _ in 0..10 {
        let (_folder, path) = place();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    commit(&open(path), vec![create(n)]).unwrap();
                });
            }
        });
        assert_eq!(run(open(&path).sessions()).unwrap().sessions.len(), 8);
    }
}

const OPENER: &str = "TIDEGATE_STORE_TEST_OPENER";

#[test]
fn processes_that_open_a_new_file_at_once_all_succeed() {
    for _ in 0..5 {
        let (_folder, path) = place();
        let mut children: Vec<_> = (1..=4u8)
            .map(|n| {
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "concurrency::opener", "--nocapture"])
                    .env(OPENER, format!("{n}:{}", path.display()))
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in &mut children {
            child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(run(open(&path).sessions()).unwrap().sessions.len(), 4);
    }
}

/// The other process of the test above.
#[test]
fn opener() {
    let Ok(order) = std::env::var(OPENER) else { return };
    let (n, path) = order.split_once(':').unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let store = open(&path.into());
    commit(&store, vec![create(n.parse().unwrap())]).unwrap();
    run(store.close());
}

#[test]
fn a_follower_in_another_handle_sees_each_event_once() {
    let (_folder, path) = place();
    let (writer, follower) = (open(&path), open(&path));
    commit(&writer, vec![create(1), create(2)]).unwrap();
    let (mut after, mut seen) = (0, Vec::new());
    for n in 0..50u64 {
        let id = session(u128::from(n % 2 + 1));
        commit(
            &writer,
            vec![Write::Events(
                id,
                vec![tool_started(&format!("{n}")); (n % 3) as usize],
            )],
        )
        .unwrap();
        let new = run(follower.events(EventFilter {
            after,
            limit: Some(2),
            ..EventFilter::default()
        }))
        .unwrap();
        after = new.last().map_or(after, |stored| stored.position);
        seen.extend(new);
    }
    assert_eq!(seen, run(writer.events(EventFilter::default())).unwrap());
    assert_eq!(seen.len(), 49);
}

#[test]
fn a_store_works_without_any_runtime() {
    let (_folder, path) = place();
    let store = open(&path);
    futures::executor::block_on(async {
        store.commit(vec![create(1)]).await.unwrap();
        assert!(store.session(session(1)).await.unwrap().is_some());
        store.close().await;
    });
}

#[test]
fn closing_leaves_one_file_and_dropping_loses_nothing() {
    let (folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(1)]).unwrap();
    run(store.sessions()).unwrap();
    run(store.close());
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["store.sqlite"]);

    let store = open(&path);
    commit(&store, vec![create(2)]).unwrap();
    drop(store);
    assert_eq!(run(open(&path).sessions()).unwrap().sessions.len(), 2);
}
