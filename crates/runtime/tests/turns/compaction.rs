//! Long conversations become shorter, and nothing of them is lost.

use crate::world::{Actor, Line, World, says};
use futures::{FutureExt as _, StreamExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_message::{
    Author, Body, CompactionTrigger, EventKind, ModelId, ProviderId, SummaryBy, Tier, TurnStatus, joined_text,
};
use tidegate_policy::{Classification, Label};
use tidegate_providers::{ErrorClass, ModelRequest, Provider, ProviderError, ReplyStream};
use tidegate_runtime::config::{CompactionThreshold, ModelSettings};
use tidegate_runtime::{Runtime, RuntimeError, Session, TurnOptions};

const WINDOW: u64 = 6_000;

fn long(word: &str) -> String {
    format!("{word} ").repeat(300)
}

fn world() -> World {
    World::new().configured(|configuration| {
        let window = ModelSettings {
            context_window: Some(WINDOW),
            ..ModelSettings::default()
        };
        configuration.models.insert("model:m".into(), window);
        configuration.prompt.protect_last = 4;
    })
}

fn runtime(world: &World, model: &Arc<Actor>, auxiliary: Option<(&Arc<Actor>, Classification)>) -> Runtime {
    let models = |actor: &Arc<Actor>| vec![ModelId::new(actor.id().clone(), "m")];
    let mut builder = world
        .builder()
        .provider(model.clone(), Classification::Restricted, 8)
        .tier(Tier::Lite, models(model))
        .tier(Tier::Flash, models(model));
    if let Some((auxiliary, clearance)) = auxiliary {
        builder = builder
            .provider(auxiliary.clone(), clearance, 1)
            .auxiliary(models(auxiliary));
    }
    builder.build().unwrap()
}

fn talk(turns: usize) -> Vec<Line> {
    (0..turns)
        .map(|turn| says(&long(&format!("answer{turn}"))))
        .collect()
}

async fn say(session: &mut Session, turn: usize) {
    let report = session
        .run(long(&format!("task{turn}")), TurnOptions::default())
        .await
        .unwrap();
    assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
}

fn summaries(session: &Session) -> Vec<String> {
    let entries = session.transcript().entries().iter();
    entries
        .filter_map(|entry| match &entry.body {
            Body::User(message) if message.author == Author::Summary => Some(joined_text(&message.content)),
            _ => None,
        })
        .collect()
}

async fn finished(world: &World) -> Vec<(CompactionTrigger, Option<SummaryBy>, Option<String>)> {
    let events = world.events().await.into_iter();
    events
        .filter_map(|event| match event.kind {
            EventKind::CompactionFinished {
                cause,
                summary,
                reason,
                ..
            } => Some((cause, summary, reason)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_long_chat_compacts_itself_and_goes_on_after_a_restart() {
    let world = world();
    let model = Actor::of("model", talk(20));
    let auxiliary = Actor::of(
        "aux",
        (0..20).map(|_| says("## Goal\nWatch the tides.")).collect(),
    );
    let runtime = runtime(&world, &model, Some((&auxiliary, Classification::Restricted)));
    let mut session = world.session(&runtime).await;
    for turn in 0..10 {
        say(&mut session, turn).await;
    }
    let compactions = finished(&world).await;
    assert!(!compactions.is_empty());
    let expected = (CompactionTrigger::Threshold, Some(SummaryBy::Model), None);
    assert!(
        compactions.iter().all(|made| *made == expected),
        "{compactions:?}"
    );
    assert!(
        summaries(&session)
            .iter()
            .any(|text| text.contains("Watch the tides."))
    );
    assert!(!auxiliary.requests().is_empty());

    // All of it is stored, and the transcript is what a new process reads, too.
    let id = session.id();
    let stored = world.store.entries(id).await.unwrap();
    let segments = world.store.segments(id).await.unwrap();
    assert_eq!(segments.len(), compactions.len());
    let sizes = segments[0].made.sizes;
    assert!(sizes.tokens_after < sizes.tokens_before, "{sizes:?}");
    let people = stored
        .iter()
        .filter(|entry| matches!(&entry.body, Body::User(message) if message.author == Author::Person));
    assert_eq!(people.count(), 10);
    assert_eq!(world.store.search(id, "task0").await.unwrap().len(), 1);
    let before = session.transcript().entries().to_vec();
    assert!(before.len() < stored.len());
    drop(session);
    let mut session = world.session(&runtime).await;
    assert_eq!(session.transcript().entries(), before);
    for turn in 10..14 {
        say(&mut session, turn).await;
    }
    // No request was larger than the window, and each ends with what was just said.
    for (turn, request) in model.requests().iter().enumerate() {
        let last = request.history.last().unwrap();
        let Body::User(message) = &last.body else {
            panic!("{last:?}")
        };
        assert!(joined_text(&message.content).starts_with(&format!("task{turn} ")));
    }
}

#[tokio::test]
async fn without_a_cleared_model_the_summary_is_made_without_one_and_the_event_says_so() {
    for (auxiliary, told) in [
        (false, "no model is configured"),
        (true, "is not cleared for INTERNAL"),
    ] {
        let world = world().files([("AGENTS.md", "Metric units.")]);
        let model = Actor::of("model", talk(20));
        let aux = Actor::new("aux", []);
        let cleared_low = auxiliary.then_some((&aux, Classification::Public));
        let runtime = runtime(&world, &model, cleared_low);
        let mut session = world.session(&runtime).await;
        let compactions = loop {
            say(&mut session, model.requests().len()).await;
            let compactions = finished(&world).await;
            if compactions.len() == 2 {
                break compactions;
            }
        };
        for (_, summary, reason) in compactions {
            assert_eq!(summary, Some(SummaryBy::Plain));
            assert!(reason.is_some_and(|reason| reason.contains(told)), "{told}");
        }
        // The label of a summary is the join of what it covers.
        let summary =
            session.transcript().entries().iter().find(
                |entry| matches!(&entry.body, Body::User(message) if message.author == Author::Summary),
            );
        assert!(Label::BOTTOM.is_within(summary.unwrap().label));
    }
}

#[tokio::test]
async fn a_person_can_ask_for_it_and_a_short_chat_does_not_become_shorter() {
    let world = world().configured(|configuration| {
        configuration.prompt.compaction_threshold = CompactionThreshold::Share(0.95);
    });
    let model = Actor::of("model", talk(20));
    let runtime = runtime(&world, &model, None);
    let mut session = world.session(&runtime).await;
    say(&mut session, 0).await;
    let short = session.compact(TurnOptions::default()).await.unwrap();
    assert!(short.error.is_some(), "{short:?}");
    for turn in 1..4 {
        say(&mut session, turn).await;
    }
    assert!(finished(&world).await.is_empty());
    let made = session.compact(TurnOptions::default()).await.unwrap();
    assert_eq!(made.error, None);
    assert!(made.sizes.tokens_after < made.sizes.tokens_before);
    assert_eq!(finished(&world).await[0].0, CompactionTrigger::Manual);
    say(&mut session, 4).await;
    let before = session.transcript().entries().to_vec();
    drop(session);
    assert_eq!(world.session(&runtime).await.transcript().entries(), before);
}

/// A model that says `Overflowed` to its request of this number, from 0.
struct Overflowing {
    inner: Arc<Actor>,
    at: usize,
    twice: bool,
    asked: AtomicUsize,
}

impl Provider for Overflowing {
    fn id(&self) -> &ProviderId {
        self.inner.id()
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if number == self.at || (self.twice && number == self.at + 1) {
            let error = ProviderError::new(self.id().clone(), ErrorClass::ContextOverflow, "too long");
            return futures::stream::once(async { Err(error) }.boxed()).boxed();
        }
        self.inner.stream(request)
    }
}

#[tokio::test]
async fn an_overflow_allows_one_pass_at_once() {
    for twice in [false, true] {
        let world = world().configured(|configuration| {
            configuration.prompt.compaction_threshold = CompactionThreshold::Share(0.95);
        });
        let model = Arc::new(Overflowing {
            inner: Actor::of("model", talk(20)),
            at: 5,
            twice,
            asked: AtomicUsize::new(0),
        });
        let models = vec![ModelId::new(model.id().clone(), "m")];
        let runtime = world
            .builder()
            .provider(model.clone(), Classification::Restricted, 8)
            .tier(Tier::Lite, models)
            .build()
            .unwrap();
        let mut session = world.session(&runtime).await;
        for turn in 0..5 {
            say(&mut session, turn).await;
        }
        let report = session
            .run("the last task", TurnOptions::default())
            .await
            .unwrap();
        let status = if twice {
            TurnStatus::Error
        } else {
            TurnStatus::Success
        };
        assert_eq!(report.status, status, "{:?}", report.error);
        let compactions = finished(&world).await;
        assert_eq!(compactions.len(), 1);
        assert_eq!(compactions[0].0, CompactionTrigger::Overflow);
        if !twice {
            let request = model.inner.requests().pop().unwrap();
            let last = request.history.last().unwrap();
            let Body::User(message) = &last.body else {
                panic!("{last:?}")
            };
            assert_eq!(joined_text(&message.content), "the last task");
        }
    }
}

#[tokio::test]
async fn what_cannot_become_shorter_is_told_by_its_largest_part_and_is_not_stored() {
    let world = world();
    let model = Actor::new("model", [says("short")]);
    let runtime = runtime(&world, &model, None);
    let mut session = world.session(&runtime).await;
    let report = session
        .run("word ".repeat(40_000), TurnOptions::default())
        .await
        .unwrap();
    assert_eq!(report.status, TurnStatus::Error);
    let error = report.error.unwrap();
    assert!(error.contains("6000") || error.contains("6,000"), "{error}");
    assert!(world.store.entries(session.id()).await.unwrap().is_empty());
    assert_eq!(
        world.store.compaction_rest(session.id()).await.unwrap().failures,
        1
    );
    // The session goes on.
    let report = session.run("short", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::Success);
}

#[tokio::test]
async fn an_open_turn_is_finished_before_anything_is_compacted() {
    let world = world();
    let model = Actor::new("model", []);
    let session = world.session(&runtime(&world, &model, None)).await;
    let patch = tidegate_store::SessionPatch {
        state: Some(tidegate_store::SessionState::InTurn(
            tidegate_policy::TurnId::from_bits(7),
        )),
        ..Default::default()
    };
    let id = session.id();
    drop(session);
    let open = vec![tidegate_store::Write::PatchSession(id, patch)];
    world.store.commit(open).await.unwrap();
    let mut session = world.session(&runtime(&world, &model, None)).await;
    let refused = session.compact(TurnOptions::default()).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::TurnOpen { .. }), "{refused}");
}
