//! Each request begins with the bytes of the one before it.

use crate::world::World;
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{ModelId, ProviderId, Tier, TurnStatus};
use tidegate_policy::Classification;
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::{Runtime, TurnOptions};
use tidegate_store::{Durability, SqliteStore, Store};
use tidegate_testing::{FakeOpenAi, FakeReply, RecordedRequest, calls, prefix_of};

const TURNS: usize = 20;

/// In these turns the tier is switched: once alone, once back and with other calls. Between them lies the restart.
const SWITCHES: [usize; 2] = [6, 14];

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
        (2, 14) => calls([switch("LITE"), read]).into(),
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
    let server = FakeOpenAi::answering(reply).await.unwrap();
    let mut world = World::new().files([("a.txt", "alpha\n"), ("notes/0.md", "")]);
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
            let task = format!("Task {} ä", half * TURNS / 2 + turn);
            let report = session.run(task, TurnOptions::default()).await.unwrap();
            assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
        }
    }
    server.assert_complete();

    let requests = server.requests();
    assert_eq!(requests.len(), TURNS * 3 + SWITCHES.len());
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
