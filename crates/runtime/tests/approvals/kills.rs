//! The process ends at any commit between asking, granting, using and running.

use crate::owner::{Meddling, attended, failed, owner};
use crate::world::{Actor, World, asks, effect, line, parts, results, says, text_of};
use serde_json::json;
use std::sync::Arc;
use tidegate_message::{INTERRUPTED_RESULT, ResultStatus, TurnStatus};
use tidegate_runtime::{ApprovalAnswer, TurnOptions};
use tidegate_store::{ApprovalState, CallState};

const CALLS: [&str; 3] = ["a", "b", "c"];

fn ask() -> crate::world::Line {
    let calls = CALLS.map(|text| ("send".to_owned(), json!({"text": text}).to_string()));
    line(|_| async { parts(calls) })
}

/// Runs the turn until the store fails, then again on a good store until it is over. Whether it failed.
async fn ends_well(fails: usize, happens: bool, somebody: bool) -> bool {
    let (send, sent) = effect("send");
    let mut world = World::new().tool(send).approved(["send"]).waiting();
    let good = Arc::clone(&world.store);
    let grants = owner(|_| ApprovalAnswer::Grant);
    let options = || {
        if somebody {
            attended(&grants)
        } else {
            TurnOptions::default()
        }
    };

    let meddling = Meddling::store(Arc::clone(&good), Some((fails, happens)));
    world.store = meddling.clone();
    let model = Actor::of("m", vec![ask(), says("Done."), says("Done.")]);
    {
        let runtime = world.runtime(&model);
        let request =
            tidegate_runtime::SessionRequest::new(tidegate_runtime::Which::Named("s".parse().unwrap()))
                .workspace(world.workspace());
        // It may not even come about.
        if let Ok(mut session) = runtime.session(request).await {
            let mut report = session.run("the task", options()).await;
            while let Ok(waiting) = &report
                && waiting.status == TurnStatus::AwaitingApproval
            {
                for id in &waiting.approvals {
                    let _ = tidegate_runtime::decide_approval(&*world.store, *id, true).await;
                }
                report = session.resume(options()).await;
            }
        }
    }
    let has_failed = failed(&meddling);

    world.store = good;
    let model = Actor::of("m", vec![ask(), says("Done."), says("Done.")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let mut report = if session.transcript().entries().is_empty() {
        session.run("the task", options()).await.unwrap()
    } else {
        // Where the model's answer was lost it is asked again, and here it begins with its first line.
        match session.transcript().last_assistant() {
            None => session.resume(options()).await.unwrap(),
            Some(_) => {
                let after = Actor::of("m", vec![says("Done."), says("Done.")]);
                let runtime = world.runtime(&after);
                drop(session);
                session = world.session(&runtime).await;
                session.resume(options()).await.unwrap()
            }
        }
    };
    for _ in 0..5 {
        if report.status != TurnStatus::AwaitingApproval {
            break;
        }
        for record in world.requests().await {
            if record.state == ApprovalState::Waiting {
                world.decides(record.id, true).await;
            }
        }
        let after = Actor::of("m", vec![says("Done."), says("Done.")]);
        let runtime = world.runtime(&after);
        drop(session);
        session = world.session(&runtime).await;
        report = session.resume(options()).await.unwrap();
    }
    let case = format!("commit {fails}, happens: {happens}, somebody: {somebody}");
    assert_eq!(report.status, TurnStatus::Success, "{case}");

    // Each call ran at most once, and what the model was told of it is true.
    let sent = sent.lock().unwrap().clone();
    let results = results(&session);
    assert_eq!(results.len(), CALLS.len(), "{case}");
    for (text, result) in CALLS.iter().zip(&results) {
        let times = sent.iter().filter(|sent| sent == text).count();
        match result.status {
            ResultStatus::Ok => assert_eq!(times, 1, "{case}, {text}"),
            ResultStatus::Unknown => {
                assert!(times <= 1, "{case}, {text}");
                assert_eq!(text_of(result), INTERRUPTED_RESULT);
            }
            other => panic!("{case}, {text}: {other:?} {}", text_of(result)),
        }
    }
    // Whatever ran was granted for just that, and the grant is used up.
    let requests = world.requests().await;
    assert!(
        requests.iter().all(|record| record.state == ApprovalState::Used),
        "{case}: {requests:?}"
    );
    assert_eq!(requests.len(), CALLS.len(), "{case}");
    let journal = world
        .store
        .calls(session.id(), report.turn.unwrap())
        .await
        .unwrap();
    assert_eq!(journal.len(), CALLS.len(), "{case}");
    assert!(journal.iter().all(|row| row.attempts == 1), "{case}: {journal:?}");
    let unknown = journal
        .iter()
        .filter(|row| row.state == CallState::Started)
        .count();
    assert_eq!(
        unknown,
        results
            .iter()
            .filter(|result| result.status == ResultStatus::Unknown)
            .count(),
        "{case}"
    );
    assert!(unknown <= 1, "{case}");
    has_failed
}

#[tokio::test]
async fn whatever_commit_is_the_last_no_approved_call_runs_twice_and_none_runs_without_its_grant() {
    let mut points = 0;
    for somebody in [true, false] {
        for happens in [true, false] {
            for fails in 1.. {
                if !ends_well(fails, happens, somebody).await {
                    break;
                }
                points += 1;
            }
        }
    }
    assert!(
        points > 40,
        "{points} points: the commits are not what this test was made for"
    );
}

#[tokio::test]
async fn an_approved_call_that_only_reads_is_not_run_again_either() {
    let looked = Arc::new(std::sync::Mutex::new(0));
    let count = Arc::clone(&looked);
    let look = crate::world::tool("look", move |text| {
        *count.lock().unwrap() += 1;
        text.to_owned()
    });
    let mut world = World::new().tool(look).approved(["look"]);
    let grants = owner(|_| ApprovalAnswer::Grant);
    let mut unknown = 0;
    for fails in 1.. {
        *looked.lock().unwrap() = 0;
        let store: Arc<dyn tidegate_store::Store> = Arc::new(tidegate_store::MemoryStore::new());
        let meddling = Meddling::store(Arc::clone(&store), Some((fails, true)));
        world.store = meddling.clone();
        let calls = || asks([("look", json!({"text": "x"}))]);
        let model = Actor::of("m", vec![calls(), says("Done."), says("Done.")]);
        let runtime = world.runtime(&model);
        let request =
            tidegate_runtime::SessionRequest::new(tidegate_runtime::Which::Named("s".parse().unwrap()))
                .workspace(world.workspace());
        if let Ok(mut session) = runtime.session(request).await {
            let _ = session.run("the task", attended(&grants)).await;
        }
        if !failed(&meddling) {
            break;
        }
        world.store = store;
        let model = Actor::of("m", vec![says("Done."), says("Done.")]);
        let runtime = world.runtime(&model);
        let mut session = world.session(&runtime).await;
        if session.transcript().last_assistant().is_none() {
            // It ended before there was a call.
            continue;
        }
        session.resume(attended(&grants)).await.unwrap();
        assert!(*looked.lock().unwrap() <= 1, "commit {fails}");
        unknown += results(&session)
            .iter()
            .filter(|result| result.status == ResultStatus::Unknown)
            .count();
    }
    assert!(unknown > 0, "no point lay between the use and the result");
}
