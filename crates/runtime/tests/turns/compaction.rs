//! Long conversations become shorter, and nothing of them is lost.

use crate::world::{Actor, Line, World, asks, says, tool};
use futures::{FutureExt as _, StreamExt as _};
use serde_json::json;
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

/// The names of the events of the last turn that tell of models and compaction.
async fn course(world: &World) -> Vec<&'static str> {
    let names = world.event_names().await;
    let begin = names.iter().rposition(|name| *name == "turn.started").unwrap();
    let told = names.into_iter().skip(begin);
    told.filter(|name| name.starts_with("model.") || name.starts_with("compaction."))
        .collect()
}

#[tokio::test]
async fn what_a_tool_brings_in_the_middle_of_a_turn_is_made_room_for_before_the_next_request() {
    let world = world().tool(tool("look", |_| "found ".repeat(1_200)));
    let mut lines = talk(3);
    lines.push(asks([("look", json!({ "text": "x" }))]));
    lines.push(says("seen"));
    let model = Actor::of("model", lines);
    let mut session = world.session(&runtime(&world, &model, None)).await;
    for turn in 0..3 {
        say(&mut session, turn).await;
    }
    assert!(finished(&world).await.is_empty());
    let report = session
        .run("the last task", TurnOptions::default())
        .await
        .unwrap();
    model.done();
    assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
    assert_eq!(report.answer, "seen");
    assert_eq!(
        course(&world).await,
        [
            "model.called",
            "model.replied",
            "compaction.started",
            "compaction.finished",
            "model.called",
            "model.replied"
        ]
    );
    let request = model.requests().pop().unwrap();
    // The task and what the tool brought stay, and what was said before does not.
    let texts = crate::world::script(&request.history);
    assert!(texts.contains(&"user: the last task".to_owned()), "{texts:?}");
    assert!(
        texts.last().unwrap().starts_with("results: found found"),
        "{texts:?}"
    );
    assert!(
        !texts.iter().any(|text| text.starts_with("user: task2")),
        "{texts:?}"
    );
    // A new process goes on with the same.
    let before = session.transcript().entries().to_vec();
    drop(session);
    let again = world.session(&runtime(&world, &model, None)).await;
    assert_eq!(again.transcript().entries(), before);
}

#[tokio::test]
async fn a_result_that_fits_in_no_request_ends_the_turn_and_is_named() {
    let world = world()
        .tool(tool("look", |_| "found ".repeat(6_000)))
        .configured(|configuration| configuration.agent.max_output_chars = 100_000);
    let model = Actor::new("model", [asks([("look", json!({ "text": "x" }))]), says("short")]);
    let mut session = world.session(&runtime(&world, &model, None)).await;
    let report = session.run("look there", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::Error);
    let error = report.error.unwrap();
    assert!(
        error.contains("the output of look in entry 3 alone has about"),
        "{error}"
    );
    assert!(error.contains("lower the cap of tool outputs"), "{error}");
    assert_eq!(
        course(&world).await,
        [
            "model.called",
            "model.replied",
            "compaction.started",
            "compaction.failed"
        ]
    );
    // What was said is kept. While compaction rests, the provider is asked whether it fits after all.
    let report = session.run("never mind", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
}

#[tokio::test]
async fn a_turn_makes_no_more_than_three_passes_however_much_its_tools_bring() {
    let world = world()
        .tool(tool("look", |text| format!("{text} ").repeat(700)))
        .configured(|configuration| configuration.agent.max_rounds = 40);
    let mut lines: Vec<Line> = (0..30)
        .map(|round| asks([("look", json!({ "text": format!("r{round}") }))]))
        .collect();
    lines.push(says("seen"));
    let model = Actor::of("model", lines);
    let mut session = world.session(&runtime(&world, &model, None)).await;
    let report = session
        .run("look everywhere", TurnOptions::default())
        .await
        .unwrap();
    let passes: u32 = world
        .events()
        .await
        .into_iter()
        .map(|event| match event.kind {
            EventKind::CompactionFinished { passes, .. } => passes,
            _ => 0,
        })
        .sum();
    assert!((1..=3).contains(&passes), "{passes}");
    // Once it does not fit any more, the turn says so.
    assert_eq!(report.status, TurnStatus::Error);
    let error = report.error.unwrap();
    assert!(error.contains("the largest part is"), "{error}");
}

#[tokio::test]
async fn calls_that_ran_together_stay_together_however_often_their_session_is_compacted() {
    let mut world = world()
        .tool(tool("look", |text| format!("{text} ").repeat(60)))
        .tool(tool("count", |text| format!("{}", text.len())));
    let path = world.path().join("tidegate.db");
    let open = || -> Arc<dyn tidegate_store::Store> {
        Arc::new(tidegate_store::SqliteStore::open(&path, tidegate_store::Durability::Process).unwrap())
    };
    world.store = open();
    let mut compactions = 0;
    for run in 0..4 {
        let lines = (0..8)
            .flat_map(|turn| {
                let text = |call: usize| json!({ "text": format!("{run}.{turn}.{call}") });
                [
                    asks([("look", text(0)), ("count", text(1)), ("look", text(2))]),
                    asks([("look", text(3)), ("nothing", text(4))]),
                    says(&"an answer ".repeat(40)),
                ]
            })
            .collect();
        // It takes no history that a real service would refuse.
        let model = Actor::of("model", lines);
        // A restart in between.
        world.store = open();
        let mut session = world.session(&runtime(&world, &model, None)).await;
        for turn in 0..8 {
            let task = format!("task {turn} {}", "words ".repeat(60));
            let report = session.run(task, TurnOptions::default()).await.unwrap();
            assert_eq!(report.status, TurnStatus::Success, "{:?}", report.error);
        }
        model.done();
        let now = finished(&world).await.len();
        assert!(now > compactions, "run {run} compacts");
        compactions = now;
    }
    let stubs: u64 = world
        .events()
        .await
        .into_iter()
        .map(|event| match event.kind {
            EventKind::CompactionFinished { stubs, .. } => stubs,
            _ => 0,
        })
        .sum();
    assert!(stubs > 0, "results became stubs, too");
}

/// A model each of whose replies costs this much.
struct Costly(Arc<Actor>, tidegate_message::Usage);

impl Provider for Costly {
    fn id(&self) -> &ProviderId {
        self.0.id()
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let usage = self.1;
        self.0
            .stream(request)
            .map(move |event| {
                event.map(|event| match event {
                    tidegate_providers::StreamEvent::Done(mut reply) => {
                        reply.usage = usage;
                        tidegate_providers::StreamEvent::Done(reply)
                    }
                    other => other,
                })
            })
            .boxed()
    }
}

#[tokio::test]
async fn what_summing_up_costs_is_counted_with_the_turn_and_the_session() {
    let world = world();
    let model = Actor::of("model", talk(8));
    let usage = tidegate_message::Usage {
        uncached: 70,
        cache_read: 20,
        cache_write: 0,
        output: 9,
    };
    let auxiliary = Actor::of("aux", (0..8).map(|_| says("## Goal\nTides.")).collect());
    let models = |actor: &Arc<Actor>| vec![ModelId::new(actor.id().clone(), "m")];
    let runtime = world
        .builder()
        .provider(model.clone(), Classification::Restricted, 8)
        .provider(
            Arc::new(Costly(auxiliary.clone(), usage)),
            Classification::Restricted,
            1,
        )
        .tier(Tier::Lite, models(&model))
        .auxiliary(models(&auxiliary))
        .build()
        .unwrap();
    let mut session = world.session(&runtime).await;
    let mut of_turns = tidegate_message::Usage::default();
    for turn in 0..8 {
        let task = long(&format!("task{turn}"));
        of_turns += session.run(task, TurnOptions::default()).await.unwrap().usage;
    }
    let mut expected = tidegate_message::Usage::default();
    for _ in auxiliary.requests() {
        expected += usage;
    }
    assert!(expected.output > 0);
    assert_eq!(of_turns, expected);
    let summary = world.store.summary(session.id()).await.unwrap().unwrap();
    assert_eq!(summary.usage, expected);
}
