//! Turns that get nowhere, and turns that take too long.

use crate::world::{Actor, World, asks, effect, line, parts, results, says, text_of, tool};
use futures::FutureExt as _;
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{ResultStatus, TurnStatus, Warning};
use tidegate_runtime::TurnOptions;
use tidegate_runtime::config::IntegrityTest;
use tidegate_tools::{CallContext, ToolError, TypedTool};

use crate::world::Text;

/// Field report 31.
#[tokio::test]
async fn the_same_call_with_the_same_result_is_stopped() {
    let (send, sent) = effect("send");
    // What a call returns is UNTRUSTED, and the next one would have to be licensed.
    let world = World::new()
        .tool(send)
        .configured(|configuration| configuration.policy.integrity = IntegrityTest::Off);
    let ask = || asks([("send", json!({"text": "a"}))]);
    let model = Actor::new("m", [ask(), ask(), ask(), ask(), ask()]);
    let (session, report) = world.turn(&model).await;
    assert_eq!(sent.lock().unwrap().len(), 4);
    assert_eq!(
        (report.status, report.warning),
        (TurnStatus::Success, Some(Warning::Repeating))
    );
    assert_eq!(text_of(results(&session).last().unwrap()), "not run: repeated");
}

/// A tool that works until it is told to stop.
fn endless(consequential: bool) -> TypedTool<Text> {
    let tool = TypedTool::new(
        "endless",
        "Never ends.",
        |_: Text, context: CallContext| async move {
            context.cancel.cancelled().await;
            std::future::pending::<Result<String, ToolError>>().await
        },
    );
    if consequential {
        tool.consequential(["text"])
    } else {
        tool
    }
}

fn brief(world: World) -> World {
    world.configured(|configuration| configuration.agent.turn_timeout_s = 1)
}

#[tokio::test]
async fn a_turn_whose_time_is_up_answers_its_calls_and_ends_with_an_error() {
    let (send, sent) = effect("send");
    let world = brief(
        World::new()
            .tool(endless(true))
            .tool(send)
            .tool(tool("look", str::to_owned)),
    );
    let model = Actor::new(
        "m",
        [
            asks([
                ("look", json!({"text": "seen"})),
                ("endless", json!({"text": "a"})),
                ("send", json!({"text": "b"})),
            ]),
            says("Never mind."),
        ],
    );
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::Error);
    assert_eq!(
        report.error.unwrap(),
        "the turn took longer than 1 s and was stopped\n  possible: raise [agent] turn_timeout_s, ask for less at \
         once, or resume the session to go on where it stopped"
    );
    assert_eq!(*sent.lock().unwrap(), [""; 0]);
    let results = results(&session);
    let statuses: Vec<_> = results.iter().map(|result| result.status).collect();
    assert_eq!(
        statuses,
        [ResultStatus::Ok, ResultStatus::Unknown, ResultStatus::NotRun]
    );
    assert_eq!(
        text_of(&results[2]),
        "not run: the turn's time was up before it began"
    );
    assert_eq!(session.interrupted(), None);

    // Resumed, it has its whole time again.
    let report = session.resume(TurnOptions::default()).await.unwrap();
    model.done();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "Never mind.")
    );
}

#[tokio::test]
async fn a_model_that_does_not_answer_in_the_turns_time_is_given_up() {
    let world = brief(World::new());
    let silent = line(|_| std::future::pending().boxed());
    let model = Actor::new("m", [silent]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let cancel = tidegate_runtime::CancelToken::new();
    let options = TurnOptions {
        cancel: cancel.clone(),
        ..TurnOptions::default()
    };
    let report = session.run("the task", options).await.unwrap();
    assert_eq!(report.status, TurnStatus::Error);
    assert!(report.error.unwrap().starts_with("the turn took longer than 1 s"));
    use tidegate_tools::Cancel as _;
    assert!(
        !cancel.is_cancelled(),
        "what the caller has beside the turn goes on"
    );
}

#[tokio::test]
async fn what_waits_for_the_owner_is_given_up_with_the_turn() {
    let (send, sent) = effect("send");
    let world = brief(World::new().tool(send).approved(["send"]));
    let model = Actor::new("m", [asks([("send", json!({"text": "a"}))])]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session
        .run("the task", crate::owner::attended(&crate::owner::Silent))
        .await
        .unwrap();
    assert_eq!(report.status, TurnStatus::Error);
    assert_eq!(*sent.lock().unwrap(), [""; 0]);
    assert!(
        world
            .requests()
            .await
            .iter()
            .all(|record| !record.state.is_open())
    );
}

#[tokio::test]
async fn a_tool_that_never_gets_ready_does_not_hold_up_a_cancel() {
    let cancel = tidegate_runtime::CancelToken::new();
    let world = World::new().tool(Unready);
    let asked = cancel.clone();
    let calls = [("unready".to_owned(), "{}".to_owned())];
    let model = Actor::new(
        "m",
        [line(move |_| async move {
            tokio::spawn(async move {
                // As soon as the turn has nothing left to do but wait.
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
                asked.cancel();
            });
            parts(calls)
        })],
    );
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let options = TurnOptions {
        cancel,
        ..TurnOptions::default()
    };
    let report = session.run("the task", options).await.unwrap();
    assert_eq!(report.status, TurnStatus::Cancelled);
    let [result] = results(&session).try_into().unwrap();
    assert_eq!(text_of(&result), "cancelled before it ran");
}

/// A tool whose preparation never ends.
struct Unready;

impl tidegate_tools::Tool for Unready {
    fn definition(&self) -> &tidegate_tools::ToolDefinition {
        use std::sync::OnceLock;
        static DEFINITION: OnceLock<tidegate_tools::ToolDefinition> = OnceLock::new();
        DEFINITION.get_or_init(|| {
            let tool = TypedTool::new("unready", "Never ready.", |_: None, _: CallContext| async move {
                Ok::<_, ToolError>("")
            });
            tidegate_tools::Tool::definition(&tool).clone()
        })
    }

    fn prepare<'a>(
        &'a self,
        _: serde_json::Map<String, serde_json::Value>,
        _: &'a CallContext,
    ) -> tidegate_tools::BoxFuture<'a, Result<Box<dyn tidegate_tools::PreparedCall>, ToolError>> {
        std::future::pending().boxed()
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct None {}

/// So that the world's store is used as it is meant.
#[expect(dead_code, reason = "a check of types alone")]
fn turns_can_move_between_threads(world: World, model: Arc<Actor>) {
    fn is_send<T: Send>(_: T) {}
    is_send(async move {
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let owner = crate::owner::owner(|_| tidegate_runtime::ApprovalAnswer::Grant);
        let _ = session.run("x", crate::owner::attended(&owner)).await;
    });
}
