//! What each kind of failure leads to.

use crate::common::{asked, run, runtime, session, stop_clock};
use tidegate_message::TurnStatus;
use tidegate_providers::{ErrorClass, ScriptedReply};
use tidegate_testing::{At, ChunkFault, Fault, FaultServer, Framing, refused_port};

fn hello() -> Fault {
    ScriptedReply::text("hello").into()
}

/// The failure, thrice, ends the tries of the first candidate, and the second one answers.
async fn is_tried_thrice(failure: Fault, class: ErrorClass) {
    let dead = FaultServer::start([failure.clone(), failure.clone(), failure.clone()])
        .await
        .unwrap();
    let good = FaultServer::start([hello()]).await.unwrap();
    let runtime = runtime(&[("dead", &dead), ("good", &good)]);
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success, "{failure:?}: {report:?}");
    assert_eq!(asked(&[&dead, &good]), [3, 1], "{failure:?}: {:?}", seen.story());
    let failed = format!("failed {class}");
    let times = seen.story().iter().filter(|line| **line == failed).count();
    assert_eq!(times, 3, "{failure:?}: {:?}", seen.story());
    assert_eq!(seen.text, "hello");
    dead.until_all_closed().await;
}

#[tokio::test]
async fn what_may_pass_is_tried_thrice_and_then_the_next_candidate() {
    stop_clock();
    let (transport, malformed) = (ErrorClass::Transport, ErrorClass::MalformedReply);
    for (failure, class) in [
        (Fault::error(429), ErrorClass::RateLimited),
        (Fault::error(529), ErrorClass::Overloaded),
        (Fault::error(500), ErrorClass::Server),
        (Fault::error(504), ErrorClass::Timeout),
        (hello().cut(At::Head(0)), transport),
        (hello().cut(At::Head(30)), transport),
        (hello().cut(At::Body(0)), transport),
        (hello().cut(At::Body(300)), transport),
        (hello().framed(Framing::Length).cut(At::Body(300)), transport),
        (hello().framed(Framing::UntilClose).cut(At::Body(300)), transport),
        (hello().reset(At::Head(0)), transport),
        (hello().reset(At::Body(300)), transport),
        (hello().oversized_header(2 << 20), transport),
        (Fault::endless_head(), transport),
        (hello().content_type("text/html"), malformed),
        (Fault::raw(200, "application/json", "no JSON"), malformed),
        (Fault::stream("data: {\"choices\": 7}\n\n"), malformed),
        (Fault::stream("data: [DONE]\n\n"), malformed),
        (Fault::stream(&b"\xff\xfe\n\n"[..]), transport),
    ] {
        is_tried_thrice(failure, class).await;
    }
    // A broken end behind `[DONE]` would be no fault: the reply is complete.
    let unfinished = r#"data: {"choices": [{"delta": {"content": "hello"}}]}"#;
    for fault in ChunkFault::ALL {
        let broken = Fault::stream(format!("{unfinished}\n\n{unfinished}\n\n")).broken_chunks(fault);
        is_tried_thrice(broken, transport).await;
    }
}

#[tokio::test]
async fn what_is_refused_for_what_it_is_is_sent_once_to_one() {
    stop_clock();
    let named = |status, code: &str| {
        Fault::raw(
            status,
            "application/json",
            format!(r#"{{"error": {{"message": "no", "code": "{code}"}}}}"#),
        )
    };
    for (failure, class) in [
        (Fault::error(400), ErrorClass::BadRequest),
        (Fault::error(422), ErrorClass::BadRequest),
        (Fault::error(413), ErrorClass::PayloadTooLarge),
        (named(400, "content_policy_violation"), ErrorClass::ContentPolicy),
        (named(400, "context_length_exceeded"), ErrorClass::ContextOverflow),
    ] {
        let first = FaultServer::start([failure.clone()]).await.unwrap();
        let second = FaultServer::start([hello()]).await.unwrap();
        let runtime = runtime(&[("first", &first), ("second", &second)]);
        let (report, _) = run(&mut session(&runtime).await, "?").await;
        assert_eq!(report.status, TurnStatus::Error, "{failure:?}");
        assert_eq!(asked(&[&first, &second]), [1, 0], "{failure:?}");
        let error = report.error.unwrap();
        let said = format!("the model call failed: tried first:model-first once ({class})\n  first: ");
        assert!(error.starts_with(&said), "{error}");
    }
}

#[tokio::test]
async fn what_another_may_take_goes_to_the_next_candidate_at_once() {
    stop_clock();
    for (status, class) in [
        (401, ErrorClass::Auth),
        (403, ErrorClass::Auth),
        (402, ErrorClass::Billing),
        (404, ErrorClass::ModelNotFound),
    ] {
        let first = FaultServer::start([Fault::error(status)]).await.unwrap();
        let second = FaultServer::start([hello()]).await.unwrap();
        let runtime = runtime(&[("first", &first), ("second", &second)]);
        let (report, seen) = run(&mut session(&runtime).await, "?").await;
        assert_eq!(report.status, TurnStatus::Success, "{status}");
        assert_eq!(asked(&[&first, &second]), [1, 1], "{status}");
        assert_eq!(
            seen.story(),
            [
                "call first:model-first".to_owned(),
                format!("failed {class}"),
                "fallback first:model-first second:model-second".to_owned(),
                "call second:model-second".to_owned(),
                "reply second:model-second".to_owned(),
            ]
        );
    }
}

#[tokio::test]
async fn a_port_nobody_listens_on_is_tried_thrice_and_the_error_says_what_to_do() {
    stop_clock();
    let (address, _socket) = refused_port().unwrap();
    let runtime = crate::common::builder()
        .provider(
            crate::common::openai_at("a", &format!("http://{address}/v1"), None),
            tidegate_policy::Classification::Restricted,
            8,
        )
        .tier(tidegate_message::Tier::Lite, vec![crate::common::model("a")])
        .build()
        .unwrap();
    let (report, _) = run(&mut session(&runtime).await, "?").await;
    let error = report.error.unwrap().replace(&address.to_string(), "ADDRESS");
    insta::assert_snapshot!(error, @r"
    the model call failed: tried a:model-a 3 times (transport)
      a: http://ADDRESS/v1/chat/completions cannot be reached (Connection refused (os error 111)); is the server running? Check base_url of [providers.a]
      the task is kept: resume the session to try again
    ");
}

#[tokio::test]
async fn what_was_shown_is_retracted_before_the_next_try_in_the_store_too() {
    stop_clock();
    let long = || Fault::from(ScriptedReply::text("hello, hello").in_chunks_of(3));
    // Behind the second piece of text.
    let server = FaultServer::start([long().cut(At::Body(700)), long()])
        .await
        .unwrap();
    let runtime = runtime(&[("a", &server)]);
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.answer, "hello, hello");
    assert_eq!((seen.text.as_str(), seen.retractions), ("hello, hello", 1));
    let story = seen.story();
    let retracted = story
        .iter()
        .position(|line| line.starts_with("retracted "))
        .unwrap();
    let called_again = story.iter().rposition(|line| line.starts_with("call ")).unwrap();
    assert!(retracted < called_again, "{story:?}");
    // Events are shown when they are stored.
    let stored = runtime
        .store()
        .events(tidegate_store::EventFilter {
            kind: Some("model.retracted".into()),
            ..Default::default()
        })
        .await
        .unwrap();
    assert_eq!(stored.len(), 1);
}
