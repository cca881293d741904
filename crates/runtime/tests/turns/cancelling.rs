//! Turns that somebody cancels, at every kind of step.

use crate::world::{
    Actor, Line, Text, World, asks, effect, line, results, says, script, stop_clock, text_of, tool,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidegate_message::{ResultStatus, TurnStatus};
use tidegate_runtime::{CancelToken, Session, TurnOptions, TurnReport};
use tidegate_store::{CallState, SessionState};
use tidegate_tools::{CallContext, ToolError, TypedTool};

use ResultStatus::{Error, NotRun, Ok as Done, Unknown};

/// A tool that cancels its own turn, and then goes on as `then` says.
fn cancelling<F>(
    cancel: &CancelToken,
    then: impl Fn(CallContext) -> F + Send + Sync + 'static,
) -> TypedTool<Text>
where
    F: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let cancel = cancel.clone();
    TypedTool::new(
        "cancelling",
        "Cancels the turn.",
        move |_: Text, context: CallContext| {
            cancel.cancel();
            then(context)
        },
    )
}

async fn run(world: &World, model: &Arc<Actor>, cancel: CancelToken) -> (Session, TurnReport) {
    let mut session = world.session(&world.runtime(model)).await;
    let options = TurnOptions {
        cancel,
        ..TurnOptions::default()
    };
    let report = session.run("the task", options).await.unwrap();
    model.done();
    (session, report)
}

/// A cancelled turn is over, in the store too, and the session takes a new task.
async fn takes_a_new_task(world: &World, session: Session, report: &TurnReport) {
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Cancelled, "")
    );
    let record = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.state, SessionState::Idle);
    assert_eq!(
        world.store.entries(session.id()).await.unwrap(),
        session.transcript().entries()
    );
    assert!(!session.transcript().is_open());
    assert_eq!(world.event_names().await.last(), Some(&"turn.finished"));
    drop(session);
    let model = Actor::new("model", [says("heard")]);
    let mut session = world.session(&world.runtime(&model)).await;
    let report = session.run("another task", TurnOptions::default()).await.unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "heard")
    );
}

#[tokio::test]
async fn a_turn_cancelled_beforehand_asks_nobody() {
    let world = World::new();
    let model = Actor::new("model", []);
    let cancel = CancelToken::new();
    cancel.cancel();
    let (session, report) = run(&world, &model, cancel).await;
    assert_eq!(script(session.transcript().entries()), ["user: the task"]);
    takes_a_new_task(&world, session, &report).await;
}

#[tokio::test]
async fn a_turn_cancelled_while_the_model_thinks_ends_at_once_and_drops_the_call() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let world = World::new();
    let cancel = CancelToken::new();
    let (cancelling, dropped) = (cancel.clone(), Arc::new(AtomicBool::new(false)));
    let guard = Dropped(Arc::clone(&dropped));
    let endless: Line = line(move |_| async move {
        let _guard = guard;
        cancelling.cancel();
        std::future::pending().await
    });
    let model = Actor::new("model", [endless]);
    let (session, report) = run(&world, &model, cancel).await;
    assert!(dropped.load(Ordering::SeqCst), "the call goes on");
    assert_eq!(script(session.transcript().entries()), ["user: the task"]);
    takes_a_new_task(&world, session, &report).await;
}

/// What becomes of the call that runs, and of one that waits behind it.
#[tokio::test]
async fn a_turn_cancelled_while_a_tool_runs_answers_every_call_honestly() {
    stop_clock();
    type Then = fn(CallContext) -> futures::future::BoxFuture<'static, Result<String, ToolError>>;
    let deaf: Then = |_| {
        Box::pin(async {
            // Until it is not waited for any longer.
            loop {
                tokio::time::advance(Duration::from_millis(100)).await;
            }
        })
    };
    let finishing: Then = |_| Box::pin(async { Ok("finished all the same".to_owned()) });
    let giving_up: Then = |context| {
        Box::pin(async move {
            context.cancel.cancelled().await;
            Err(ToolError::new("stopped half way"))
        })
    };
    for (consequential, then, status, told) in [
        (false, deaf, Error, "The call was cancelled while it ran."),
        (false, finishing, Done, "finished all the same"),
        (false, giving_up, Error, "stopped half way"),
        (
            true,
            deaf,
            Unknown,
            "The call was cancelled while it ran; it may have happened. Look before you try again.",
        ),
        (true, finishing, Done, "finished all the same"),
        (true, giving_up, Error, "stopped half way"),
    ] {
        let cancel = CancelToken::new();
        let tool = cancelling(&cancel, then);
        let tool = if consequential {
            tool.consequential(["text"])
        } else {
            tool
        };
        let (after, effects) = effect("after");
        let world = World::new().tool(tool).tool(after);
        let text = || json!({ "text": "" });
        let model = Actor::new("model", [asks([("cancelling", text()), ("after", text())])]);
        let (session, report) = run(&world, &model, cancel).await;

        let results = results(&session);
        assert_eq!(
            (results[0].status, text_of(&results[0]).as_str()),
            (status, told),
            "{consequential}"
        );
        assert_eq!(
            (results[1].status, text_of(&results[1]).as_str()),
            (NotRun, "cancelled before it ran")
        );
        assert_eq!(effects.lock().unwrap().len(), 0);
        let journal = world
            .store
            .calls(session.id(), report.turn.unwrap())
            .await
            .unwrap();
        let journal: Vec<CallState> = journal.into_iter().map(|row| row.state).collect();
        let expected = if consequential {
            vec![CallState::Finished(Box::new(results[0].clone()))]
        } else {
            vec![]
        };
        assert_eq!(journal, expected);
        takes_a_new_task(&world, session, &report).await;
    }
}

#[tokio::test]
async fn what_was_read_before_the_cancel_keeps_its_label() {
    use tidegate_policy::{Classification, Label};
    let cancel = CancelToken::new();
    let tool = cancelling(&cancel, |_| async { Ok("a secret".to_owned()) })
        .source(Label::trusted(Classification::Confidential));
    let world = World::new()
        .tool(tool)
        .tool(crate::world::tool("look", |_| "seen".into()));
    let text = || json!({ "text": "" });
    let model = Actor::new("model", [asks([("cancelling", text()), ("look", text())])]);
    let (session, report) = run(&world, &model, cancel).await;
    assert_eq!(report.label.classification, Classification::Confidential);
    let record = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(
        record.session.taint.label().classification,
        Classification::Confidential
    );
    takes_a_new_task(&world, session, &report).await;
}

#[tokio::test]
async fn a_cancel_after_the_end_changes_nothing() {
    let world = World::new().tool(tool("look", |_| "seen".into()));
    let cancel = CancelToken::new();
    let model = Actor::new("model", [asks([("look", json!({ "text": "" }))]), says("done")]);
    let (session, report) = run(&world, &model, cancel.clone()).await;
    cancel.cancel();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done")
    );
    assert_eq!(world.store.entries(session.id()).await.unwrap().len(), 4);
}
