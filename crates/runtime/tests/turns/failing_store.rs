//! A store that fails to commit, at every commit there is.

use crate::world::{Actor, World, asks, effect, says, tool};
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{Body, Entry, ResultStatus, ToolResult, Transcript, TurnStatus};
use tidegate_policy::SessionId;
use tidegate_runtime::{RuntimeError, TurnOptions};
use tidegate_store::{BoxFuture, Committed, SessionState, Store, StoreError, Write};
use tidegate_testing::{MeddledStore, Meddler};

/// Lets one commit fail, as on a full disk. With `lost`, the commit happens and is reported as failed all the same,
/// as when the store is closed meanwhile.
struct Failing {
    /// Which commit fails, from 1.
    fails: usize,
    lost: bool,
}

impl Meddler for Failing {
    fn commit<'a>(
        &'a self,
        number: usize,
        writes: Vec<Write>,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            if number != self.fails {
                return store.commit(writes).await;
            }
            if self.lost {
                store.commit(writes).await?;
            }
            Err(StoreError::Closed {
                path: "the store".into(),
            })
        })
    }
}

fn lines() -> Vec<crate::world::Line> {
    let text = |text: &str| json!({ "text": text });
    vec![
        asks([
            ("look", text("a")),
            ("write", text("one")),
            ("write", text("two")),
        ]),
        asks([("look", text("b"))]),
        says("done"),
    ]
}

/// The lines that are left after `said` of them.
fn actor(said: usize) -> Arc<Actor> {
    let mut lines = lines();
    lines.drain(..said);
    Actor::of("model", lines)
}

fn said(entries: &[Arc<Entry>]) -> usize {
    entries
        .iter()
        .filter(|entry| matches!(entry.body, Body::Assistant(_)))
        .count()
}

/// Runs the task on a store whose commit `fails` fails, then resumes on one that works. Whether it failed.
async fn fails_at(fails: usize, lost: bool) -> bool {
    let (write, effects) = effect("write");
    let mut world = World::new()
        .tool(write)
        .tool(tool("look", |text| format!("seen {text}")));
    let works = Arc::clone(&world.store);
    world.store = Arc::new(MeddledStore::new(Arc::clone(&works), Failing { fails, lost }));

    // Opening the session is not what this is about: its commit is the first.
    let model = actor(0);
    let mut session = world.session(&world.runtime(&model)).await;
    let ended = session.run("the task", TurnOptions::default()).await;
    let failed = match ended {
        Ok(report) => {
            assert_eq!(
                (report.status, report.answer.as_str()),
                (TurnStatus::Success, "done")
            );
            false
        }
        Err(RuntimeError::Store(StoreError::Closed { .. })) => true,
        Err(error) => panic!("commit {fails}: {error}"),
    };

    // The model was told of nothing that was not stored before.
    let stored = works.entries(session.id()).await.unwrap();
    for request in model.requests() {
        let sent = &request.history;
        assert!(
            stored.starts_with(sent),
            "commit {fails}: {sent:?} was sent and {stored:?} is stored"
        );
    }
    drop(session);

    world.store = Arc::clone(&works);
    let model = actor(said(&stored));
    let mut session = world.session(&world.runtime(&model)).await;
    let report = if stored.is_empty() {
        session.run("the task", TurnOptions::default()).await.unwrap()
    } else {
        session.resume(TurnOptions::default()).await.unwrap()
    };
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done"),
        "commit {fails}"
    );
    model.done();
    let effects = effects.lock().unwrap().clone();
    check_calls(&works, session.id(), &effects, fails).await;
    failed
}

async fn check_calls(store: &Arc<dyn Store>, id: SessionId, effects: &[String], fails: usize) {
    assert_eq!(
        store.session(id).await.unwrap().unwrap().state,
        SessionState::Idle
    );
    let entries = store.entries(id).await.unwrap();
    assert!(!Transcript::from_entries(entries.clone()).unwrap().is_open());
    let results: Vec<&ToolResult> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Results(results) => Some(&results.results),
            Body::User(_) | Body::Assistant(_) => None,
        })
        .flatten()
        .collect();
    assert_eq!(results.len(), 4, "commit {fails}");
    let writes = [("one", results[1]), ("two", results[2])];
    for (text, result) in writes {
        let times = effects.iter().filter(|effect| *effect == text).count();
        match result.status {
            ResultStatus::Ok => assert_eq!(times, 1, "commit {fails}: {text}"),
            ResultStatus::Unknown => assert!(times <= 1, "commit {fails}: {text}"),
            other => panic!("commit {fails}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_store_that_fails_ends_the_turn_with_its_error_and_the_session_goes_on_once_it_works() {
    for lost in [false, true] {
        // The first commit makes the session.
        let mut failures = 0;
        while fails_at(2 + failures, lost).await {
            failures += 1;
        }
        // At least: the beginning, three replies, two calls begun, two messages of results.
        assert!(failures >= 8, "lost: {lost}: only {failures} commits");
    }
}
