//! Labels on their way through a turn.

use crate::world::{Actor, Text, World, asks, line, results, says, text_of, tool};
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_message::{
    EventKind, ModelId, ModelPolicy, ProviderId, ReplyPart, ResultStatus, Tier, TurnStatus,
};
use tidegate_policy::{
    Classification, Integrity, Label, Origin, Resource, ResourceKind, ResourceRef, SinkLevel,
};
use tidegate_runtime::config::{SourceSettings, ToolSettings, UserSettings};
use tidegate_runtime::{Runtime, SessionRequest, TurnOptions, Which};
use tidegate_tools::TypedTool;

use Classification::{Confidential, Internal, Public, Restricted};

/// A tool whose results have this label.
fn source(name: &'static str, level: Classification) -> TypedTool<Text> {
    tool(name, |text| format!("read {text}")).source(Label::trusted(level))
}

/// A consequential tool that writes to a place of this level.
fn sink(name: &'static str, level: Classification) -> TypedTool<Text> {
    tool(name, |_| "written".into())
        .consequential(["text"])
        .source(Label::BOTTOM)
        .resources(move |_| {
            vec![Resource::Sink {
                what: ResourceRef {
                    kind: ResourceKind::Path,
                    name: "there".into(),
                },
                level: SinkLevel::Level(level),
            }]
        })
}

fn call(name: &str) -> (&str, Value) {
    (name, json!({ "text": "it" }))
}

fn statuses(session: &tidegate_runtime::Session) -> Vec<ResultStatus> {
    results(session).iter().map(|result| result.status).collect()
}

#[tokio::test]
async fn what_a_result_raises_is_stored_before_the_model_sees_it() {
    let world = World::new().tool(source("vault", Confidential));
    let store = Arc::clone(&world.store);
    let model = Actor::new(
        "model",
        [
            asks([call("vault")]),
            line(move |request| async move {
                assert_eq!(request.history.len(), 3);
                let record = store.session_named(&"s".parse().unwrap()).await.unwrap().unwrap();
                assert_eq!(record.session.taint.label(), Label::trusted(Confidential));
                let [step] = record.session.taint.lineage() else {
                    panic!("one step")
                };
                assert_eq!((step.turn, step.to), (1, Label::trusted(Confidential)));
                assert!(matches!(&step.origin, Origin::Tool { tool, .. } if tool.as_str() == "vault"));
                // And so is the result itself.
                let stored = store.entries(record.session.id).await.unwrap();
                assert_eq!(stored, *request.history);
                vec![ReplyPart::Text("done".into())]
            }),
        ],
    );
    let (session, report) = world.turn(&model).await;
    assert_eq!(
        (report.status, report.label),
        (TurnStatus::Success, Label::trusted(Confidential))
    );
    let answer = session.transcript().entries().last().unwrap();
    assert_eq!(
        answer.label,
        Label::trusted(Confidential),
        "what the model says then carries it"
    );
}

#[tokio::test]
async fn the_calls_of_a_message_are_judged_by_what_the_model_knew_when_it_wrote_them() {
    for first in [[call("vault"), call("post")], [call("post"), call("vault")]] {
        let world = World::new()
            .tool(source("vault", Confidential))
            .tool(sink("post", Public));
        let model = Actor::new("model", [asks(first.clone()), asks([call("post")]), says("done")]);
        let (session, _) = world.turn(&model).await;
        let expected = [ResultStatus::Ok, ResultStatus::Ok, ResultStatus::Refused];
        assert_eq!(statuses(&session), expected, "{first:?}");
        let told = text_of(&results(&session)[2]);
        assert!(told.contains("CONFIDENTIAL") && told.contains("PUBLIC"), "{told}");
        // Nor does the lineage depend on it.
        assert_eq!(session.taint().lineage().len(), 1);
    }
}

#[tokio::test]
async fn a_write_goes_up_and_never_down() {
    for (read, write, expected) in [
        (Public, Public, ResultStatus::Ok),
        (Public, Restricted, ResultStatus::Ok),
        (Internal, Internal, ResultStatus::Ok),
        (Internal, Public, ResultStatus::Refused),
        (Confidential, Internal, ResultStatus::Refused),
        (Confidential, Confidential, ResultStatus::Ok),
        (Restricted, Confidential, ResultStatus::Refused),
    ] {
        let world = World::new()
            .tool(source("vault", read))
            .tool(sink("post", write))
            .configured(|configuration| configuration.policy.clearance = Restricted);
        let model = Actor::new(
            "model",
            [asks([call("vault")]), asks([call("post")]), says("done")],
        );
        let (session, _) = world.turn(&model).await;
        assert_eq!(statuses(&session)[1], expected, "{read} to {write}");
    }
}

#[tokio::test]
async fn the_level_of_the_task_counts_like_anything_read() {
    for (level, expected) in [
        (Public, Some(ResultStatus::Ok)),
        (Internal, Some(ResultStatus::Refused)),
        (Confidential, Some(ResultStatus::Refused)),
        // Above the clearance: the turn does not even begin.
        (Restricted, None),
    ] {
        let world = World::new().tool(sink("post", Public));
        let model = Actor::new("model", [asks([call("post")]), says("done")]);
        let mut session = world.session(&world.runtime(&model)).await;
        let options = TurnOptions {
            level,
            ..TurnOptions::default()
        };
        let report = session.run("the task", options).await.unwrap();
        match expected {
            Some(expected) => assert_eq!(statuses(&session), [expected], "{level}"),
            None => {
                assert_eq!(report.status, TurnStatus::Blocked);
                let error = report.error.unwrap();
                assert!(
                    error.contains("RESTRICTED") && error.contains("CONFIDENTIAL"),
                    "{error}"
                );
                assert_eq!(model.requests().len(), 0);
                assert_eq!(session.transcript().entries().len(), 0);
                assert_eq!(session.interrupted(), None);
            }
        }
    }
}

#[tokio::test]
async fn a_result_above_the_clearance_is_withheld_and_leaves_no_trace() {
    // It declares its level itself, so that nothing is known before it has run.
    let secret = |_: &str| r#"{"_classification": "RESTRICTED", "x": "MARKER"}"#.to_owned();
    let world = World::new().tool(tool("vault", secret).source(Label::trusted(Public)));
    let model = Actor::new("model", [asks([call("vault")]), says("done")]);
    let (session, report) = world.turn(&model).await;
    assert_eq!(report.status, TurnStatus::Success);
    let [result] = &results(&session)[..] else {
        panic!("one result")
    };
    assert_eq!(result.status, ResultStatus::Withheld);
    assert_eq!(
        text_of(result),
        "The call ran. Its result was withheld: it is above what this session may read."
    );
    assert_eq!(
        (report.label, result.label),
        (Label::BOTTOM, Label::BOTTOM),
        "what was not read raises nothing"
    );
    let stored = serde_json::to_string(&world.events().await).unwrap();
    assert!(!stored.contains("MARKER"));
    assert_eq!(world.store.sources(session.id()).await.unwrap(), []);
}

#[tokio::test]
async fn a_result_may_raise_its_own_level_and_never_lower_it() {
    for (source, declared, expected) in [
        (Public, "\"INTERNAL\"", Some(Internal)),
        (Internal, "\"PUBLIC\"", Some(Internal)),
        (Internal, "\"CONFIDENTIAL\"", Some(Confidential)),
        (Confidential, "\"INTERNAL\"", Some(Confidential)),
        (Internal, "null", Some(Internal)),
        // What is no level counts as the highest.
        (Public, "\"SECRET\"", None),
        (Public, "2", None),
        (Public, "{\"level\": \"PUBLIC\"}", None),
    ] {
        let text = format!("{{\"_classification\": {declared}, \"x\": 1}}");
        let said = text.clone();
        let world = World::new().tool(tool("vault", move |_| said.clone()).source(Label::trusted(source)));
        let model = Actor::new("model", [asks([call("vault")]), says("done")]);
        let (session, report) = world.turn(&model).await;
        let [result] = &results(&session)[..] else {
            panic!("one result")
        };
        match expected {
            Some(level) => {
                assert_eq!(
                    (result.status, report.label),
                    (ResultStatus::Ok, Label::trusted(level)),
                    "{text}"
                );
            }
            None => {
                assert_eq!(
                    (result.status, report.label),
                    (ResultStatus::Withheld, Label::BOTTOM),
                    "{text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_untrusted_result_makes_the_session_untrusted() {
    let world = World::new().tool(tool("web", |_| "do as I say".into()));
    let model = Actor::new("model", [asks([call("web")]), says("done")]);
    let (session, report) = world.turn(&model).await;
    assert_eq!(report.label, Label::untrusted(Public));
    assert_eq!(
        session.transcript().entries()[1].label,
        Label::BOTTOM,
        "what was said before it is not"
    );
}

#[tokio::test]
async fn a_call_of_unknown_outcome_raises_the_taint_like_its_result_would() {
    let endless = TypedTool::new(
        "endless",
        "Does not end.",
        |_: Text, _: tidegate_tools::CallContext| {
            std::future::pending::<Result<String, tidegate_tools::ToolError>>()
        },
    )
    .consequential(["text"])
    .timeout(std::time::Duration::from_millis(1))
    .resources(|_| {
        vec![Resource::Source {
            what: ResourceRef {
                kind: ResourceKind::Path,
                name: "vault".into(),
            },
            label: Label::trusted(Confidential),
        }]
    });
    let world = World::new().tool(endless);
    let model = Actor::new("model", [asks([call("endless")]), says("done")]);
    let (session, report) = world.turn(&model).await;
    let [result] = &results(&session)[..] else {
        panic!("one result")
    };
    assert_eq!(result.status, ResultStatus::Unknown);
    assert!(
        result.label.is_within(report.label),
        "{} is not within {}",
        result.label,
        report.label
    );
}

#[tokio::test]
async fn the_configured_floor_and_source_of_a_tool_count() {
    let settings = |floor, source: Option<(Classification, Integrity)>| ToolSettings {
        floor,
        source: source.map(|(level, integrity)| SourceSettings { level, integrity }),
        ..ToolSettings::default()
    };
    for (configured, expected, label) in [
        (settings(None, None), ResultStatus::Ok, Label::trusted(Internal)),
        (
            settings(Some(Public), None),
            ResultStatus::Ok,
            Label::trusted(Internal),
        ),
        (
            settings(Some(Internal), None),
            ResultStatus::Refused,
            Label::BOTTOM,
        ),
        (
            settings(None, Some((Confidential, Integrity::Untrusted))),
            ResultStatus::Ok,
            Label::untrusted(Confidential),
        ),
        (
            settings(None, Some((Public, Integrity::Trusted))),
            ResultStatus::Ok,
            Label::BOTTOM,
        ),
        // Nothing of it may be read, so it is not even called.
        (
            settings(None, Some((Restricted, Integrity::Trusted))),
            ResultStatus::Refused,
            Label::BOTTOM,
        ),
    ] {
        let world = World::new()
            .tool(source("vault", Internal))
            .configured(|configuration| {
                configuration
                    .policy
                    .tools
                    .insert("vault".into(), configured.clone());
            });
        let model = Actor::new("model", [asks([call("vault")]), says("done")]);
        let (session, report) = world.turn(&model).await;
        assert_eq!(
            (statuses(&session)[0], report.label),
            (expected, label),
            "{configured:?}"
        );
    }
}

#[tokio::test]
async fn a_floor_is_reached_by_reading() {
    let world = World::new()
        .tool(source("vault", Confidential))
        .tool(tool("shred", |_| "shredded".into()).floor(Confidential));
    let model = Actor::new(
        "model",
        [
            asks([call("shred"), call("vault"), call("shred")]),
            asks([call("shred")]),
            says("done"),
        ],
    );
    let (session, _) = world.turn(&model).await;
    let refused = ResultStatus::Refused;
    // All calls of a message are judged by what the session held before it.
    assert_eq!(
        statuses(&session),
        [refused, ResultStatus::Ok, refused, ResultStatus::Ok]
    );
}

#[tokio::test]
async fn the_clearance_of_a_session_is_the_lowest_of_all_that_limit_it() {
    let provider = |name: &str, level| (Actor::new(name, []), level);
    for (configured, of_user, lite, flash, policy, expected) in [
        (
            Restricted,
            Some(Restricted),
            Restricted,
            Restricted,
            "auto",
            Restricted,
        ),
        (
            Confidential,
            Some(Restricted),
            Restricted,
            Restricted,
            "auto",
            Confidential,
        ),
        (
            Restricted,
            Some(Internal),
            Restricted,
            Restricted,
            "auto",
            Internal,
        ),
        (Restricted, None, Restricted, Restricted, "auto", Internal),
        (Restricted, Some(Restricted), Internal, Public, "auto", Internal),
        // The highest of the tiers it may come to use: a read is refused only if nobody could work with it.
        (
            Restricted,
            Some(Restricted),
            Public,
            Confidential,
            "auto",
            Confidential,
        ),
        (Restricted, Some(Restricted), Public, Confidential, "LITE", Public),
        (
            Restricted,
            Some(Restricted),
            Public,
            Confidential,
            "FLASH",
            Confidential,
        ),
        (
            Restricted,
            Some(Restricted),
            Public,
            Confidential,
            "low:m",
            Public,
        ),
        (
            Restricted,
            Some(Restricted),
            Public,
            Confidential,
            "high:m",
            Confidential,
        ),
        (Public, Some(Public), Public, Public, "auto", Public),
    ] {
        let world = World::new().configured(|configuration| {
            configuration.policy.clearance = configured;
            let settings = UserSettings {
                role: None,
                clearance: of_user,
            };
            configuration.users.0.insert("ann".into(), settings);
        });
        let mut builder = world.builder();
        for (tier, (actor, level)) in [
            (Tier::Lite, provider("low", lite)),
            (Tier::Flash, provider("high", flash)),
        ] {
            let model = ModelId::new(
                ProviderId::new(if tier == Tier::Lite { "low" } else { "high" }),
                "m",
            );
            builder = builder.provider(actor, level, 1).tier(tier, vec![model]);
        }
        let runtime: Runtime = builder.build().unwrap();
        let policy: ModelPolicy = policy.parse().unwrap();
        let mut request = SessionRequest::new(Which::New)
            .workspace(world.workspace())
            .model_policy(policy.clone());
        request.user = tidegate_policy::UserId::new("ann");
        let session = runtime.session(request).await.unwrap();
        assert_eq!(
            session.clearance(),
            expected,
            "configured {configured}, user {of_user:?}, providers {lite} and {flash}, {policy}"
        );
        let record = world.store.session(session.id()).await.unwrap().unwrap();
        assert_eq!(record.session.clearance, expected);
    }
}

#[tokio::test]
async fn an_answer_above_its_readers_clearance_is_held_back() {
    // The user's clearance fell after the session had read: what it holds must not reach them any more.
    let world = World::new()
        .tool(source("vault", Confidential))
        .configured(|configuration| {
            let settings = UserSettings {
                role: None,
                clearance: Some(Confidential),
            };
            configuration.users.0.insert("ann".into(), settings);
        });
    let model = Actor::new("model", [asks([call("vault")]), says("MARKER")]);
    let mut session = world.session_of(&world.runtime(&model), "ann").await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "MARKER")
    );
    drop(session);

    let world = world.configured(|configuration| {
        let settings = UserSettings {
            role: None,
            clearance: Some(Internal),
        };
        configuration.users.0.insert("ann".into(), settings);
    });
    let model = Actor::new("model", [says("MARKER again")]);
    let mut session = world.session_of(&world.runtime(&model), "ann").await;
    let report = session
        .run("Say it again.", TurnOptions::default())
        .await
        .unwrap();
    assert_eq!((report.status, report.answer.as_str()), (TurnStatus::Blocked, ""));
    let error = report.error.unwrap();
    assert!(
        error.contains("CONFIDENTIAL") && error.contains("INTERNAL"),
        "{error}"
    );
    // The same answer must not come by another way.
    let again = session.resume(TurnOptions::default()).await.unwrap();
    assert!(
        !again.answer.contains("MARKER"),
        "resuming gives what was held back"
    );
}

#[tokio::test]
async fn every_decision_is_an_event_and_every_step_up_is_one_too() {
    let world = World::new()
        .tool(source("vault", Internal))
        .tool(sink("post", Public));
    let model = Actor::new(
        "model",
        [asks([call("vault")]), asks([call("post")]), says("done")],
    );
    world.turn(&model).await;
    let mut judged = Vec::new();
    let mut raised = Vec::new();
    for event in world.events().await {
        match event.kind {
            EventKind::FlowJudged { tool, evaluation, .. } => {
                judged.push((
                    format!("{:?}", evaluation.flow),
                    tool.map(|tool| tool.to_string()),
                    evaluation.is_allowed(),
                ));
            }
            EventKind::TaintRaised { from, to, .. } => raised.push((from, to)),
            _ => {}
        }
    }
    let named = |tool: &str| Some(tool.to_owned());
    let expected = [
        ("Context", None, true),
        ("Model", None, true),
        ("ToolCall", named("vault"), true),
        ("Response", named("vault"), true),
        ("Model", None, true),
        ("ToolCall", named("post"), false),
        ("Model", None, true),
        ("Answer", None, true),
    ]
    .map(|(flow, tool, allowed)| (flow.to_owned(), tool, allowed));
    assert_eq!(judged, expected);
    assert_eq!(raised, [(Label::BOTTOM, Label::trusted(Internal))]);
}
