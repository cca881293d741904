//! Which provider may be sent a context.

use crate::world::{Actor, World, asks, says, tool};
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{EventKind, ModelId, ProviderId, Tier, TurnStatus};
use tidegate_policy::{Classification, Label};
use tidegate_runtime::{Runtime, TurnOptions};

use Classification::{Confidential, Internal, Public};

/// A runtime with these providers for LITE, best first, and one for FLASH that is cleared for everything, so
/// that sessions may read what those for LITE are not cleared for.
fn runtime(world: &World, lite: &[(&Arc<Actor>, Classification)], flash: &Arc<Actor>) -> Runtime {
    use tidegate_providers::Provider as _;
    let model = |actor: &Arc<Actor>| ModelId::new(actor.id().clone(), "m");
    let mut builder = world
        .builder()
        .provider(flash.clone(), Classification::Restricted, 1);
    for (actor, clearance) in lite {
        builder = builder.provider((*actor).clone(), *clearance, 1);
    }
    builder
        .tier(Tier::Lite, lite.iter().map(|(actor, _)| model(actor)).collect())
        .tier(Tier::Flash, vec![model(flash)])
        .build()
        .unwrap()
}

fn world() -> World {
    World::new().tool(tool("vault", |_| "MARKER".into()).source(Label::trusted(Confidential)))
}

fn read_the_vault() -> crate::world::Line {
    asks([("vault", json!({ "text": "" }))])
}

#[tokio::test]
async fn a_context_above_every_providers_clearance_is_sent_to_none_and_the_missing_clearance_is_named() {
    let world = world();
    let low = Actor::new("low", [read_the_vault()]);
    let lower = Actor::new("lower", []);
    let other = Actor::new("other", []);
    let runtime = runtime(&world, &[(&low, Internal), (&lower, Public)], &other);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();

    assert_eq!((report.status, report.answer.as_str()), (TurnStatus::Blocked, ""));
    let error = report.error.unwrap();
    for part in [
        "CONFIDENTIAL",
        "LITE",
        "low:m (INTERNAL)",
        "lower:m (PUBLIC)",
        "turn 1, by vault",
    ] {
        assert!(error.contains(part), "{part} is missing in {error}");
    }
    low.done();
    assert_eq!(
        (
            low.requests().len(),
            lower.requests().len(),
            other.requests().len()
        ),
        (1, 0, 0)
    );
    let skipped: Vec<String> = world
        .events()
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::ModelSkipped { model, evaluation } => {
                assert_eq!(evaluation.rule.unwrap().as_str(), "provider-clearance");
                Some(model.to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(skipped, ["low:m", "lower:m"]);

    // It is no dead end: with a provider that is cleared, the same turn goes on.
    drop(session);
    let cleared = Actor::new("cleared", [says("done")]);
    let runtime = self::runtime(&world, &[(&cleared, Confidential)], &other);
    let mut session = world.session(&runtime).await;
    let report = session.resume(TurnOptions::default()).await.unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done")
    );
    cleared.done();
}

#[tokio::test]
async fn candidates_that_are_not_cleared_are_skipped_and_the_next_one_is_asked() {
    let world = world();
    let low = Actor::new("low", [read_the_vault()]);
    let high = Actor::new("high", [says("done")]);
    let other = Actor::new("other", []);
    let runtime = runtime(&world, &[(&low, Internal), (&high, Confidential)], &other);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "done")
    );
    assert_eq!(report.model, Some(ModelId::new(ProviderId::new("high"), "m")));
    low.done();
    high.done();
    let names = world.event_names().await;
    assert_eq!(names.iter().filter(|name| **name == "model.skipped").count(), 1);
}

#[tokio::test]
async fn a_model_that_is_not_cleared_is_not_sent_the_task_either() {
    let world = world();
    let low = Actor::new("low", []);
    let other = Actor::new("other", []);
    let runtime = runtime(&world, &[(&low, Public)], &other);
    let mut session = world.session(&runtime).await;
    let options = TurnOptions {
        level: Internal,
        ..TurnOptions::default()
    };
    let report = session.run("the task", options).await.unwrap();
    assert_eq!(report.status, TurnStatus::Blocked);
    assert_eq!(low.requests().len(), 0);
    // The task is kept.
    assert_eq!(world.store.entries(session.id()).await.unwrap().len(), 1);
}
