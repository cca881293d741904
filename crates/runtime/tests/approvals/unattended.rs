//! Nobody is there.

use crate::owner::{Meddling, attended, owner};
use crate::world::{Actor, World, asks, effect, results, says, text_of};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidegate_message::{ResultStatus, TurnStatus};
use tidegate_runtime::{ApprovalAnswer, TurnOptions};
use tidegate_store::ApprovalState::{Expired, Used, Waiting};

#[tokio::test]
async fn refuse_tells_the_model_and_leaves_nothing_to_grant() {
    let (send, sent) = effect("send");
    let world = World::new().tool(send).approved(["send"]);
    let model = Actor::new(
        "m",
        [
            asks([("send", json!({"text": "a"}))]),
            says("I could not send it."),
        ],
    );
    let (session, report) = world.turn(&model).await;
    assert_eq!(
        (report.status, report.answer.as_str()),
        (TurnStatus::Success, "I could not send it.")
    );
    assert_eq!(*sent.lock().unwrap(), [""; 0]);
    let [result] = results(&session).try_into().unwrap();
    assert_eq!(result.status, ResultStatus::Refused);
    assert_eq!(
        text_of(&result),
        "Each call of send has to be approved by the owner. Nobody is there to ask, so it was not run. Do without it, \
         or tell the user what has to be approved."
    );
    assert_eq!(world.requests().await, []);
    assert_eq!(world.told().await, (0, 0, 0));
}

#[tokio::test]
async fn that_nobody_is_there_is_no_refusal_of_the_owner() {
    let (send, _) = effect("send");
    let world = World::new().tool(send).approved(["send"]);
    let ask = |text: &str| asks([("send", json!({"text": text}))]);
    let model = Actor::new("m", [ask("a"), ask("b"), ask("c"), ask("d"), says("Then not.")]);
    let (_, report) = world.turn(&model).await;
    assert_eq!((report.warning, report.answer.as_str()), (None, "Then not."));
}

#[tokio::test]
async fn what_waits_can_be_answered_by_whoever_resumes() {
    let (send, sent) = effect("send");
    let world = World::new().tool(send).approved(["send"]).waiting();
    let model = Actor::new("m", [asks([("send", json!({"text": "a"}))]), says("Sent.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let report = session.run("the task", TurnOptions::default()).await.unwrap();
    assert_eq!(world.states().await, [Waiting]);
    let owner = owner(|_| ApprovalAnswer::Grant);
    let after = session.resume(attended(&owner)).await.unwrap();
    model.done();
    assert_eq!(owner.asked()[0].id, report.approvals[0]);
    assert_eq!(after.status, TurnStatus::Success);
    assert_eq!(*sent.lock().unwrap(), ["a"]);
    assert_eq!(world.states().await, [Used]);
}

#[tokio::test]
async fn a_grant_that_has_expired_is_a_refusal() {
    for granted in [true, false] {
        let (send, sent) = effect("send");
        let mut world = World::new().tool(send).approved(["send"]).waiting();
        let meddling = Meddling::store(Arc::clone(&world.store), None);
        world.store = meddling.clone();
        let model = Actor::new("m", [asks([("send", json!({"text": "a"}))]), says("Too late.")]);
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        let report = session.run("the task", TurnOptions::default()).await.unwrap();
        if granted {
            world.decides(report.approvals[0], true).await;
        }
        meddling.meddler().expired.store(true, Ordering::SeqCst);
        let report = session.resume(TurnOptions::default()).await.unwrap();
        model.done();
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "Too late.")
        );
        assert_eq!(*sent.lock().unwrap(), [""; 0]);
        let [result] = results(&session).try_into().unwrap();
        assert_eq!(result.status, ResultStatus::Refused);
        assert!(
            text_of(&result).contains("did not answer in time"),
            "{}",
            text_of(&result)
        );
        meddling.meddler().expired.store(false, Ordering::SeqCst);
        assert_eq!(world.states().await, [Expired], "it is written down");
    }
}
