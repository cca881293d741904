//! Calls that cannot be run, that fail, or that do not end.

use crate::world::{Actor, Text, World, asks, asks_raw, effect, results, says, stop_clock, text_of, tool};
use serde_json::json;
use std::time::Duration;
use tidegate_message::{ResultStatus, TurnStatus};
use tidegate_policy::Role;
use tidegate_runtime::config::UserSettings;
use tidegate_store::CallState;
use tidegate_tools::{CallContext, ToolError, TypedTool};

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_names_there_are_and_the_run_goes_on() {
    let (write, effects) = effect("write");
    let world = World::new().tool(write).tool(tool("look", |_| "seen".into()));
    let model = Actor::new(
        "model",
        [
            asks([("wriet", json!({ "text": "x" })), ("look", json!({ "text": "" }))]),
            says("done"),
        ],
    );
    let (session, report) = world.turn(&model).await;
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done")
    );
    let results = results(&session);
    assert_eq!(results[0].status, ResultStatus::NotRun);
    let told = text_of(&results[0]);
    assert!(told.contains("current_time, look, write"), "{told}");
    assert_eq!(
        (results[1].status, text_of(&results[1])),
        (ResultStatus::Ok, "seen".into())
    );
    assert_eq!(effects.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_call_whose_arguments_do_not_parse_or_fit_is_not_run_and_the_model_learns_why() {
    for (arguments, why) in [
        (r#"{"text": "half"#, "not valid JSON"),
        (r#"["text"]"#, "object"),
        (r#"{"txt": "a"}"#, "did you mean \"text\""),
        (r#"{"text": 5}"#, "string"),
        ("", "\"text\" is missing"),
    ] {
        let (write, effects) = effect("write");
        let world = World::new().tool(write);
        let model = Actor::new("model", [asks_raw("write", arguments), says("done")]);
        let (session, report) = world.turn(&model).await;
        assert_eq!(report.status, TurnStatus::Success, "{arguments}");
        let [result] = &results(&session)[..] else {
            panic!("one result")
        };
        assert_eq!(result.status, ResultStatus::NotRun, "{arguments}");
        assert!(text_of(result).contains(why), "{arguments}: {}", text_of(result));
        assert_eq!(effects.lock().unwrap().len(), 0, "{arguments}");
        let journal = world
            .store
            .calls(session.id(), report.turn.unwrap())
            .await
            .unwrap();
        assert_eq!(journal, [], "{arguments}: nothing was begun");
    }
}

#[tokio::test]
async fn a_tool_that_panics_has_failed_and_the_run_goes_on() {
    for consequential in [false, true] {
        let broken = tool("broken", |_| panic!("a bug of the tool"));
        let broken = if consequential {
            broken.consequential(["text"])
        } else {
            broken
        };
        let world = World::new().tool(broken).tool(tool("look", |_| "seen".into()));
        let text = || json!({ "text": "" });
        let model = Actor::new(
            "model",
            [asks([("broken", text()), ("look", text())]), says("done")],
        );
        let (session, report) = world.turn(&model).await;
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "done")
        );
        let results = results(&session);
        assert_eq!(
            (results[0].status, results[1].status),
            (ResultStatus::Error, ResultStatus::Ok)
        );
        assert!(
            text_of(&results[0]).contains("failed inside"),
            "{}",
            text_of(&results[0])
        );
        assert!(
            !text_of(&results[0]).contains("a bug"),
            "the tool's own words are nobody's business"
        );
    }
}

/// A tool that is still at work when its time is up, and then goes on as `then` says.
fn slow<F>(then: impl Fn(CallContext) -> F + Send + Sync + 'static) -> TypedTool<Text>
where
    F: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let limit = Duration::from_secs(5);
    TypedTool::new("slow", "Takes its time.", move |_: Text, context: CallContext| {
        let then = then(context);
        async move {
            // Timers are rounded up to milliseconds.
            tokio::time::advance(limit + Duration::from_millis(1)).await;
            then.await
        }
    })
    .timeout(limit)
}

/// One that does not listen.
fn deaf() -> TypedTool<Text> {
    slow(|_| async {
        // Until it is not waited for any longer.
        loop {
            tokio::time::advance(Duration::from_millis(100)).await;
        }
    })
}

/// One that ends with a result when it is told to stop.
fn obedient() -> TypedTool<Text> {
    slow(|context| async move {
        context.cancel.cancelled().await;
        Ok("as far as I came".to_owned())
    })
}

#[tokio::test]
async fn a_tool_that_does_not_end_in_time_is_stopped() {
    stop_clock();
    for (tool, consequential, status, told) in [
        (
            deaf(),
            false,
            ResultStatus::Error,
            "The call ran longer than 5 s and was stopped.",
        ),
        (
            deaf(),
            true,
            ResultStatus::Unknown,
            "The call ran longer than 5 s and was stopped; it may have happened. Look before you try again.",
        ),
        (obedient(), false, ResultStatus::Ok, "as far as I came"),
        (obedient(), true, ResultStatus::Ok, "as far as I came"),
    ] {
        let tool = if consequential {
            tool.consequential(["text"])
        } else {
            tool
        };
        let world = World::new().tool(tool);
        let model = Actor::new("model", [asks([("slow", json!({ "text": "" }))]), says("done")]);
        let (session, report) = world.turn(&model).await;
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "done")
        );
        let [result] = &results(&session)[..] else {
            panic!("one result")
        };
        assert_eq!((result.status, text_of(result).as_str()), (status, told));

        let journal = world
            .store
            .calls(session.id(), report.turn.unwrap())
            .await
            .unwrap();
        let finished: Vec<CallState> = journal.into_iter().map(|row| row.state).collect();
        let expected = if consequential {
            vec![CallState::Finished(Box::new(result.clone()))]
        } else {
            vec![]
        };
        assert_eq!(
            finished, expected,
            "what is told of a journalled call is journalled"
        );
    }
}

#[tokio::test]
async fn a_user_below_a_tools_role_neither_sees_nor_runs_it() {
    for (user, role, runs) in [
        ("ann", Role::User, false),
        ("bob", Role::Admin, true),
        ("local", Role::Admin, true),
        ("local", Role::Guest, false),
    ] {
        let (shut_down, effects) = effect("shut_down");
        let world = World::new()
            .tool(shut_down.role(Role::Admin))
            .tool(tool("look", |_| "seen".into()).role(Role::Guest))
            .configured(|configuration| {
                let settings = UserSettings {
                    role: Some(role),
                    clearance: None,
                };
                configuration.users.0.insert(user.into(), settings);
            });
        let text = || json!({ "text": "now" });
        let model = Actor::new(
            "model",
            [asks([("shut_down", text()), ("look", text())]), says("done")],
        );
        let mut session = world.session_of(&world.runtime(&model), user).await;
        let report = session.run("the task", Default::default()).await.unwrap();
        assert_eq!(report.status, TurnStatus::Success);

        let request = &model.requests()[0];
        assert_eq!(request.tools.offers("shut_down"), runs, "{user} {role:?} sees it");
        assert_eq!(
            effects.lock().unwrap().len(),
            usize::from(runs),
            "{user} {role:?} runs it"
        );
        let results = results(&session);
        if !runs {
            assert_eq!(results[0].status, ResultStatus::NotRun);
            let told = text_of(&results[0]);
            let (_, names) = told.split_once("Use one of").unwrap();
            assert!(names.contains("look") && !names.contains("shut_down"), "{told}");
        }
        assert_eq!(results[1].status, ResultStatus::Ok);
    }
}
