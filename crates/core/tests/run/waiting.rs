//! Calls that wait for the owner.

use crate::turn::{Facts, LABEL, Turn, done, switch};
use std::collections::BTreeSet;
use tidegate_core::{Run, RunError, Step};
use tidegate_message::{ResultStatus, ToolCall, ToolResult, TurnStatus, UserMessage};
use tidegate_policy::CallId;

fn refused(call: &ToolCall) -> ToolResult {
    ToolResult::text(call, ResultStatus::Refused, LABEL, "the owner refused it")
}

fn waits(turn: &mut Turn, known: Vec<ToolResult>, waiting: &[&ToolCall]) -> Step {
    let waiting: Vec<CallId> = waiting.iter().map(|call| call.id.clone()).collect();
    let advance = turn
        .run
        .on_waiting(&mut turn.transcript, known, &waiting)
        .unwrap();
    let advance = turn.checked(advance);
    assert!(
        advance.appended.is_empty() && advance.events.is_empty(),
        "{advance:?}"
    );
    advance.step
}

#[test]
fn calls_that_wait_stay_open_and_what_is_known_of_the_others_is_kept() {
    let mut turn = Turn::main();
    turn.says(&["write", "look", "write", "write", &switch("FLASH")]);
    let calls = turn.to_run();
    let step = waits(
        &mut turn,
        vec![done(&calls[1]), refused(&calls[3])],
        &[&calls[0], &calls[2]],
    );
    let waiting = Step::Approve {
        calls: vec![calls[0].clone(), calls[2].clone()],
    };
    assert_eq!(step, waiting);
    assert!(turn.transcript.is_open());
    assert_eq!(turn.run.outcome(), None);
    let outcome = turn.run.waiting_outcome();
    assert_eq!(
        (outcome.status, outcome.calls_used, outcome.rounds),
        (TurnStatus::AwaitingApproval, 4, 1)
    );

    // In another process, a day later.
    turn.run = Run::load(Run::VERSION, &turn.run.save().unwrap()).unwrap();
    let (transcript, run) = (&mut turn.transcript, &mut turn.run);
    let advance = run
        .on_resume(transcript, LABEL, vec![], &BTreeSet::new(), &Facts)
        .unwrap();
    let batches = vec![vec![calls[0].clone()], vec![calls[2].clone()]];
    assert_eq!(advance.step, Step::RunTools { batches });

    // One was granted, the other waits still; said meanwhile comes after the results.
    turn.run.steer(LABEL, UserMessage::person("well?")).unwrap();
    assert_eq!(
        waits(&mut turn, vec![done(&calls[0])], &[&calls[2]]),
        Step::Approve {
            calls: vec![calls[2].clone()]
        }
    );
    let advance = turn
        .run
        .on_results(&mut turn.transcript, vec![refused(&calls[2])])
        .unwrap();
    let advance = turn.checked(advance);
    assert!(matches!(advance.step, Step::SwitchTier { .. }), "{advance:?}");
    insta::assert_snapshot!(turn.story());
}

#[test]
fn where_nothing_waits_the_results_are_taken_as_they_are() {
    let mut turn = Turn::main();
    turn.says(&["look", "write"]);
    let known = turn.to_run().iter().map(done).collect();
    let advance = turn.run.on_waiting(&mut turn.transcript, known, &[]).unwrap();
    assert!(matches!(
        turn.checked(advance).step,
        Step::CallModel { round: 2, .. }
    ));
}

#[test]
fn a_turn_that_waits_can_be_cancelled_and_crash() {
    let mut turn = Turn::main();
    turn.says(&["write", "look", "write"]);
    let calls = turn.to_run();
    waits(&mut turn, vec![done(&calls[1])], &[&calls[0], &calls[2]]);

    // What was granted had begun when the process ended.
    let begun = BTreeSet::from([calls[0].id.clone()]);
    let (transcript, run) = (&mut turn.transcript, &mut turn.run);
    let advance = run
        .on_resume(transcript, LABEL, vec![done(&calls[1])], &begun, &Facts)
        .unwrap();
    assert_eq!(
        advance.step,
        Step::RunTools {
            batches: vec![vec![calls[2].clone()]]
        }
    );

    let advance = turn.cancelled(vec![], &[]).unwrap();
    turn.checked(advance);
    assert_eq!(turn.run.outcome().unwrap().status, TurnStatus::Cancelled);
    insta::assert_snapshot!(turn.story());
}

#[test]
fn what_does_not_add_up_is_refused_and_changes_nothing() {
    let mut turn = Turn::main();
    let problem = |turn: &mut Turn, known: Vec<ToolResult>, waiting: &[&str]| {
        let (run, transcript) = (turn.run.clone(), turn.transcript.clone());
        let waiting: Vec<CallId> = waiting.iter().map(|id| (*id).into()).collect();
        let error = turn
            .run
            .on_waiting(&mut turn.transcript, known, &waiting)
            .unwrap_err();
        assert_eq!((&turn.run, &turn.transcript), (&run, &transcript));
        error
    };
    let error = problem(&mut turn, vec![], &["call_2_0"]);
    assert_eq!(
        error.to_string(),
        "the run got calls that wait while it waits for a model's reply; ask it for its step and do that"
    );
    turn.says(&["write", "write", &switch("FLASH")]);
    let calls = turn.to_run();
    for (known, waiting, expected) in [
        (vec![], vec!["call_2_0"], "call_2_1"),
        (vec![], vec!["call_2_0", "call_2_1", "call_2_2"], "call_2_2"),
        (vec![done(&calls[0])], vec!["call_2_0", "call_2_1"], "call_2_0"),
        (
            vec![done(&calls[0]), done(&calls[1])],
            vec!["call_9_9"],
            "call_9_9",
        ),
    ] {
        match problem(&mut turn, known, &waiting) {
            RunError::NotWaiting { call } => assert_eq!(call.as_str(), expected),
            other => panic!("{other:?}"),
        }
    }
    let stray = ToolResult {
        call: "call_9_9".into(),
        ..done(&calls[0])
    };
    assert!(matches!(
        problem(&mut turn, vec![stray], &["call_2_0", "call_2_1"]),
        RunError::NotOpen { .. }
    ));
}
