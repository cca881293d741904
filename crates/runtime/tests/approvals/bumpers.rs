//! The owner is asked before a session rises.

use crate::owner::{attended, owner};
use crate::world::{Actor, World, asks, results, says, text_of};
use serde_json::json;
use tidegate_message::{EventKind, ResultStatus, TurnStatus};
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_runtime::{ApprovalAnswer, TurnOptions};
use tidegate_store::ApprovalState::{Refused, Used, Waiting};

fn world() -> World {
    World::new().files([
        ("notes.md", "n"),
        ("confidential/a.md", "a"),
        ("confidential/b.md", "b"),
        ("restricted/k.md", "k"),
    ])
}

fn read(paths: &[&str]) -> crate::world::Line {
    let calls: Vec<(String, String)> = paths
        .iter()
        .map(|path| ("read_file".to_owned(), json!({"path": path}).to_string()))
        .collect();
    crate::world::line(|_| async { crate::world::parts(calls) })
}

#[tokio::test]
async fn the_owner_is_asked_once_per_level_and_for_each_call_of_the_message_that_comes_to_it() {
    let world = world().configured(|configuration| configuration.policy.clearance = Restricted);
    let model = Actor::new(
        "m",
        [
            read(&["notes.md"]),
            read(&["confidential/a.md", "confidential/b.md", "notes.md"]),
            says("Read."),
            read(&["restricted/k.md", "confidential/a.md"]),
            says("Read."),
        ],
    );
    let runtime = world.runtime(&model);
    let owner = owner(|_| ApprovalAnswer::Grant);
    let mut session = world.session(&runtime).await;
    session.run("the task", attended(&owner)).await.unwrap();
    // Whether one was there must not decide what is asked about the other.
    assert_eq!(owner.asked().len(), 2, "two files of one message");
    let question = &owner.asked()[0];
    assert_eq!(question.rule.as_str(), "bumper");
    assert!(
        question
            .why
            .contains("this session is INTERNAL and would become CONFIDENTIAL"),
        "{}",
        question.why
    );
    assert_eq!(session.taint().label().classification, Confidential);
    drop(session);

    // It is stored with the session, and the next level is asked about again.
    let mut session = world.session(&runtime).await;
    let stored = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(stored.acknowledged, Confidential);
    session.run("and more", attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(owner.asked().len(), 3);
    assert!(owner.asked()[2].why.contains("would become RESTRICTED"));
    let stored = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(stored.acknowledged, Restricted);
    assert_eq!(world.told().await, (3, 3, 3));
    assert!(
        results(&session)
            .iter()
            .all(|result| result.status == ResultStatus::Ok)
    );
}

#[tokio::test]
async fn what_the_owner_refuses_does_not_raise_the_session() {
    let world = world();
    let model = Actor::new("m", [read(&["confidential/a.md"]), says("Then not.")]);
    let runtime = world.runtime(&model);
    let owner = owner(|_| ApprovalAnswer::Refuse);
    let mut session = world.session(&runtime).await;
    session.run("the task", attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(session.taint().label().classification, Public);
    let [result] = results(&session).try_into().unwrap();
    assert_eq!(result.status, ResultStatus::Refused);
    assert_eq!(
        text_of(&result),
        "read_file would bring CONFIDENTIAL data into this conversation, which the owner has to approve. The owner \
         refused it, so it was not run. Do without it; if it cannot be done without, tell the user why."
    );
    let stored = world.store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(stored.acknowledged, Public);
    let raised = |event: &tidegate_message::Event| matches!(event.kind, EventKind::TaintRaised { .. });
    assert!(!world.events().await.iter().any(raised));
}

#[tokio::test]
async fn nobody_is_asked_where_nobody_is_there_or_it_is_switched_off() {
    for (bumpers, somebody) in [(true, false), (false, true)] {
        let world = world().configured(|configuration| configuration.policy.bumpers = bumpers);
        let model = Actor::new("m", [read(&["confidential/a.md"]), says("Read.")]);
        let runtime = world.runtime(&model);
        let owner = owner(|_| ApprovalAnswer::Refuse);
        let options = if somebody {
            attended(&owner)
        } else {
            TurnOptions::default()
        };
        let mut session = world.session(&runtime).await;
        session.run("the task", options).await.unwrap();
        model.done();
        assert_eq!(owner.asked(), []);
        assert_eq!(session.taint().label().classification, Confidential);
    }
}

#[tokio::test]
async fn the_level_of_the_workspace_is_usual() {
    for (usual, asked) in [(Public, 1), (Internal, 0), (Confidential, 0)] {
        let world = World::new()
            .files([("internal/a.md", "a")])
            .configured(|configuration| configuration.policy.workspace = usual);
        let model = Actor::new("m", [read(&["internal/a.md"]), says("Read.")]);
        let runtime = world.runtime(&model);
        let owner = owner(|_| ApprovalAnswer::Grant);
        let mut session = world.session(&runtime).await;
        session.run("the task", attended(&owner)).await.unwrap();
        assert_eq!(owner.asked().len(), asked, "{usual}");
    }
}

#[tokio::test]
async fn a_question_put_off_is_not_forgotten_when_nobody_is_there_any_more() {
    for grant in [None, Some(false), Some(true)] {
        let world = world();
        let mut lines = vec![read(&["confidential/a.md"])];
        if grant.is_some() {
            lines.push(says("Done."));
        }
        let model = Actor::of("m", lines);
        let runtime = world.runtime(&model);
        let later = owner(|_| ApprovalAnswer::Later);
        let mut session = world.session(&runtime).await;
        let report = session.run("the task", attended(&later)).await.unwrap();
        assert_eq!(report.status, TurnStatus::AwaitingApproval);
        if let Some(grant) = grant {
            world.decides(report.approvals[0], grant).await;
        }
        // Without an approver there would be no bumper; but this call was asked about.
        let report = session.resume(TurnOptions::default()).await.unwrap();
        model.done();
        let level = session.taint().label().classification;
        match grant {
            None => assert_eq!((report.status, level), (TurnStatus::AwaitingApproval, Public)),
            Some(false) => assert_eq!((report.status, level), (TurnStatus::Success, Public)),
            Some(true) => assert_eq!((report.status, level), (TurnStatus::Success, Confidential)),
        }
        let state = match grant {
            None => Waiting,
            Some(false) => Refused,
            Some(true) => Used,
        };
        assert_eq!(world.states().await, [state]);
        let stored = world.store.session(session.id()).await.unwrap().unwrap();
        assert_eq!(
            stored.acknowledged,
            if grant == Some(true) { Confidential } else { Public }
        );
    }
}

#[tokio::test]
async fn a_write_raises_nothing_and_is_not_asked_about() {
    let world = world();
    let write = asks([(
        "write_file",
        json!({"path": "confidential/new.md", "content": "x"}),
    )]);
    let model = Actor::new("m", [write, says("Written.")]);
    let runtime = world.runtime(&model);
    let owner = owner(|_| ApprovalAnswer::Grant);
    let mut session = world.session(&runtime).await;
    session.run("the task", attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(world.content_of("confidential/new.md"), "x");
    // To tell that it could be written tells of the folder, which is CONFIDENTIAL.
    let asked: Vec<_> = owner
        .asked()
        .iter()
        .map(|request| request.rule.to_string())
        .collect();
    assert_eq!(asked, ["bumper"]);
}
