//! What reaches the model, and in which order.

use crate::world::{Actor, Text, World, asks, line, says, script, tool};
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{ModelId, ProviderId, ReplyPart, Tier, TurnStatus, UserMessage};
use tidegate_policy::Classification;
use tidegate_providers::{ModelRequest, Provider as _, encode_request};
use tidegate_runtime::{Session, SessionRequest, TurnOptions, Which};
use tidegate_tools::{CallContext, ToolError, TypedTool};
use tokio::sync::{Notify, mpsc};

/// A tool during whose work a person says something.
fn interrupting(consequential: bool) -> (World, mpsc::UnboundedReceiver<UserMessage>) {
    let (person, steering) = mpsc::unbounded_channel();
    let tool = tool("work", move |text| {
        person
            .send(UserMessage::person(format!("said at {text}")))
            .unwrap();
        format!("did {text}")
    });
    let tool = if consequential {
        tool.consequential(["text"])
    } else {
        tool
    };
    (World::new().tool(tool), steering)
}

#[tokio::test]
async fn what_a_person_says_while_tools_run_comes_after_all_results_and_before_the_next_model_call() {
    for consequential in [false, true] {
        let (world, steering) = interrupting(consequential);
        let expected = [
            "user: the task",
            "calls: work, work",
            "results: did one, did two",
            "user: said at one",
            "user: said at two",
        ];
        let work = |text: &str| ("work", json!({ "text": text }));
        let model = Actor::new(
            "model",
            [
                asks([work("one"), work("two")]),
                line(move |request| async move {
                    assert_eq!(script(&request.history), expected);
                    vec![ReplyPart::Text("heard".into())]
                }),
            ],
        );
        let mut session = world.session(&world.runtime(&model)).await;
        let options = TurnOptions {
            steering: Some(steering),
            ..TurnOptions::default()
        };
        let report = session.run("the task", options).await.unwrap();
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "heard")
        );
        model.done();

        // What was sent is what is stored.
        let stored = world.store.entries(session.id()).await.unwrap();
        let expected: Vec<&str> = expected.into_iter().chain(["assistant: heard"]).collect();
        assert_eq!(script(&stored), expected);
    }
}

#[tokio::test]
async fn what_a_person_says_while_the_model_answers_is_answered_in_the_same_turn() {
    let world = World::new();
    let (person, steering) = mpsc::unbounded_channel();
    let model = Actor::new(
        "model",
        [
            line(move |_| async move {
                person.send(UserMessage::person("and this?")).unwrap();
                vec![ReplyPart::Text("the first answer".into())]
            }),
            line(|request| async move {
                let expected = ["user: the task", "assistant: the first answer", "user: and this?"];
                assert_eq!(script(&request.history), expected);
                vec![ReplyPart::Text("both answers".into())]
            }),
        ],
    );
    let mut session = world.session(&world.runtime(&model)).await;
    let options = TurnOptions {
        steering: Some(steering),
        ..TurnOptions::default()
    };
    let report = session.run("the task", options).await.unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "both answers")
    );
    model.done();
}

#[tokio::test]
async fn an_empty_result_is_told_as_one() {
    let world = World::new().tool(tool("quiet", |_| String::new()));
    let model = Actor::new("model", [asks([("quiet", json!({ "text": "" }))]), says("done")]);
    let (_, report) = world.turn(&model).await;
    assert_eq!(report.status, TurnStatus::Success);
    let request = &model.requests()[1];
    let body = encode_request(&ProviderId::new("model"), request);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let result = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&result["role"], &result["content"]),
        (&"tool".into(), &"(empty result)".into())
    );
}

#[tokio::test]
async fn calls_are_answered_in_the_order_asked_whichever_ends_first() {
    // The first waits for the second: they run together.
    let second_began = Arc::new(Notify::new());
    let began = Arc::clone(&second_began);
    let first = TypedTool::new(
        "first",
        "Waits for the second.",
        move |_: Text, _: CallContext| {
            let began = Arc::clone(&began);
            async move {
                began.notified().await;
                Ok::<_, ToolError>("one")
            }
        },
    );
    let second = tool("second", move |_| {
        second_began.notify_one();
        "two".into()
    });
    let world = World::new().tool(first).tool(second);
    let text = || json!({ "text": "" });
    let model = Actor::new(
        "model",
        [asks([("first", text()), ("second", text())]), says("done")],
    );
    let (session, _) = world.turn(&model).await;
    assert_eq!(
        script(session.transcript().entries()),
        [
            "user: the task",
            "calls: first, second",
            "results: one, two",
            "assistant: done"
        ]
    );
}

#[tokio::test]
async fn a_tier_switch_takes_history_and_plan_to_the_other_model_alone_or_beside_other_calls() {
    for beside in [false, true] {
        let world = World::new().tool(tool("look", |_| "seen".into()));
        let plan = json!({ "target_model": "FLASH", "transfer_plan": "Look once more." });
        let switch = ("new_cognitive_level", plan);
        let first = if beside {
            asks([switch, ("look", json!({ "text": "" }))])
        } else {
            asks([switch])
        };
        let small = Actor::new("small", [first]);
        let large = Actor::new("large", [says("done")]);
        let model = |actor: &Arc<Actor>| vec![ModelId::new(actor.id().clone(), "m")];
        let runtime = world
            .builder()
            .provider(small.clone(), Classification::Restricted, 1)
            .provider(large.clone(), Classification::Restricted, 1)
            .tier(Tier::Lite, model(&small))
            .tier(Tier::Flash, model(&large))
            .build()
            .unwrap();
        let mut session = world.session(&runtime).await;
        let report = session.run("the task", TurnOptions::default()).await.unwrap();
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "done")
        );
        small.done();
        large.done();
        let request = &large.requests()[0];
        let (calls, results) = if beside {
            (
                "calls: new_cognitive_level, look",
                "results: Look once more., seen",
            )
        } else {
            ("calls: new_cognitive_level", "results: Look once more.")
        };
        assert_eq!(script(&request.history), ["user: the task", calls, results]);
        // Each model may switch to what it is not.
        let offered = |request: &ModelRequest| {
            let spec = request
                .tools
                .specs()
                .iter()
                .find(|spec| spec.name.as_str() == "new_cognitive_level");
            spec.unwrap().input_schema["properties"]["target_model"]["enum"].clone()
        };
        assert_eq!(offered(&small.requests()[0]), json!(["FLASH"]));
        assert_eq!(offered(request), json!(["LITE"]));
        let names = world.event_names().await;
        assert_eq!(names.iter().filter(|name| **name == "tier.switched").count(), 1);
    }
}

#[tokio::test]
async fn a_session_goes_on_at_the_tier_it_had_come_to_also_when_it_is_opened_again() {
    let world = World::new();
    let plan = json!({ "target_model": "FLASH", "transfer_plan": "Go on." });
    let small = Actor::new("small", [asks([("new_cognitive_level", plan)]), says("fixed")]);
    let large = Actor::new("large", [says("first"), says("second"), says("third")]);
    let model = |actor: &Arc<Actor>| vec![ModelId::new(actor.id().clone(), "m")];
    let runtime = world
        .builder()
        .provider(small.clone(), Classification::Restricted, 1)
        .provider(large.clone(), Classification::Restricted, 1)
        .tier(Tier::Lite, model(&small))
        .tier(Tier::Flash, model(&large))
        .build()
        .unwrap();
    let run = async |session: &mut Session| {
        let report = session.run("a task", TurnOptions::default()).await.unwrap();
        report.answer
    };
    let mut session = world.session(&runtime).await;
    assert_eq!(run(&mut session).await, "first");
    assert_eq!(run(&mut session).await, "second");
    drop(session);
    assert_eq!(run(&mut world.session(&runtime).await).await, "third");
    // A policy that does not let it get there counts more.
    let request = SessionRequest::new(Which::Named("s".parse().unwrap()))
        .workspace(world.workspace())
        .model_policy("LITE".parse().unwrap());
    let mut session = runtime.session(request).await.unwrap();
    assert_eq!(run(&mut session).await, "fixed");
    small.done();
    large.done();
}
