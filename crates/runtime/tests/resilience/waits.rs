//! How long a failed call waits (field report 27).

use crate::common::{run, runtime, session, stop_clock};
use std::ops::RangeInclusive;
use std::time::Duration;
use tidegate_message::TurnStatus;
use tidegate_providers::ScriptedReply;
use tidegate_testing::{Fault, FaultServer};

fn hello() -> Fault {
    ScriptedReply::text("hello").into()
}

/// After this failure the call is sent again, and waits so many milliseconds before.
async fn waits(failure: Fault, expected: RangeInclusive<u64>) {
    let server = FaultServer::start([failure.clone(), hello()]).await.unwrap();
    let runtime = runtime(&[("a", &server)]);
    let before = tokio::time::Instant::now();
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Success, "{failure:?}: {report:?}");
    assert_eq!(report.answer, "hello");
    assert_eq!(server.requests().len(), 2, "{failure:?}");
    let waits = seen.waits();
    assert!(
        matches!(waits.as_slice(), [wait] if expected.contains(wait)),
        "{failure:?}: {waits:?}, not {expected:?}"
    );
    assert!(before.elapsed() >= Duration::from_millis(*expected.start()));
    let story = seen.story();
    let calls = story
        .iter()
        .filter(|line| !line.starts_with("failed "))
        .collect::<Vec<_>>();
    assert_eq!(
        calls,
        ["call a:model-a", "try 2", "call a:model-a", "reply a:model-a"]
    );
}

#[tokio::test]
async fn retry_after_is_honoured_in_every_form() {
    stop_clock();
    let asking = |status, name: &str, value: &str| Fault::error(status).header(name, value);
    for status in [429, 529, 503, 500] {
        waits(asking(status, "retry-after", "20"), 20_000..=20_000).await;
    }
    waits(asking(429, "Retry-After", "600"), 600_000..=600_000).await;
    waits(asking(429, "retry-after", " 1.5 "), 1_500..=1_500).await;
    waits(asking(429, "retry-after-ms", "250"), 250..=250).await;
    let date = Fault::error(429).retry_after_date(Duration::from_secs(60));
    waits(date, 57_000..=60_000).await;
}

#[tokio::test]
async fn without_a_wish_that_can_be_read_the_wait_is_two_seconds_and_jitter() {
    stop_clock();
    for status in [429, 529, 500, 502, 503, 504, 408] {
        waits(Fault::error(status), 2_000..=3_000).await;
    }
    for nonsense in [
        "soon",
        "",
        "-5",
        "0",
        "1e300",
        "NaN",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ] {
        waits(Fault::error(429).header("retry-after", nonsense), 2_000..=3_000).await;
    }
}

#[tokio::test]
async fn the_second_wait_is_twice_as_long_and_there_is_no_third() {
    stop_clock();
    let server = FaultServer::start([Fault::error(500), Fault::error(529), Fault::error(500), hello()])
        .await
        .unwrap();
    let runtime = runtime(&[("a", &server)]);
    let (report, seen) = run(&mut session(&runtime).await, "?").await;
    assert_eq!(report.status, TurnStatus::Error);
    let waits = seen.waits();
    assert!(
        matches!(waits.as_slice(), [2_000..=3_000, 4_000..=6_000]),
        "{waits:?}"
    );
    assert_eq!(server.unplayed(), 1);
    let error = report.error.unwrap();
    assert!(
        error.starts_with("the model call failed: tried a:model-a 3 times (server, overloaded, server)\n"),
        "{error}"
    );
}

#[tokio::test]
async fn the_jitter_is_that_of_the_seed() {
    stop_clock();
    let mut all = Vec::new();
    for seed in [1, 1, 2] {
        let server = FaultServer::start([Fault::error(500), Fault::error(500), hello()])
            .await
            .unwrap();
        let runtime = crate::common::builder()
            .jitter_seed(seed)
            .provider(
                crate::common::openai("a", &server),
                tidegate_policy::Classification::Restricted,
                8,
            )
            .tier(tidegate_message::Tier::Lite, vec![crate::common::model("a")])
            .build()
            .unwrap();
        let (_, seen) = run(&mut session(&runtime).await, "?").await;
        all.push(seen.waits());
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
}

#[tokio::test]
async fn more_than_ten_minutes_are_not_waited_for_and_the_error_says_so() {
    stop_clock();
    let failures = [
        Fault::error(429).header("retry-after", "601"),
        Fault::error(529).header("retry-after", "99999999999"),
        Fault::error(429).retry_after_date(Duration::from_secs(7_200)),
    ];
    for failure in failures {
        let server = FaultServer::start([failure, hello()]).await.unwrap();
        let runtime = runtime(&[("a", &server)]);
        let (report, seen) = run(&mut session(&runtime).await, "?").await;
        assert_eq!(server.requests().len(), 1);
        assert_eq!(seen.waits(), [0; 0]);
        let error = report.error.unwrap();
        assert!(error.contains("tried a:model-a once ("), "{error}");
        assert!(
            error.contains("a:model-a was not asked again: its provider asks to be left alone for another ")
        );
    }
}
