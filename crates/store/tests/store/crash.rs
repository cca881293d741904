//! The process is killed while it commits.

use crate::common::*;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use tidegate_policy::SourceId;
use tidegate_store::*;

const CHILD: &str = "TIDEGATE_STORE_TEST_CRASH";
const SESSIONS: u64 = 4;

/// Starts the child, kills it once it has told of so many commits, and gives all it told of: session and
/// number.
fn killed_after(commits: usize, path: &Path) -> BTreeSet<(u64, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BTreeSet::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The last line may have been cut by the end of the process.
        let numbers = line.unwrap().strip_prefix("acknowledged ").and_then(|line| {
            let (session, number) = line.strip_suffix(" .")?.split_once(' ')?;
            Some((session.parse().unwrap(), number.parse().unwrap()))
        });
        told.extend(numbers);
        if told.len() == commits {
            child.kill().unwrap();
        }
    }
    assert!(
        !child.wait().unwrap().success(),
        "it was killed and did not end by itself"
    );
    told
}

/// Four tasks commit without end; each acknowledged commit is told on standard output.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let store = open(&path.into());
    run(futures::future::join_all((1..=SESSIONS).map(|n| {
        let store = &store;
        async move {
            let id = session(u128::from(n));
            let begun = store.summary(id).await.unwrap();
            if begun.is_none() {
                store.commit(vec![create(u128::from(n))]).await.unwrap();
            }
            for number in begun.map_or(0, |summary| summary.entries) + 1.. {
                let turn = turn(u128::from(number));
                let data = number.to_be_bytes().repeat(1000);
                let writes = vec![
                    Write::Append(id, vec![said(number, &number.to_string())]),
                    Write::Checkpoint(
                        id,
                        Checkpoint {
                            turn,
                            version: 1,
                            data,
                        },
                    ),
                    Write::Events(id, vec![tool_started(&number.to_string())]),
                    Write::Source(id, full_text(&number.to_string(), &"long ".repeat(2000))),
                ];
                store.commit(writes).await.unwrap();
                writeln!(std::io::stdout(), "acknowledged {n} {number} .").unwrap();
            }
        }
    })));
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_and_leaves_none_half() {
    let (_folder, path) = place();
    let mut known = BTreeSet::new();
    // The same file again and again: each child goes on where the one before was killed.
    for commits in [1, 2, 17, 60, 151, 300] {
        let told = killed_after(commits, &path);
        assert!(told.len() >= commits);
        known.extend(told);
        let store = open(&path);
        run(async {
            for n in 1..=SESSIONS {
                let id = session(u128::from(n));
                let entries = store.entries(id).await.unwrap();
                let stored = entries.len() as u64;
                let acknowledged = known
                    .iter()
                    .filter(|(session, _)| *session == n)
                    .map(|(_, number)| *number)
                    .max();
                assert!(
                    stored >= acknowledged.unwrap_or(0),
                    "session {n}: {stored} of {acknowledged:?}"
                );
                let texts: Vec<_> = entries.iter().map(|entry| text_of(entry)).collect();
                assert_eq!(
                    texts,
                    (1..=stored).map(|number| number.to_string()).collect::<Vec<_>>()
                );
                // The other writes of each commit are there too, and no more of them.
                let filter = EventFilter {
                    session: Some(id),
                    ..EventFilter::default()
                };
                assert_eq!(store.events(filter).await.unwrap().len() as u64, stored);
                let sources: Vec<_> = store
                    .sources(id)
                    .await
                    .unwrap()
                    .into_iter()
                    .map(|text| text.id)
                    .collect();
                let expected: Vec<_> = texts.iter().map(|text| SourceId::new(text.as_str())).collect();
                assert_eq!(sources, expected);
                let checkpoint = store.checkpoint(id).await.unwrap();
                let expected = (stored > 0).then(|| stored.to_be_bytes().repeat(1000));
                assert_eq!(checkpoint.map(|checkpoint| checkpoint.data), expected);
            }
        });
    }
}
