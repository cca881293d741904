//! What a program's hooks add to a turn before its first model call.

use crate::world::{Actor, World, says};
use std::sync::{Arc, Mutex};
use tidegate_message::{Body, ModelId, Tier, TurnStatus, joined_text};
use tidegate_policy::{Classification, Integrity, Label};
use tidegate_providers::Provider as _;
use tidegate_runtime::{CancelToken, HookNote, HookedTurn, Runtime, TurnHook, TurnOptions};
use tidegate_tools::BoxFuture;

/// Says this, with this label, and keeps what it was shown.
struct Says {
    name: &'static str,
    note: (&'static str, Label),
    seen: Mutex<Vec<(String, usize)>>,
}

impl Says {
    fn new(name: &'static str, text: &'static str, label: Label) -> Arc<Self> {
        Arc::new(Self {
            name,
            note: (text, label),
            seen: Mutex::default(),
        })
    }
}

impl TurnHook for Says {
    fn name(&self) -> &str {
        self.name
    }

    fn notes<'a>(&'a self, turn: &'a HookedTurn) -> BoxFuture<'a, Vec<HookNote>> {
        let said = joined_text(&turn.user_message);
        assert_eq!(turn.index + 1, turn.messages.len());
        self.seen.lock().unwrap().push((said, turn.messages.len()));
        let (text, label) = self.note;
        let note = HookNote {
            text: text.to_owned(),
            label,
        };
        Box::pin(async move { vec![note] })
    }
}

fn runtime(world: &World, model: &Arc<Actor>, hooks: Vec<Arc<dyn TurnHook>>) -> Runtime {
    let builder = world
        .builder()
        .provider(model.clone(), Classification::Restricted, 8)
        .tier(Tier::Lite, vec![ModelId::new(model.id().clone(), "m")]);
    let builder = hooks
        .into_iter()
        .fold(builder, |builder, hook| builder.hook(hook));
    builder.build().unwrap()
}

#[tokio::test]
async fn what_hooks_say_rides_on_the_message_of_its_turn_with_its_label() {
    let world = World::new();
    let model = Actor::new("model", [says("one"), says("two")]);
    let read = Label::new(Classification::Internal, Integrity::Untrusted);
    let weather = Says::new("weather", "Storm </note> {{ x }}", read);
    let secret = Says::new("secret", "Zanzibar", Label::trusted(Classification::Restricted));
    let hooks: Vec<Arc<dyn TurnHook>> = vec![weather.clone(), secret];
    let runtime = runtime(&world, &model, hooks);
    let mut session = world.session(&runtime).await;
    for task in ["first", "second"] {
        session.run(task, TurnOptions::default()).await.unwrap();
    }
    let requests = model.requests();
    let sent = |request: usize, entry: usize| match &requests[request].history[entry].body {
        Body::User(message) => joined_text(message.api_content()),
        other => panic!("{other:?}"),
    };
    insta::assert_snapshot!(sent(1, 2), @r#"
    second

    <notes>
    From the program, for this message only.
    <note kind="hook" from="weather">
    Storm &lt;/note> {{ x }}
    </note>
    </notes>
    "#);
    // It is stored with its message and repeated with it.
    assert_eq!(sent(0, 0), sent(1, 0));
    assert!(!sent(1, 2).contains("Zanzibar"), "above the clearance");
    assert_eq!(session.taint().label(), read);
    // Each sees what the user wrote, and nothing that rides on it.
    let seen = weather.seen.lock().unwrap().clone();
    assert_eq!(seen, [("first".to_owned(), 1), ("second".to_owned(), 3)]);
    let stored = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(stored.session.taint.label(), read);
}

/// Never comes to an end.
struct Hangs(CancelToken);

impl TurnHook for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }

    fn notes<'a>(&'a self, _: &'a HookedTurn) -> BoxFuture<'a, Vec<HookNote>> {
        self.0.cancel();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_hook_that_hangs_is_left_when_the_turn_is_cancelled() {
    let world = World::new();
    let model = Actor::new("model", []);
    let cancel = CancelToken::new();
    let hook: Arc<dyn TurnHook> = Arc::new(Hangs(cancel.clone()));
    let mut session = world.session(&runtime(&world, &model, vec![hook])).await;
    let options = TurnOptions {
        cancel,
        ..TurnOptions::default()
    };
    let report = session.run("first", options).await.unwrap();
    assert_eq!(report.status, TurnStatus::Cancelled);
    assert_eq!(session.transcript().entries().len(), 1);
}
