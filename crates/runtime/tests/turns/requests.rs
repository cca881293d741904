//! What a model was sent is put together again from what is stored, byte for byte.

use crate::world::{Actor, World, says, tool};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{Author, Content, Data, EventKind, ModelId, ProviderId, Tier, UserMessage};
use tidegate_policy::{Classification, UserId};
use tidegate_prompt::{Note, NoteKind};
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::config::{ModelSettings, UserSettings};
use tidegate_runtime::{RequestPlace, Runtime, RuntimeError, TurnOptions, Wire};
use tidegate_store::{Durability, SqliteStore, Store};
use tidegate_testing::{FakeOpenAi, FakeReply, RecordedRequest, calls};

/// A turn that never ends by itself, so that its last request may only be answered.
const ENDLESS: usize = 5;
/// A turn whose first request fails once.
const FAILS: usize = 7;
/// A turn that goes to another tier.
const SWITCHES: usize = 3;

fn reply(request: &RecordedRequest, tries: usize) -> FakeReply {
    let text = request.json.to_string();
    if request.json["tool_choice"] == "none" {
        return FakeReply::text("That is all.");
    }
    let messages = request.messages();
    let last_user = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .unwrap();
    let said = messages.len() - last_user - 1;
    let is_turn = |turn: usize| messages[last_user].to_string().contains(&format!("Task {turn} "));
    let look = ("look", json!({ "text": format!("{} {said}", text.len()) }));
    match said {
        0 if is_turn(FAILS) && tries == 0 => {
            FakeReply::error(503, "overloaded", "not now").with_header("retry-after", "0")
        }
        0 => calls([look.clone(), look]).with_text("I look.").into(),
        _ if is_turn(ENDLESS) => calls([look]).into(),
        3 if is_turn(SWITCHES) => calls([(
            "new_cognitive_level",
            json!({ "target_model": "FLASH", "transfer_plan": "Go on." }),
        )])
        .into(),
        _ => FakeReply::text("word ".repeat(200)),
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

/// What happened to every model call, in order: turn, round, try.
async fn places(world: &World) -> Vec<RequestPlace> {
    let (mut turns, mut tries) = (Vec::new(), BTreeMap::new());
    let mut places = Vec::new();
    for event in world.events().await {
        let EventKind::ModelCalled { round, .. } = event.kind else {
            continue;
        };
        let turn_id = event.turn.unwrap();
        if !turns.contains(&turn_id) {
            turns.push(turn_id);
        }
        let attempt = tries.entry((turn_id, round)).or_insert(0);
        *attempt += 1;
        places.push(RequestPlace {
            turn: u32::try_from(turns.len()).unwrap(),
            round,
            attempt: *attempt,
        });
    }
    places
}

#[tokio::test]
async fn every_request_of_a_long_session_is_put_together_again_byte_for_byte() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let server = FakeOpenAi::answering(move |request| {
        let is_failing = request.json.to_string().contains(&format!("Task {FAILS} "));
        let tries = if is_failing {
            tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
        } else {
            0
        };
        reply(request, tries)
    })
    .await
    .unwrap();
    let window = ModelSettings {
        context_window: Some(4_000),
        ..ModelSettings::default()
    };
    let mut world = World::new()
        .tool(tool("look", |text| format!("{text} ü\n").repeat(30)))
        .configured(|configuration| {
            for model in ["fake:small", "fake:large"] {
                configuration.models.insert(model.into(), window.clone());
            }
            configuration.prompt.protect_last = 4;
            configuration.agent.max_rounds = 4;
        });
    let open = |world: &World| -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(world.path().join("tidegate.db"), Durability::Process).unwrap())
    };
    for half in 0..2 {
        // A restart, with one more tool.
        world.store = open(&world);
        if half == 1 {
            world = world.tool(tool("added", |_| String::new()));
        }
        let runtime = runtime(&world, &server.base_url());
        let mut session = world.session(&runtime).await;
        for turn in 0..7 {
            let number = half * 7 + turn;
            let mut content = vec![Content::text(format!("Task {number} \u{202e} \"ä\""))];
            if number % 4 == 1 {
                let text = format!("Note {number}");
                session
                    .leave_note(Note::plain(NoteKind::Nudge { text }))
                    .await
                    .unwrap();
            }
            if number % 5 == 2 {
                content.push(Content::Image {
                    media_type: "image/png".into(),
                    data: Data::from_base64(format!("iVBORw0KGgo{number:05}")),
                });
            }
            let message = UserMessage::new(Author::Person, content);
            session
                .run_message(message, TurnOptions::default())
                .await
                .unwrap();
        }
        if half == 1 {
            session.compact(TurnOptions::default()).await.unwrap();
        }
    }
    assert_eq!(server.violations(), []);

    let names = world.event_names().await;
    let count = |name: &str| names.iter().filter(|known| **known == name).count();
    // What the session is for.
    assert!(count("compaction.finished") >= 3, "{names:?}");
    assert_eq!((count("model.retried"), count("tier.switched")), (1, 1));
    assert_eq!(count("turn.limited"), 1);

    // By a runtime that knows of no model any more.
    let known = world.builder().build().unwrap();
    let sent = server.requests();
    let places = places(&world).await;
    assert_eq!(places.len(), sent.len());
    let reader = UserId::new("local");
    for (place, sent) in places.into_iter().zip(sent) {
        let shown = known.sent_request("s", place, &reader).await.unwrap();
        assert_eq!(shown.doubt, None, "{place:?}");
        assert_eq!(shown.body.text, String::from_utf8_lossy(&sent.body), "{place:?}");
        assert_eq!(shown.bytes, u64::try_from(sent.body.len()).unwrap());
        assert!(shown.body.is_unchanged());
    }
    let prompt = known.system_prompt("s", &reader).await.unwrap();
    assert_eq!(prompt.text, server.requests()[0].messages()[0]["content"]);

    for (place, expected) in [
        (RequestPlace::first_of(0), "no turn 0; it has 14"),
        (RequestPlace::first_of(15), "no turn 15; it has 14"),
        (
            RequestPlace {
                round: 9,
                ..RequestPlace::first_of(1)
            },
            "there are: round 1 once, round 2 once",
        ),
        (
            RequestPlace {
                attempt: 3,
                ..RequestPlace::first_of(8)
            },
            "round 1 2 times",
        ),
    ] {
        let error = known.sent_request("s", place, &reader).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn the_form_is_that_of_the_provider() {
    let world = World::new();
    let model = Actor::new("model", [says("hello")]);
    world.turn(&model).await;
    let place = RequestPlace::first_of(1);
    let reader = UserId::new("local");
    // A provider without a wire: its model is played.
    let played = world
        .runtime(&model)
        .sent_request("s", place, &reader)
        .await
        .unwrap();
    assert_eq!(played.wire, Wire::None);
    let server = FakeOpenAi::answering(|_| FakeReply::text("hello")).await.unwrap();
    let other = World::new();
    let runtime = runtime(&other, &server.base_url());
    let mut session = other.session(&runtime).await;
    session.run("the task", TurnOptions::default()).await.unwrap();
    let own = runtime.sent_request("s", place, &reader).await.unwrap();
    assert_eq!(own.wire, Wire::Own);
    assert_eq!(own.body.text, String::from_utf8_lossy(&server.requests()[0].body));
    // Of the same conversation, but for the names of the models.
    let generic = |text: &str| text.replace("\"small\"", "\"m\"");
    assert_eq!(generic(&own.body.text), generic(&played.body.text));
}

#[tokio::test]
async fn nobody_is_shown_what_they_may_not_read_nor_what_a_secret_is() {
    let mut world = World::new().files([("confidential/plan.md", "Zanzibar")]);
    let model = Actor::new(
        "model",
        [
            crate::world::asks([("read_file", json!({ "path": "confidential/plan.md" }))]),
            says("hunter2-the-password"),
            says("ok"),
        ],
    );
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    for task in ["the task", "and now"] {
        session.run(task, TurnOptions::default()).await.unwrap();
    }
    let reader = UserId::new("local");
    let place = RequestPlace::first_of(2);

    let mut secrets = tidegate_policy::SecretValues::default();
    secrets
        .insert("door".parse().unwrap(), "hunter2-the-password".to_owned().into())
        .unwrap();
    let showing = world.builder().secret_values(secrets).build().unwrap();
    let shown = showing.sent_request("s", place, &reader).await.unwrap();
    assert!(shown.body.text.contains("Zanzibar"), "{}", shown.body.text);
    assert!(shown.body.text.contains("[SECRET:door]"), "{}", shown.body.text);
    assert!(!shown.body.text.contains("hunter2"), "{}", shown.body.text);
    assert!(!shown.body.is_unchanged());

    let low = UserSettings {
        clearance: Some(Classification::Internal),
        ..UserSettings::default()
    };
    world = world.configured(|configuration| {
        configuration.users.0.insert("local".into(), low);
    });
    let showing = world.builder().build().unwrap();
    let refused = [
        showing.sent_request("s", place, &reader).await.map(drop),
        showing
            .sent_request("s", RequestPlace::first_of(77), &reader)
            .await
            .map(drop),
        showing.system_prompt("s", &reader).await.map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, RuntimeError::AboveReader { .. }), "{error}");
        let told = error.to_string();
        assert!(
            told.contains("CONFIDENTIAL") && told.contains("INTERNAL"),
            "{told}"
        );
        for content in ["Zanzibar", "plan.md", "turn", "task"] {
            assert!(!told.contains(content), "{told}");
        }
    }
    let stranger = showing
        .system_prompt("s", &UserId::new("stranger"))
        .await
        .unwrap_err();
    assert!(matches!(stranger, RuntimeError::UnknownUser { .. }), "{stranger}");
}
