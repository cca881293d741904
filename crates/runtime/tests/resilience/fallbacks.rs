//! The order of candidates, and who may be one.

use crate::common::{asked, builder, model, openai, run, run_with, runtime, session, stop_clock};
use tidegate_message::{ModelPolicy, Tier, TurnStatus};
use tidegate_policy::Classification::{Confidential, Internal, Restricted};
use tidegate_providers::ScriptedReply;
use tidegate_runtime::{SessionRequest, TurnOptions, Which};
use tidegate_testing::{Fault, FaultServer};

fn hello() -> Fault {
    ScriptedReply::text("hello").into()
}

fn thrice(status: u16) -> [Fault; 3] {
    [(); 3].map(|()| Fault::error(status))
}

#[tokio::test]
async fn candidates_are_tried_in_order_each_at_its_own_address_by_its_own_name() {
    stop_clock();
    let a = FaultServer::start(thrice(500)).await.unwrap();
    let b = FaultServer::start([Fault::error(401)]).await.unwrap();
    let c = FaultServer::start([hello()]).await.unwrap();
    let d = FaultServer::start([hello()]).await.unwrap();
    let runtime = runtime(&[("a", &a), ("b", &b), ("c", &c), ("d", &d)]);
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(report.model, Some(model("c")));
    assert_eq!(asked(&[&a, &b, &c, &d]), [3, 1, 1, 0]);
    for (name, server) in [("model-a", &a), ("model-b", &b), ("model-c", &c)] {
        for request in server.requests() {
            assert_eq!(request.json["model"], name);
        }
    }
    insta::assert_snapshot!(seen.story().join("\n"), @r"
    call a:model-a
    failed server
    try 2
    call a:model-a
    failed server
    try 3
    call a:model-a
    failed server
    fallback a:model-a b:model-b
    call b:model-b
    failed auth
    fallback b:model-b c:model-c
    call c:model-c
    reply c:model-c
    ");
}

#[tokio::test]
async fn the_context_goes_to_cleared_candidates_alone_also_after_a_failure() {
    stop_clock();
    let a = FaultServer::start(thrice(500)).await.unwrap();
    let b = FaultServer::start([hello()]).await.unwrap();
    let c = FaultServer::start([hello()]).await.unwrap();
    let runtime = builder()
        .provider(openai("a", &a), Confidential, 8)
        .provider(openai("b", &b), Internal, 8)
        .provider(openai("c", &c), Restricted, 8)
        .tier(Tier::Lite, vec![model("a"), model("b"), model("c")])
        .build()
        .unwrap();
    let mut session = session(&runtime).await;
    let options = || TurnOptions {
        level: Confidential,
        ..TurnOptions::default()
    };
    let (report, seen) = run_with(&mut session, "a secret", options()).await;
    assert_eq!(report.status, TurnStatus::Success, "{report:?}");
    assert_eq!(asked(&[&a, &b, &c]), [3, 0, 1]);
    assert!(seen.story().contains(&"skipped b:model-b".to_owned()));

    a.then(thrice(500));
    c.then(thrice(429));
    let (report, _) = run_with(&mut session, "another", options()).await;
    assert_eq!(report.status, TurnStatus::Error);
    insta::assert_snapshot!(report.error.unwrap(), @r#"
    the model call failed: tried a:model-a twice (server), then c:model-c 3 times (rate_limited)
      a: the provider failed (HTTP 500); it says "told to answer 500"; try again later, or use another model
      a:model-a was not asked again: its provider has not answered any session lately; it is asked again in 26 s
      b:model-b was not asked: it is not cleared for CONFIDENTIAL
      c: there were too many requests (HTTP 429); it says "told to answer 429"; wait, or lower max_concurrent of [providers.c]
      the task is kept: resume the session to try again
    "#);
}

#[tokio::test]
async fn if_nobody_is_cleared_nobody_is_asked() {
    stop_clock();
    let a = FaultServer::start([hello()]).await.unwrap();
    let c = FaultServer::start([hello()]).await.unwrap();
    // The second tier is cleared, so that the session may hold what the first may not see.
    let runtime = builder()
        .provider(openai("a", &a), Internal, 8)
        .provider(openai("c", &c), Restricted, 8)
        .tier(Tier::Lite, vec![model("a")])
        .tier(Tier::Flash, vec![model("c")])
        .build()
        .unwrap();
    let options = TurnOptions {
        level: Confidential,
        ..TurnOptions::default()
    };
    let (report, _) = run_with(&mut session(&runtime).await, "a secret", options).await;
    assert_eq!(report.status, TurnStatus::Blocked);
    assert_eq!(asked(&[&a, &c]), [0, 0]);
}

#[tokio::test]
async fn a_fixed_model_has_no_fallback_and_a_model_listed_twice_is_one_candidate() {
    stop_clock();
    let a = FaultServer::start(thrice(500)).await.unwrap();
    let b = FaultServer::start([hello()]).await.unwrap();
    let runtime = builder()
        .provider(openai("a", &a), Restricted, 8)
        .provider(openai("b", &b), Restricted, 8)
        .tier(Tier::Lite, vec![model("a"), model("a"), model("b")])
        .build()
        .unwrap();
    let request = SessionRequest::new(Which::New)
        .workspace(std::env::temp_dir())
        .model_policy(ModelPolicy::Model(model("a")));
    let mut fixed = runtime.session(request).await.unwrap();
    let (report, _) = run(&mut fixed, "?").await;
    assert_eq!(report.status, TurnStatus::Error);
    assert_eq!(asked(&[&a, &b]), [3, 0]);

    a.then(thrice(429));
    let (report, _) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(asked(&[&a, &b]), [6, 1]);
}
