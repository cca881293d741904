//! A store that fails to commit, at every commit there is.

use crate::world::{Actor, World, asks, effect, says, tool};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_message::{Body, Entry, ResultStatus, ToolResult, Transcript, TurnStatus};
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};
use tidegate_runtime::{RuntimeError, TurnOptions};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, BoxFuture, CallRecord, Checkpoint, Committed, EventFilter, FileLabel,
    SessionList, SessionRecord, SessionState, SessionSummary, SourceText, Store, StoreError, StoredEvent,
    Write,
};

/// A store of which one commit fails, as on a full disk. With `lost`, the commit happens and is reported as
/// failed all the same, as when the store is closed meanwhile.
struct FailingStore {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    /// Which commit fails, from 1.
    fails: usize,
    lost: bool,
}

impl Store for FailingStore {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
            if commit != self.fails {
                return self.inner.commit(writes).await;
            }
            if self.lost {
                self.inner.commit(writes).await?;
            }
            Err(StoreError::Closed {
                path: "the store".into(),
            })
        })
    }

    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>> {
        self.inner.session(id)
    }

    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.inner.session_named(name)
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>> {
        self.inner.summary(id)
    }

    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>> {
        self.inner.sessions()
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>> {
        self.inner.entries(session)
    }

    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>> {
        self.inner.checkpoint(session)
    }

    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.inner.calls(session, turn)
    }

    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>> {
        self.inner.approval(id)
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        self.inner.approvals(filter)
    }

    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>> {
        self.inner.source(session, id)
    }

    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>> {
        self.inner.sources(session)
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(filter)
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>> {
        self.inner.event(id)
    }

    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>> {
        self.inner.file_label(path)
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
    let store = FailingStore {
        inner: Arc::clone(&works),
        commits: AtomicUsize::new(0),
        fails,
        lost,
    };
    world.store = Arc::new(store);

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
