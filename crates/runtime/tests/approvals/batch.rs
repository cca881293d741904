//! Several calls of one message (field report 32).

use crate::owner::{attended, owner};
use crate::world::{Actor, World, asks, effect, results, says, text_of, tool};
use serde_json::json;
use std::collections::BTreeMap;
use tidegate_message::{EventKind, ResultStatus, TurnStatus};
use tidegate_runtime::{ApprovalAnswer, TurnOptions, Which};
use tidegate_store::ApprovalState::{Granted, Refused, Used, Waiting};

#[tokio::test]
async fn of_a_batch_what_is_granted_runs_once_what_is_refused_is_answered_and_the_rest_waits() {
    let (send, sent) = effect("send");
    let (look, looked) = effect("look");
    let world = World::new().tool(send).tool(look).approved(["send"]).waiting();
    let model = Actor::new(
        "m",
        [
            asks([
                ("send", json!({"text": "granted"})),
                ("send", json!({"text": "refused"})),
                ("send", json!({"text": "waits"})),
                ("look", json!({"text": "free"})),
            ]),
            says("Done."),
        ],
    );
    let runtime = world.runtime(&model);
    let sent = || sent.lock().unwrap().clone();
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(report.status, TurnStatus::AwaitingApproval);
    assert_eq!(report.approvals.len(), 3);
    assert_eq!((report.rounds, report.calls_used), (1, 4));
    assert_eq!(sent(), [""; 0]);
    assert_eq!(*looked.lock().unwrap(), ["free"]);
    assert_eq!(world.states().await, [Waiting, Waiting, Waiting]);
    assert!(session.interrupted().is_some());
    drop(session);

    let ids: Vec<_> = world.requests().await.iter().map(|record| record.id).collect();
    let mut reported = report.approvals.clone();
    reported.sort_by_key(|id| ids.iter().position(|known| known == id));
    assert_eq!(reported, ids);
    world.decides(ids[0], true).await;
    world.decides(ids[1], false).await;

    // As often as one likes: what waits, waits, and what ran is not run again.
    for _ in 0..3 {
        let mut session = world.session(&runtime).await;
        let report = session.resume(TurnOptions::default()).await.unwrap();
        assert_eq!(report.status, TurnStatus::AwaitingApproval);
        assert_eq!(report.approvals, [ids[2]]);
        assert_eq!(sent(), ["granted"]);
    }
    assert_eq!(world.states().await, [Used, Refused, Waiting]);
    assert_eq!(
        model.requests().len(),
        1,
        "no model is asked before all calls are answered"
    );

    world.decides(ids[2], true).await;
    let mut session = world.session(&runtime).await;
    let report = session.resume(TurnOptions::default()).await.unwrap();
    model.done();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "Done.")
    );
    assert_eq!(report.approvals, []);
    assert_eq!(sent(), ["granted", "waits"]);
    assert_eq!(looked.lock().unwrap().len(), 1);
    let statuses: Vec<_> = results(&session).iter().map(|result| result.status).collect();
    use ResultStatus::{Ok, Refused as NotAllowed};
    assert_eq!(statuses, [Ok, NotAllowed, Ok, Ok]);
    assert_eq!(
        text_of(&results(&session)[1]),
        "Each call of send has to be approved by the owner. The owner refused it, so it was not run. Do without it; \
         if it cannot be done without, tell the user why."
    );
    assert_eq!(world.told().await, (3, 3, 2));
    let mut finished: BTreeMap<_, u32> = BTreeMap::new();
    for event in world.events().await {
        if let EventKind::ToolFinished { call, .. } = event.kind {
            *finished.entry(call).or_default() += 1;
        }
    }
    assert_eq!(finished.values().copied().collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(world.states().await, [Used, Refused, Used]);
}

#[tokio::test]
async fn the_same_with_somebody_there() {
    let (send, sent) = effect("send");
    let world = World::new()
        .tool(send)
        .tool(tool("look", str::to_owned))
        .approved(["send"]);
    let model = Actor::new(
        "m",
        [
            asks([
                ("send", json!({"text": "yes"})),
                ("look", json!({"text": "a"})),
                ("send", json!({"text": "no"})),
                ("send", json!({"text": "later"})),
            ]),
            says("Done."),
        ],
    );
    let runtime = world.runtime(&model);
    let owner = owner(|request| match request.control[0].value.as_str() {
        "yes" => ApprovalAnswer::Grant,
        "no" => ApprovalAnswer::Refuse,
        _ => ApprovalAnswer::Later,
    });
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", attended(&owner)).await.unwrap();
    assert_eq!(report.status, TurnStatus::AwaitingApproval);
    assert_eq!(report.approvals.len(), 1);
    assert_eq!(*sent.lock().unwrap(), ["yes"]);
    assert_eq!(world.states().await, [Used, Refused, Waiting]);
    assert_eq!(owner.asked().len(), 3);

    // Asked again, it is the same request.
    let report = session.resume(attended(&owner)).await.unwrap();
    assert_eq!(report.status, TurnStatus::AwaitingApproval);
    let asked: Vec<_> = owner.asked().iter().map(|request| request.id).collect();
    assert_eq!(asked[2], asked[3]);

    world.decides(asked[3], true).await;
    assert_eq!(world.states().await, [Used, Refused, Granted]);
    let report = session.resume(attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(
        owner.asked().len(),
        4,
        "what was granted elsewhere is not asked again"
    );
    assert_eq!(*sent.lock().unwrap(), ["yes", "later"]);
}

#[tokio::test]
async fn read_only_calls_that_run_together_are_asked_about_one_by_one() {
    let world = World::new()
        .tool(tool("look", |text| format!("saw {text}")))
        .approved(["look"]);
    let calls = ["a", "b", "c", "d"].map(|text| ("look", json!({"text": text})));
    let model = Actor::new("m", [asks(calls), says("Done.")]);
    let runtime = world.runtime(&model);
    let owner = owner(|_| ApprovalAnswer::Grant);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(report.status, TurnStatus::Success);
    assert_eq!(owner.asked().len(), 4);
    let texts: Vec<_> = results(&session).iter().map(text_of).collect();
    assert_eq!(texts, ["saw a", "saw b", "saw c", "saw d"]);
    // Approved, it is journalled although it only reads: it ran, and must not run again.
    let turn = report.turn.unwrap();
    let journal = world.store.calls(session.id(), turn).await.unwrap();
    assert_eq!(journal.len(), 4);
    assert!(journal.iter().all(|row| row.attempts == 1));
}

#[tokio::test]
async fn a_new_task_ends_what_waits() {
    let (send, sent) = effect("send");
    let world = World::new().tool(send).approved(["send"]).waiting();
    let ask = || asks([("send", json!({"text": "a"})), ("send", json!({"text": "b"}))]);
    let model = Actor::new("m", [ask(), says("Something else.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    world.decides(report.approvals[0], true).await;
    let report = session.run("never mind", TurnOptions::default()).await.unwrap();
    model.done();
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "Something else.")
    );
    assert_eq!(
        *sent.lock().unwrap(),
        [""; 0],
        "not even what was granted and not used"
    );
    let texts: Vec<_> = results(&session).iter().map(text_of).collect();
    assert_eq!(texts, ["cancelled before it ran", "cancelled before it ran"]);
    for record in world.requests().await {
        assert!(!record.state.is_open());
        let late = tidegate_runtime::decide_approval(&*world.store, record.id, true).await;
        assert!(
            late.unwrap_err()
                .to_string()
                .contains("is expired: it cannot be granted")
        );
    }
}

#[tokio::test]
async fn a_session_that_waits_is_found_and_can_be_deleted() {
    let (send, _) = effect("send");
    let world = World::new().tool(send).approved(["send"]).waiting();
    let model = Actor::new("m", [asks([("send", json!({"text": "a secret"}))])]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    let id = session.id();
    drop(session);
    let request = tidegate_runtime::SessionRequest::new(Which::Existing(id.to_string()));
    drop(runtime.session(request).await.unwrap());
    runtime.delete(id).await.unwrap();
    let record = world.store.approval(report.approvals[0]).await.unwrap().unwrap();
    assert_eq!((record.shown.as_str(), record.state.is_open()), ("", false));
    let late = tidegate_runtime::decide_approval(&*world.store, record.id, true).await;
    assert!(late.is_err());
}
