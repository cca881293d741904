//! A grant is for what the call was resolved to when it was asked about.

use crate::world::{Actor, World, asks, results, says, text_of};
use serde_json::json;
use std::os::unix::fs::symlink;
use tidegate_message::{ResultStatus, TurnStatus};
use tidegate_runtime::{ApprovalRequest, TurnOptions};
use tidegate_store::ApprovalState::{Expired, Used, Waiting};

#[tokio::test]
async fn a_link_that_moved_after_the_grant_makes_it_another_call() {
    let world = World::new()
        .files([("one/a.md", "1"), ("two/a.md", "2")])
        .approved(["write_file"])
        .waiting();
    let link = world.workspace().join("out");
    symlink("one", &link).unwrap();
    let write = asks([("write_file", json!({"path": "out/a.md", "content": "new"}))]);
    let model = Actor::new("m", [write, says("Written.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let first = session.run("the task", TurnOptions::default()).await.unwrap();
    world.decides(first.approvals[0], true).await;

    // The same name, the same level, and another file.
    std::fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    let second = session.resume(TurnOptions::default()).await.unwrap();
    assert_eq!(second.status, TurnStatus::AwaitingApproval);
    assert_ne!(second.approvals, first.approvals, "it is asked anew");
    assert_eq!(
        (world.content_of("one/a.md"), world.content_of("two/a.md")),
        ("1".into(), "2".into())
    );
    assert_eq!(
        world.states().await,
        [Expired, Waiting],
        "the old grant is of no use any more"
    );
    let late = tidegate_runtime::decide_approval(&*world.store, first.approvals[0], true).await;
    assert!(late.is_err());

    world.decides(second.approvals[0], true).await;
    let report = session.resume(TurnOptions::default()).await.unwrap();
    model.done();
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(
        (world.content_of("one/a.md"), world.content_of("two/a.md")),
        ("1".into(), "new".into())
    );
    assert_eq!(world.states().await, [Expired, Used]);
    assert_eq!(world.told().await, (2, 3, 1));
}

#[tokio::test]
async fn a_link_that_moved_back_in_time_finds_its_grant() {
    let world = World::new()
        .files([("one/a.md", "1"), ("two/a.md", "2")])
        .approved(["write_file"])
        .waiting();
    let link = world.workspace().join("out");
    let aim = |to: &str| {
        let _ = std::fs::remove_file(&link);
        symlink(to, &link).unwrap();
    };
    aim("one");
    let write = asks([("write_file", json!({"path": "out/a.md", "content": "new"}))]);
    let model = Actor::new("m", [write, says("Written.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    world.decides(report.approvals[0], true).await;
    aim("two");
    aim("one");
    session.resume(TurnOptions::default()).await.unwrap();
    model.done();
    assert_eq!(
        (world.content_of("one/a.md"), world.content_of("two/a.md")),
        ("new".into(), "2".into())
    );
}

#[tokio::test]
async fn a_file_whose_level_rose_after_the_grant_is_asked_about_again() {
    let mut world = World::new()
        .files([("a.md", "1")])
        .approved(["read_file"])
        .waiting();
    let read = || asks([("read_file", json!({"path": "a.md"}))]);
    let model = Actor::new("m", [read(), says("Read.")]);
    let first = {
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let report = session.run("the task", TurnOptions::default()).await.unwrap();
        report.approvals[0]
    };
    world.decides(first, true).await;
    world = world.configured(|configuration| {
        let level = tidegate_policy::Classification::Confidential;
        configuration.policy.paths.insert("a.md".into(), level);
    });
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.resume(TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::AwaitingApproval);
    let requests = world.requests().await;
    assert_eq!(requests.len(), 2);
    assert_ne!(requests[0].digest, requests[1].digest);
    let level = |record| {
        ApprovalRequest::read(record).unwrap().sources[0]
            .level
            .to_string()
    };
    assert_eq!(
        (level(&requests[0]), level(&requests[1])),
        ("INTERNAL".into(), "CONFIDENTIAL".into())
    );

    world.decides(report.approvals[0], false).await;
    session.resume(TurnOptions::default()).await.unwrap();
    model.done();
    let [result] = results(&session).try_into().unwrap();
    assert_eq!(result.status, ResultStatus::Refused, "{}", text_of(&result));
}

#[tokio::test]
async fn the_same_arguments_in_another_call_are_another_request() {
    let world = World::new()
        .files([("a.md", "1")])
        .approved(["read_file"])
        .waiting();
    let read = asks([
        ("read_file", json!({"path": "a.md"})),
        ("read_file", json!({"path": "a.md"})),
    ]);
    let model = Actor::new("m", [read]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(report.approvals.len(), 2, "no grant is for more than one call");
    let requests = world.requests().await;
    assert_ne!(requests[0].digest, requests[1].digest);
}
