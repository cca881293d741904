//! Questions of the model when nobody is there: they are kept, and answered later, once.

use crate::owner::{Meddling, failed};
use crate::world::{Actor, Line, World, asks, effect, results, says, script, text_of};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidegate_builtins::{Answered, Asker, Question, ask_user};
use tidegate_message::{EventKind, QuestionEnd, ResultStatus, TurnStatus};
use tidegate_policy::{ApprovalId, Classification, Integrity};
use tidegate_runtime::{RuntimeError, TurnOptions, decide_approval};
use tidegate_store::{ApprovalState, BoxFuture};
use tidegate_tools::Tool;

/// Nobody is there, now.
struct Nobody;

impl Asker for Nobody {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answered> {
        Box::pin(std::future::ready(Answered::Later))
    }
}

struct AskUser(Arc<dyn Tool>);

impl Tool for AskUser {
    fn definition(&self) -> &tidegate_tools::ToolDefinition {
        self.0.definition()
    }

    fn prepare<'a>(
        &'a self,
        arguments: serde_json::Map<String, serde_json::Value>,
        context: &'a tidegate_tools::CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn tidegate_tools::PreparedCall>, tidegate_tools::ToolError>> {
        self.0.prepare(arguments, context)
    }
}

fn world() -> World {
    World::new().tool(AskUser(ask_user(Arc::new(Nobody))))
}

fn question() -> Line {
    asks([(
        "ask_user",
        json!({"question": "Which one?", "choices": ["the red", "the blue"]}),
    )])
}

async fn ends(world: &World) -> Vec<QuestionEnd> {
    let events = world.events().await;
    let ends = events.iter().filter_map(|event| match event.kind {
        EventKind::QuestionSettled { end, .. } => Some(end),
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn a_question_waits_and_its_answer_is_the_calls_result_with_the_owners_label() {
    for (answer, level, expected, label) in [
        (
            "the green",
            Classification::Public,
            "the green",
            (Classification::Public, Integrity::Trusted),
        ),
        (
            "the green",
            Classification::Confidential,
            "the green",
            (Classification::Confidential, Integrity::Trusted),
        ),
        (
            "2",
            Classification::Public,
            "the blue",
            (Classification::Public, Integrity::Trusted),
        ),
    ] {
        let world = world();
        let model = Actor::new("m", [question()]);
        let (session, report) = world.turn(&model).await;
        assert_eq!(report.status, TurnStatus::PendingQuestion);
        assert_eq!(report.question.as_deref(), Some("Which one?"));
        let [asked] = report.questions.as_slice() else {
            panic!("{report:?}")
        };
        assert_eq!(asked.choices, ["the red", "the blue"]);
        assert_eq!(session.questions().await.unwrap(), report.questions);
        drop(session);

        // Another process, which is not answered either at first.
        let model = Actor::new("m", [says("Done.")]);
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let again = session.resume(TurnOptions::default()).await.unwrap();
        assert_eq!(
            (again.status, &again.questions),
            (TurnStatus::PendingQuestion, &report.questions)
        );
        let options = TurnOptions {
            level,
            ..TurnOptions::default()
        };
        let report = session.answer(None, answer, options).await.unwrap();
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "Done.")
        );
        let results = results(&session);
        assert_eq!(results.len(), 1);
        assert_eq!(text_of(&results[0]), expected);
        assert_eq!(
            (results[0].label.classification, results[0].label.integrity),
            label,
            "{answer}"
        );
        assert_eq!(ends(&world).await, [QuestionEnd::Answered]);
        assert_eq!(world.states().await, [ApprovalState::Used]);
        let again = session.answer(None, answer, TurnOptions::default()).await;
        assert!(matches!(again, Err(RuntimeError::NoQuestion { .. })), "{again:?}");
    }
}

#[tokio::test]
async fn the_other_calls_of_its_message_run_and_approvals_come_first() {
    let (send, sent) = effect("send");
    let world = world().tool(send).approved(["send"]).waiting();
    let ask = asks([
        ("ask_user", json!({"question": "First?"})),
        ("send", json!({"text": "a"})),
        ("ask_user", json!({"question": "Second?"})),
    ]);
    let model = Actor::new("m", [ask]);
    let (mut session, report) = world.turn(&model).await;
    assert_eq!(report.status, TurnStatus::AwaitingApproval);
    assert_eq!(report.questions.len(), 2);
    assert_eq!(report.question.as_deref(), Some("First?"));
    decide_approval(&*world.store, report.approvals[0], true)
        .await
        .unwrap();

    let second = report.questions[1].id;
    let report = session
        .answer(Some(second), "2nd", TurnOptions::default())
        .await
        .unwrap();
    assert_eq!(report.status, TurnStatus::PendingQuestion, "{report:?}");
    assert_eq!(*sent.lock().unwrap(), ["a"]);
    let settled = session.answer(Some(second), "2nd", TurnOptions::default()).await;
    assert!(
        matches!(
            settled,
            Err(RuntimeError::QuestionSettled {
                state: ApprovalState::Used,
                ..
            })
        ),
        "{settled:?}"
    );
    drop(session);
    let model = Actor::new("m", [says("Done.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.answer(None, "1st", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::Success);
    let told: Vec<String> = results(&session).iter().map(text_of).collect();
    assert_eq!(told, ["1st", "done", "2nd"]);
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_question_that_expired_or_was_refused_is_answered_as_such() {
    for (refused, told, end) in [
        (true, "(the user does not want to answer;", QuestionEnd::Refused),
        (false, "(nobody answered in time;", QuestionEnd::Expired),
    ] {
        let mut world = world();
        let meddling = Meddling::store(Arc::clone(&world.store), None);
        world.store = meddling.clone();
        let model = Actor::new("m", [question()]);
        let (session, report) = world.turn(&model).await;
        drop(session);
        let id = report.questions[0].id;
        if refused {
            let granted = decide_approval(&*world.store, id, true).await;
            assert!(
                matches!(granted, Err(RuntimeError::IsQuestion { .. })),
                "{granted:?}"
            );
            decide_approval(&*world.store, id, false).await.unwrap();
        } else {
            meddling.meddler().expired.store(true, Ordering::SeqCst);
        }
        let model = Actor::new("m", [says("Done.")]);
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let late = session.answer(None, "the red", TurnOptions::default()).await;
        let Err(RuntimeError::QuestionSettled { question, .. }) = late else {
            panic!("{late:?}")
        };
        assert_eq!(question, id);
        let report = session.resume(TurnOptions::default()).await.unwrap();
        assert_eq!(report.status, TurnStatus::Success);
        let told_now = text_of(&results(&session)[0]);
        assert!(told_now.starts_with(told), "{told_now}");
        assert!(ends(&world).await.contains(&end));
    }
}

#[tokio::test]
async fn a_new_task_gives_the_question_up() {
    let world = world();
    let model = Actor::new("m", [question(), says("Other.")]);
    let mut session = world.session(&world.runtime(&model)).await;
    session.run("the task", TurnOptions::default()).await.unwrap();
    let report = session
        .run("something else", TurnOptions::default())
        .await
        .unwrap();
    assert_eq!(report.answer, "Other.");
    assert_eq!(results(&session)[0].status, ResultStatus::NotRun);
    assert_eq!(world.states().await, [ApprovalState::Expired]);
    assert_eq!(ends(&world).await, [QuestionEnd::GivenUp]);
}

/// The store fails at a commit, which happens or not, and the owner tries again on a good one until the turn is over.
async fn ends_well(fails: usize, happens: bool) -> bool {
    let mut world = world();
    let good = Arc::clone(&world.store);
    let meddling = Meddling::store(Arc::clone(&good), Some((fails, happens)));
    world.store = meddling.clone();
    let lines = || vec![question(), says("Done."), says("Done.")];
    {
        let runtime = world.runtime(&Actor::of("m", lines()));
        let request =
            tidegate_runtime::SessionRequest::new(tidegate_runtime::Which::Named("s".parse().unwrap()))
                .workspace(world.workspace());
        if let Ok(mut session) = runtime.session(request).await
            && let Ok(report) = session.run("the task", TurnOptions::default()).await
        {
            let asked: Option<ApprovalId> = report.questions.first().map(|question| question.id);
            let _ = session.answer(asked, "the green", TurnOptions::default()).await;
        }
    }
    let has_failed = failed(&meddling);
    world.store = good;
    let case = format!("commit {fails}, happens: {happens}");

    let mut report = None;
    for _ in 0..4 {
        let probe = world.runtime(&Actor::of("m", lines()));
        let session = world.session(&probe).await;
        let asked = session.transcript().last_assistant().is_some();
        let begun = !session.transcript().entries().is_empty();
        drop(session);
        let model = Actor::of(
            "m",
            if asked {
                vec![says("Done."), says("Done.")]
            } else {
                lines()
            },
        );
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let waits = !session.questions().await.unwrap().is_empty();
        let ended = match (begun, waits) {
            (false, _) => session.run("the task", TurnOptions::default()).await,
            (true, true) => session.answer(None, "the green", TurnOptions::default()).await,
            (true, false) => session.resume(TurnOptions::default()).await,
        };
        let ended = ended.unwrap_or_else(|error| panic!("{case}: {error}"));
        if ended.status == TurnStatus::Success {
            report = Some((ended, script(session.transcript().entries())));
            break;
        }
        assert_eq!(ended.status, TurnStatus::PendingQuestion, "{case}");
    }
    let (_, said) = report.unwrap_or_else(|| panic!("{case}: it never ended"));
    assert_eq!(
        said,
        [
            "user: the task",
            "calls: ask_user",
            "results: the green",
            "assistant: Done."
        ],
        "{case}"
    );
    assert_eq!(world.states().await, [ApprovalState::Used], "{case}");
    assert_eq!(ends(&world).await, [QuestionEnd::Answered], "{case}");
    has_failed
}

#[tokio::test]
async fn wherever_the_process_ends_the_answer_is_used_once() {
    for happens in [false, true] {
        let mut commit = 1;
        while ends_well(commit, happens).await {
            commit += 1;
        }
        assert!(commit > 5, "only {commit} commits were tried");
    }
}
