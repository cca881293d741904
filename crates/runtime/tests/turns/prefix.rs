//! Each request begins with the bytes of the one before it.

use crate::world::{Actor, World, says, tool};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_message::{
    Author, BreakCause, BrokenPart, Content, Data, EventKind, ModelId, ProviderId, Tier, TurnStatus,
    UserMessage,
};
use tidegate_policy::Classification;
use tidegate_prompt::{Note, NoteKind};
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::config::IntegrityTest;
use tidegate_runtime::{Runtime, TurnOptions};
use tidegate_store::{Durability, SqliteStore, Store};
use tidegate_testing::{FakeOpenAi, FakeReply, RecordedRequest, calls, prefix_of};

const TURNS: usize = 50;

/// In these turns the tier is switched: once alone, once back and with other calls. Between them lies the restart.
const SWITCHES: [usize; 2] = [6, 34];

/// In this turn a request fails for good, and the turn is resumed.
const FAILS: usize = 40;

/// What the model says: each turn has two rounds of calls, and those with a switch one more.
fn reply(request: &RecordedRequest) -> FakeReply {
    let messages = request.messages();
    let last_user = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .unwrap();
    let turn = messages
        .iter()
        .filter(|message| message["role"] == "user")
        .count()
        - 1;
    let said = messages[last_user..]
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count();
    let read = ("read_file", json!({ "path": "a.txt" }));
    let write = (
        "write_file",
        json!({ "path": format!("notes/{turn}.md"), "content": "ü \"quoted\"\n" }),
    );
    let switch = |to: &str| {
        let plan = json!({ "target_model": to, "transfer_plan": "Go on." });
        ("new_cognitive_level", plan)
    };
    match (said, turn) {
        (0, _) => calls([read, ("list_files", json!({ "path": "notes" }))])
            .with_text("I look first.")
            .into(),
        (1, _) => FakeReply::from(calls([write]).with_reasoning("thinking about it")),
        (2, 6) => calls([switch("FLASH")]).into(),
        (2, 34) => calls([switch("LITE"), read]).into(),
        _ => FakeReply::text(format!("Turn {turn} is done.")),
    }
}

fn runtime(world: &World, base_url: &str) -> Runtime {
    let id = ProviderId::new("fake");
    let provider = OpenAi::new(OpenAiConfig::new(id.clone(), base_url.parse().unwrap()));
    world
        .builder()
        .provider(Arc::new(provider), Classification::Restricted, 1)
        .tier(Tier::Lite, vec![ModelId::new(id.clone(), "small")])
        .tier(Tier::Flash, vec![ModelId::new(id, "large")])
        .build()
        .unwrap()
}

#[tokio::test]
async fn every_request_begins_with_the_bytes_of_the_one_before_it_also_after_a_restart() {
    let fails = AtomicBool::new(true);
    let server = FakeOpenAi::answering(move |request| {
        // In the middle of its turn, after the first results.
        let is_there = request.messages().last().unwrap()["role"] == "tool"
            && request
                .messages()
                .iter()
                .filter(|message| message["role"] == "user")
                .count()
                == FAILS + 1;
        if is_there && fails.swap(false, Ordering::SeqCst) {
            return FakeReply::error(400, "invalid_request_error", "not now");
        }
        reply(request)
    })
    .await
    .unwrap();
    // A project file that nobody approved rides on the first message as recalled text.
    let mut world = World::new()
        .files([
            ("a.txt", "alpha\n"),
            ("notes/0.md", ""),
            ("AGENTS.md", "Metric </memory> units.\n"),
        ])
        .configured(|configuration| configuration.policy.integrity = IntegrityTest::Off);
    let open = |world: &World| -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(world.path().join("tidegate.db"), Durability::Process).unwrap())
    };
    world.store = open(&world);
    for half in 0..2 {
        if half == 1 {
            // A restart: nothing but the file is left.
            world.store = open(&world);
        }
        let runtime = runtime(&world, &server.base_url());
        let mut session = world.session(&runtime).await;
        for turn in 0..TURNS / 2 {
            let number = half * TURNS / 2 + turn;
            let mut content = vec![Content::text(format!("Task {number} ä"))];
            if number % 5 == 3 {
                let text = format!("Note {number} </note>");
                let note = Note::plain(NoteKind::Nudge { text });
                session.leave_note(note).await.unwrap();
            }
            if number % 7 == 2 {
                content.push(Content::Image {
                    media_type: "image/png".into(),
                    data: Data::from_base64(format!("iVBORw0KGgo{number:05}")),
                });
            }
            let message = UserMessage::new(Author::Person, content);
            let mut report = session
                .run_message(message, TurnOptions::default())
                .await
                .unwrap();
            if number == FAILS {
                assert_eq!(report.status, TurnStatus::Error);
                // Another process takes it up.
                drop(session);
                session = world.session(&runtime).await;
                report = session.resume(TurnOptions::default()).await.unwrap();
            }
            assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
        }
    }
    server.assert_complete();

    let requests = server.requests();
    assert_eq!(requests.len(), TURNS * 3 + SWITCHES.len() + 1);
    let first = requests[0].messages()[1].to_string();
    assert!(first.contains("<recalled-memory>"), "{first}");
    let mut breaks = Vec::new();
    for pair in requests.windows(2) {
        let [before, after] = pair else {
            panic!("two requests")
        };
        match prefix_of(&before.body, &after.body) {
            Ok(()) => {}
            Err(_) if before.json["model"] != after.json["model"] => breaks.push(after.json["model"].clone()),
            Err(error) => panic!("{error}"),
        }
    }
    // There and back again: the turns between, and the restart, stay where the first switch led.
    assert_eq!(breaks, ["large", "small"]);
    // The events say the same.
    let told: Vec<(BreakCause, BrokenPart)> = world
        .events()
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::PrefixBreak {
                cause, part, tokens, ..
            } => {
                assert!(tokens > 0);
                Some((cause, part))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [(BreakCause::ModelSwitch, BrokenPart::Model); 2]);
    // Even then the messages go on where they were; only the tools differ, by what can be switched to.
    for pair in requests.windows(2) {
        let (before, after) = (pair[0].messages(), pair[1].messages());
        assert!(after.starts_with(before));
    }
    // Coming back to a tier finds what its provider has cached.
    for model in ["small", "large"] {
        let of_tier: Vec<&RecordedRequest> = requests
            .iter()
            .filter(|request| request.json["model"] == model)
            .collect();
        for pair in of_tier.windows(2) {
            prefix_of(&pair[0].body, &pair[1].body).unwrap();
        }
    }
}

#[tokio::test]
async fn compaction_a_new_tool_and_another_model_are_told_as_what_they_are() {
    let window = tidegate_runtime::config::ModelSettings {
        context_window: Some(6_000),
        ..Default::default()
    };
    let mut world = World::new()
        .tool(tool("b_tool", |_| String::new()))
        .configured(|configuration| {
            configuration.models.insert("model:m".into(), window);
            configuration.prompt.protect_last = 4;
        });
    let causes = async |world: &World| -> Vec<BreakCause> {
        let events = world.events().await.into_iter();
        events
            .filter_map(|event| match event.kind {
                EventKind::PrefixBreak { cause, .. } => Some(cause),
                _ => None,
            })
            .collect()
    };
    let model = Actor::of(
        "model",
        (0..20).map(|_| says(&"an answer ".repeat(150))).collect(),
    );
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let mut turns = 0;
    while causes(&world).await.is_empty() {
        let task = format!("task {turns} {}", "words ".repeat(300));
        session.run(task, TurnOptions::default()).await.unwrap();
        turns += 1;
        assert!(turns < 20);
    }
    assert_eq!(causes(&world).await, [BreakCause::Compaction]);
    drop(session);

    // A tool that sorts before the other one is appended all the same.
    world = world.tool(tool("a_tool", |_| String::new()));
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    session.run("short", TurnOptions::default()).await.unwrap();
    assert_eq!(
        causes(&world).await,
        [BreakCause::Compaction, BreakCause::AppendedTool]
    );
    drop(session);

    let other = Actor::new("other", [says("hello")]);
    let mut session = world.session(&world.runtime(&other)).await;
    session.run("short", TurnOptions::default()).await.unwrap();
    assert_eq!(causes(&world).await.last(), Some(&BreakCause::ModelSwitch));
}

#[tokio::test]
async fn tools_registered_in_any_order_are_sent_in_the_same_bytes() {
    const NAMES: [&str; 6] = ["zeta", "alpha", "Beta", "alpha_2", "a", "mid-dle"];
    let mut first = None;
    for shift in 0..NAMES.len() {
        for turned in [false, true] {
            let mut names = NAMES;
            names.rotate_left(shift);
            if turned {
                names.reverse();
            }
            let server = FakeOpenAi::answering(|request| match request.assistant_messages() {
                0 => calls([
                    ("alpha", json!({ "text": "x" })),
                    ("zeta", json!({ "text": "y" })),
                ])
                .into(),
                _ => FakeReply::text("done"),
            })
            .await
            .unwrap();
            let world = names
                .into_iter()
                .fold(World::new(), |world, name| world.tool(tool(name, str::to_owned)));
            let runtime = runtime(&world, &server.base_url());
            let mut session = world.session(&runtime).await;
            for task in ["one", "two"] {
                session.run(task, TurnOptions::default()).await.unwrap();
            }
            server.assert_complete();
            let bodies: Vec<_> = server
                .requests()
                .into_iter()
                .map(|request| request.body)
                .collect();
            assert_eq!(bodies.len(), 3);
            let expected = first.get_or_insert_with(|| bodies.clone());
            assert_eq!(*expected, bodies, "{names:?}");
        }
    }
}
