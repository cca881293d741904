//! What events tell, and what they do not.

use crate::world::{Actor, World, asks, asks_raw, effect, line, says, tool};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tidegate_message::{Event, EventKind, ReplyPart, TurnStatus, UserMessage};
use tidegate_policy::Label;
use tidegate_runtime::{Signal, TurnOptions};
use tidegate_tools::{ToolError, TypedTool};
use tokio::sync::mpsc;

#[tokio::test]
async fn events_are_told_in_order_as_they_are_stored_and_show_the_course_of_a_turn() {
    let (write, _) = effect("write");
    let world = World::new().tool(write).tool(tool("look", |_| "seen".into()));
    let text = || json!({ "text": "" });
    let model = Actor::new(
        "model",
        [asks([("look", text()), ("write", text())]), says("done")],
    );
    let runtime = world.runtime(&model);
    let mut bus = runtime.events().subscribe();
    let mut session = world.session(&runtime).await;
    let shown = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&shown);
    let observer = move |signal: Signal| {
        if let Signal::Event(event) = signal {
            record.lock().unwrap().push(Event::clone(&event));
        }
    };
    let options = TurnOptions {
        observer: Some(&observer),
        ..TurnOptions::default()
    };
    session.run("the task", options).await.unwrap();

    let stored = world.events().await;
    let mut told = Vec::new();
    while let Ok(event) = bus.try_recv() {
        told.push(Event::clone(&event));
    }
    assert_eq!(told, stored, "the bus tells of all");
    assert_eq!(
        *shown.lock().unwrap(),
        stored[1..],
        "the observer is told of all of its turn"
    );
    let names: Vec<&str> = stored.iter().map(|event| event.kind.name()).collect();
    assert_eq!(
        names,
        [
            "session.created",
            "turn.started",
            "flow.judged", // the task
            "flow.judged", // the model
            "model.called",
            "model.replied",
            "flow.judged", // look
            "tool.started",
            "flow.judged", // its result
            "tool.finished",
            "flow.judged", // write
            "tool.started",
            "flow.judged", // its result
            "tool.finished",
            "taint.raised",
            "flow.judged", // the model
            "model.called",
            "model.replied",
            "flow.judged", // the answer
            "turn.finished",
        ]
    );
    let turns = stored.iter().filter(|event| event.turn.is_some()).count();
    assert_eq!(
        turns,
        stored.len() - 1,
        "all but the session's beginning belong to the turn"
    );
}

#[tokio::test]
async fn no_event_holds_what_was_said() {
    const MARKER: &str = "xyzzy";
    let say = |what: &str| format!("{what} {MARKER}");
    let text = |what: &str| json!({ "text": say(what) });
    let (write, _) = effect("write");
    let failing = TypedTool::new(
        "failing",
        "Fails.",
        move |_: crate::world::Text, _: tidegate_tools::CallContext| async {
            Err::<String, _>(ToolError::new(format!("failed over {MARKER}")))
        },
    );
    let world = World::new()
        .tool(write)
        .tool(failing)
        .tool(tool("look", move |_| format!("seen {MARKER}")))
        .tool(tool("long", move |_| MARKER.repeat(500)))
        .tool(tool("vault", move |_| {
            format!("{{\"_classification\": \"{MARKER}\"}}")
        }))
        .files([("a.txt", "line of xyzzy\n")])
        .configured(|configuration| configuration.agent.max_output_chars = 200);
    let (person, steering) = mpsc::unbounded_channel();
    person.send(UserMessage::person(say("steering"))).unwrap();
    let plan = json!({ "target_model": "FLASH", "transfer_plan": say("plan") });
    let model = Actor::new(
        "model",
        [
            asks([
                ("look", text("read")),
                ("long", text("read")),
                ("failing", text("read")),
                ("vault", text("read")),
                ("write", text("write")),
                ("read_file", json!({ "path": "a.txt" })),
                (
                    "edit_file",
                    json!({ "path": "a.txt", "old_text": MARKER, "new_text": say("new") }),
                ),
                ("write_file", json!({ "path": "b.txt", "content": say("new") })),
                ("search_files", json!({ "pattern": "line" })),
            ]),
            // Arguments that fit nothing.
            asks([
                ("look", json!({ "text": 5, "more": say("more") })),
                ("look", json!(say("no object"))),
            ]),
            asks_raw("look", &format!("{{\"text\": \"{}", say("half"))),
            asks([("new_cognitive_level", plan), ("look", text("read"))]),
            line(move |_| async move {
                vec![
                    ReplyPart::Reasoning(say("thinking")),
                    ReplyPart::Text(say("answer")),
                ]
            }),
        ],
    );
    let mut session = world.session(&world.runtime(&model)).await;
    let options = TurnOptions {
        steering: Some(steering),
        ..TurnOptions::default()
    };
    let report = session.run(say("task"), options).await.unwrap();
    assert_eq!(
        (report.status, report.answer),
        (TurnStatus::Success, say("answer"))
    );
    model.done();

    let entries = world.store.entries(session.id()).await.unwrap();
    let said = serde_json::to_string(&entries).unwrap();
    assert!(said.matches(MARKER).count() > 20, "the transcript holds it all");
    for event in world.events().await {
        let json = serde_json::to_string(&event).unwrap();
        assert!(!json.contains(MARKER), "{json}");
    }
}

#[tokio::test]
async fn an_event_carries_the_label_of_what_it_tells() {
    use tidegate_policy::Classification::Confidential;
    let world = World::new().tool(tool("vault", |_| "a secret".into()).source(Label::trusted(Confidential)));
    let model = Actor::new("model", [asks([("vault", json!({ "text": "" }))]), says("done")]);
    world.turn(&model).await;
    let events = world.events().await;
    let label_of = |name: &str| {
        events
            .iter()
            .find(|event| event.kind.name() == name)
            .unwrap()
            .label
    };
    assert_eq!(label_of("turn.started"), Label::BOTTOM);
    assert_eq!(label_of("tool.finished"), Label::trusted(Confidential));
    assert_eq!(label_of("turn.finished"), Label::trusted(Confidential));
    let called: Vec<Label> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::ModelCalled { .. }))
        .map(|event| event.label)
        .collect();
    assert_eq!(called, [Label::BOTTOM, Label::trusted(Confidential)]);
}
