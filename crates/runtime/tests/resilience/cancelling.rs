//! A cancelled call leaves nothing behind (field report 22): the tests wait until the server has seen the
//! connection closed, not for time.

use crate::common::{
    builder, model, openai, openai_at, run, runtime, session, spawn, stop_clock, until_begun,
};
use std::time::Duration;
use tidegate_message::{Tier, TurnStatus};
use tidegate_policy::Classification::Restricted;
use tidegate_providers::ScriptedReply;
use tidegate_runtime::CancelToken;
use tidegate_testing::{At, Fault, FaultServer, Framing, Gate, SilentPort};

fn hello() -> Fault {
    ScriptedReply::text("hello").into()
}

#[tokio::test]
async fn in_the_middle_of_a_stream_the_connection_is_closed() {
    stop_clock();
    let places = [
        At::Head(0),
        At::Head(20),
        At::Body(0),
        At::Body(1),
        At::Body(400),
        At::Body(usize::MAX),
    ];
    for framing in Framing::ALL {
        for at in places {
            // With its whole length a body is complete before the end: there is nothing to cancel.
            if (framing, at) == (Framing::Length, At::Body(usize::MAX)) {
                continue;
            }
            let gate = Gate::new();
            let hanging = hello().framed(framing).hang(at, &gate);
            let server = FaultServer::start([hanging]).await.unwrap();
            let runtime = runtime(&[("a", &server)]);
            let cancel = CancelToken::new();
            let (_, _, turn) = spawn(session(&runtime).await, cancel.clone());
            gate.until_reached(1).await;
            cancel.cancel();
            let (report, mut session) = turn.await.unwrap();
            server.until_all_closed().await;
            // A stream whose `[DONE]` has arrived is a reply, cancelled or not.
            if at == At::Body(usize::MAX) {
                continue;
            }
            assert_eq!(report.status, TurnStatus::Cancelled, "{framing:?} {at:?}");
            server.then([hello()]);
            let (report, _) = run(&mut session, "Again?").await;
            assert_eq!(report.answer, "hello", "the session goes on");
        }
    }
}

#[tokio::test]
async fn while_it_waits_for_the_next_try_nothing_is_open_and_it_ends_at_once() {
    stop_clock();
    let server = FaultServer::start([Fault::error(500)]).await.unwrap();
    let runtime = runtime(&[("a", &server)]);
    let cancel = CancelToken::new();
    let (_, mut waits, turn) = spawn(session(&runtime).await, cancel.clone());
    waits.recv().await.unwrap();
    server.until_all_closed().await;
    cancel.cancel();
    let (report, mut session) = turn.await.unwrap();
    assert_eq!(report.status, TurnStatus::Cancelled);
    assert_eq!(server.requests().len(), 1);
    server.then([hello()]);
    assert_eq!(run(&mut session, "Again?").await.0.status, TurnStatus::Success);
}

#[tokio::test]
async fn while_it_waits_because_the_provider_asks_for_it() {
    stop_clock();
    let server = FaultServer::start([Fault::error(429).header("retry-after", "60")])
        .await
        .unwrap();
    let runtime = runtime(&[("a", &server)]);
    let (first, second) = (session(&runtime).await, session(&runtime).await);
    let cancel = CancelToken::new();
    let (_, mut waits, one) = spawn(first, cancel.clone());
    waits.recv().await.unwrap();
    let (_, mut delays, two) = spawn(second, cancel.clone());
    delays.recv().await.unwrap();
    cancel.cancel();
    assert_eq!(one.await.unwrap().0.status, TurnStatus::Cancelled);
    assert_eq!(two.await.unwrap().0.status, TurnStatus::Cancelled);
}

#[tokio::test]
async fn a_connection_that_nobody_serves_is_let_go() {
    stop_clock();
    let port = SilentPort::open().await.unwrap();
    let runtime = builder()
        .provider(openai_at("a", &port.base_url(), None), Restricted, 8)
        .tier(Tier::Lite, vec![model("a")])
        .build()
        .unwrap();
    let cancel = CancelToken::new();
    let (watch, _, turn) = spawn(session(&runtime).await, cancel.clone());
    while !watch.seen().story().contains(&"call a:model-a".to_owned()) {
        // A model that thinks for a while is told of.
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    cancel.cancel();
    assert_eq!(turn.await.unwrap().0.status, TurnStatus::Cancelled);
    port.until_let_go().await.unwrap();
}

#[tokio::test]
async fn who_waits_for_a_permit_ends_and_the_one_who_holds_it_goes_on() {
    stop_clock();
    let gate = Gate::new();
    let server = FaultServer::start([hello().hang(At::Body(100), &gate)])
        .await
        .unwrap();
    let runtime = builder()
        .provider(openai("a", &server), Restricted, 1)
        .tier(Tier::Lite, vec![model("a")])
        .build()
        .unwrap();
    let (first, second) = (session(&runtime).await, session(&runtime).await);
    let (_, _, one) = spawn(first, CancelToken::new());
    gate.until_reached(1).await;
    let cancel = CancelToken::new();
    let (watch, _, two) = spawn(second, cancel.clone());
    until_begun(&watch).await;
    cancel.cancel();
    assert_eq!(two.await.unwrap().0.status, TurnStatus::Cancelled);
    assert_eq!(server.requests().len(), 1);
    gate.open();
    assert_eq!(one.await.unwrap().0.status, TurnStatus::Success);
}
