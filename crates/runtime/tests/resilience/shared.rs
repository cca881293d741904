//! What one session learns of a provider holds for all.

use crate::common::{
    asked, builder, model, openai, openai_at, run, runtime, session, spawn, stop_clock, until_begun,
};
use std::time::Duration;
use tidegate_message::{Tier, TurnStatus};
use tidegate_policy::Classification::Restricted;
use tidegate_providers::ScriptedReply;
use tidegate_runtime::CancelToken;
use tidegate_testing::{At, Fault, FaultServer, Gate};

fn hello() -> Fault {
    ScriptedReply::text("hello").into()
}

fn asking(seconds: u64) -> Fault {
    Fault::error(429).header("retry-after", seconds.to_string())
}

#[tokio::test]
async fn a_provider_that_asks_to_wait_is_left_alone_by_all_sessions() {
    stop_clock();
    let server = FaultServer::start([asking(30), hello(), hello()]).await.unwrap();
    let runtime = runtime(&[("a", &server)]);
    let (first, second) = (session(&runtime).await, session(&runtime).await);
    let (_, mut waits, one) = spawn(first, CancelToken::new());
    assert_eq!(waits.recv().await, Some(Duration::from_millis(30_002)));

    tokio::time::advance(Duration::from_secs(10)).await;
    let (watch, mut delays, two) = spawn(second, CancelToken::new());
    let delay = delays.recv().await.unwrap();
    assert!((19_990..=20_002).contains(&delay.as_millis()), "{delay:?}");
    assert_eq!(
        server.requests().len(),
        1,
        "the second session asks nobody meanwhile"
    );

    tokio::time::advance(Duration::from_secs(21)).await;
    assert_eq!(one.await.unwrap().0.status, TurnStatus::Success);
    assert_eq!(two.await.unwrap().0.status, TurnStatus::Success);
    assert_eq!(server.requests().len(), 3);
    assert!(
        watch.seen().story()[0].starts_with("delayed "),
        "{:?}",
        watch.seen().story()
    );
}

#[tokio::test]
async fn a_wish_of_more_than_ten_minutes_sends_other_sessions_to_their_fallbacks_at_once() {
    stop_clock();
    let a = FaultServer::start([asking(3_000)]).await.unwrap();
    let b = FaultServer::start([hello(), hello()]).await.unwrap();
    let runtime = runtime(&[("a", &a), ("b", &b)]);
    run(&mut session(&runtime).await, "?").await;
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(asked(&[&a, &b]), [1, 2]);
    let story = seen.story();
    assert!(
        story[0].starts_with("unavailable a:model-a AskedToWait "),
        "{story:?}"
    );
    assert_eq!(story[1], "fallback a:model-a b:model-b");

    // Nine tenths of it later it is waited for.
    tokio::time::advance(Duration::from_secs(2_700)).await;
    a.then([hello()]);
    let (_, seen) = run(&mut session(&runtime).await, "?").await;
    assert!(seen.story()[0].starts_with("delayed "), "{:?}", seen.story());
    assert_eq!(asked(&[&a, &b]), [2, 2]);
}

#[tokio::test]
async fn limits_are_those_of_address_and_key() {
    stop_clock();
    for (first, second, share) in [
        (Some("sk-1"), Some("sk-1"), true),
        (Some("sk-1"), Some("sk-2"), false),
        (Some("sk-1"), None, false),
        (None, None, true),
    ] {
        let server = FaultServer::start([asking(3_000), hello()]).await.unwrap();
        let runtime = builder()
            .provider(openai_at("a", &server.base_url(), first), Restricted, 8)
            .provider(openai_at("b", &server.base_url(), second), Restricted, 8)
            .tier(Tier::Lite, vec![model("a"), model("b")])
            .build()
            .unwrap();
        let (report, _) = run(&mut session(&runtime).await, "?").await;
        let expected = if share {
            TurnStatus::Error
        } else {
            TurnStatus::Success
        };
        assert_eq!(report.status, expected, "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn who_waits_holds_no_permit() {
    stop_clock();
    let server = FaultServer::start([Fault::error(500), hello(), hello()])
        .await
        .unwrap();
    let runtime = builder()
        .provider(openai("a", &server), Restricted, 1)
        .tier(Tier::Lite, vec![model("a")])
        .build()
        .unwrap();
    let (first, mut second) = (session(&runtime).await, session(&runtime).await);
    let (_, mut waits, one) = spawn(first, CancelToken::new());
    let wait = waits.recv().await.unwrap();
    let (report, _) = run(&mut second, "?").await;
    assert_eq!(report.status, TurnStatus::Success, "the clock has not moved");
    tokio::time::advance(wait).await;
    assert_eq!(one.await.unwrap().0.status, TurnStatus::Success);
}

#[tokio::test]
async fn a_session_that_got_its_permit_after_a_pause_began_waits_too() {
    stop_clock();
    let gate = Gate::new();
    let server = FaultServer::start([asking(30).hang(At::Head(0), &gate), hello(), hello()])
        .await
        .unwrap();
    let runtime = builder()
        .provider(openai("a", &server), Restricted, 1)
        .tier(Tier::Lite, vec![model("a")])
        .build()
        .unwrap();
    let (first, second) = (session(&runtime).await, session(&runtime).await);
    let (_, mut waits, one) = spawn(first, CancelToken::new());
    gate.until_reached(1).await;
    let (watch, mut delays, two) = spawn(second, CancelToken::new());
    until_begun(&watch).await;
    gate.open();
    let wait = waits.recv().await.unwrap();
    delays.recv().await.unwrap();
    assert_eq!(server.requests().len(), 1);
    tokio::time::advance(wait).await;
    assert_eq!(one.await.unwrap().0.status, TurnStatus::Success);
    assert_eq!(two.await.unwrap().0.status, TurnStatus::Success);
}

#[tokio::test]
async fn after_five_failures_in_a_row_nobody_asks_for_half_a_minute_and_then_one_does() {
    stop_clock();
    let dead = |_| hello().cut(At::Head(0));
    let a = FaultServer::start((0..5).map(dead)).await.unwrap();
    let b = FaultServer::start((0..4).map(|_| hello())).await.unwrap();
    let runtime = runtime(&[("a", &a), ("b", &b)]);

    run(&mut session(&runtime).await, "?").await;
    assert_eq!(asked(&[&a, &b]), [3, 1]);
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(
        asked(&[&a, &b]),
        [5, 2],
        "the fifth failure opens it: there is no sixth try"
    );
    assert!(
        seen.story()
            .iter()
            .any(|line| line.starts_with("unavailable a:model-a CircuitOpen "))
    );
    run(&mut session(&runtime).await, "?").await;
    assert_eq!(asked(&[&a, &b]), [5, 3]);

    tokio::time::advance(Duration::from_secs(30)).await;
    let gate = Gate::new();
    a.then([hello().hang(At::Head(0), &gate), hello()]);
    let (_, _, probe) = spawn(session(&runtime).await, CancelToken::new());
    gate.until_reached(1).await;
    run(&mut session(&runtime).await, "?").await;
    assert_eq!(asked(&[&a, &b]), [6, 4], "while one probes, the others stay away");
    gate.open();
    assert_eq!(probe.await.unwrap().0.status, TurnStatus::Success);
    run(&mut session(&runtime).await, "?").await;
    assert_eq!(asked(&[&a, &b]), [7, 4], "it answers again");
}

#[tokio::test]
async fn a_candidate_with_an_open_circuit_is_asked_when_nobody_else_is_left() {
    stop_clock();
    let dead = |_| hello().cut(At::Head(0));
    let a = FaultServer::start((0..6).map(dead).chain([hello()]))
        .await
        .unwrap();
    let alone = runtime(&[("a", &a)]);
    for requests in [3, 6, 7] {
        run(&mut session(&alone).await, "?").await;
        assert_eq!(
            asked(&[&a]),
            [requests],
            "the only one is asked whatever its circuit says"
        );
    }

    let a = FaultServer::start((0..5).map(dead).chain([hello()]))
        .await
        .unwrap();
    let b = FaultServer::start([hello(), hello(), Fault::error(401)])
        .await
        .unwrap();
    let runtime = runtime(&[("a", &a), ("b", &b)]);
    run(&mut session(&runtime).await, "?").await;
    run(&mut session(&runtime).await, "?").await;
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success, "{:?}", seen.story());
    assert_eq!(report.model, Some(model("a")), "it was set aside, and came last");
    assert_eq!(asked(&[&a, &b]), [6, 3]);
}

#[tokio::test]
async fn two_candidates_with_open_circuits_are_both_asked_once_nobody_else_is_left() {
    stop_clock();
    let dead = |_| hello().cut(At::Head(0));
    let a = FaultServer::start((0..30).map(dead)).await.unwrap();
    let b = FaultServer::start((0..30).map(dead)).await.unwrap();
    let runtime = runtime(&[("a", &a), ("b", &b)]);
    for _ in 0..4 {
        let (report, _) = run(&mut session(&runtime).await, "?").await;
        assert_eq!(report.status, TurnStatus::Error);
    }
    let before = asked(&[&a, &b]);
    let (report, _) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Error);
    let after = asked(&[&a, &b]);
    assert!(
        after[0] > before[0] && after[1] > before[1],
        "{before:?} {after:?}"
    );
}
