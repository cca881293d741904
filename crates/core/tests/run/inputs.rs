//! Steering, cancelling, failing, resuming, saving; and inputs that do not belong.

use crate::turn::{Facts, LABEL, TURN, Turn, done, reply, switch};
use std::collections::BTreeSet;
use tidegate_core::{Failure, Profile, Routing, Run, RunError, Step};
use tidegate_message::{
    EventKind, FinishReason, ModelPolicy, Tier, ToolResult, Transcript, TurnStatus, UserMessage,
};
use tidegate_policy::CallId;

fn person(text: &str) -> UserMessage {
    UserMessage::person(text)
}

fn ids(ids: &[&str]) -> BTreeSet<CallId> {
    ids.iter().map(|id| (*id).into()).collect()
}

#[test]
fn steering_comes_after_the_results_and_the_switch_still_happens() {
    let mut turn = Turn::main();
    turn.run.steer(LABEL, person("before the reply")).unwrap();
    turn.says(&["look", &switch("FLASH")]);
    turn.run.steer(LABEL, person("while tools run")).unwrap();
    assert_eq!(turn.run.waiting().len(), 2);
    let advance = turn.runs_tools();
    assert_eq!(advance.appended.len(), 3);
    assert!(matches!(advance.step, Step::SwitchTier { .. }));
    assert!(turn.run.waiting().is_empty());
    insta::assert_snapshot!(turn.story());
}

#[test]
fn a_reply_is_not_the_last_one_if_something_was_said_meanwhile() {
    for reply in [vec!["\"Done."], vec![], vec!["\"QUESTION: Which?"]] {
        let mut turn = Turn::delegate();
        turn.run.steer(LABEL, person("and the other one")).unwrap();
        let advance = turn.says(&reply);
        assert!(
            matches!(
                advance.step,
                Step::CallModel {
                    round: 2,
                    must_answer: false,
                    ..
                }
            ),
            "{advance:?}"
        );
        assert!(turn.story().ends_with("person: and the other one"));
        turn.says(&["\"Both done."]);
        assert_eq!(turn.run.outcome().unwrap().answer, "Both done.");
    }
}

#[test]
fn steering_at_the_limit_is_answered_without_tools() {
    let mut turn = Turn::new(Profile::main(0), "auto");
    turn.run.steer(LABEL, person("one")).unwrap();
    turn.says(&["look"]);
    turn.run.steer(LABEL, person("two")).unwrap();
    let advance = turn.says(&["\"First answer.", "look"]);
    assert!(matches!(
        advance.step,
        Step::CallModel {
            must_answer: true,
            ..
        }
    ));
    turn.says(&["\"Second answer."]);
    assert_eq!(turn.run.outcome().unwrap().answer, "Second answer.");
    insta::assert_snapshot!(turn.story());
}

#[test]
fn steering_that_says_nothing_or_comes_too_late_is_refused() {
    let mut turn = Turn::main();
    assert!(matches!(
        turn.run.steer(LABEL, person("")),
        Err(RunError::EmptyMessage)
    ));
    turn.says(&["\"Done."]);
    assert_eq!(
        turn.run.steer(LABEL, person("more")).unwrap_err().to_string(),
        "the run got a user message while it is finished; ask it for its step and do that"
    );
}

#[test]
fn a_cancel_answers_every_open_call_honestly() {
    let mut turn = Turn::main();
    turn.says(&["look", "write", "write", &switch("FLASH"), &switch("PRO"), "look"]);
    turn.run.steer(LABEL, person("stop it")).unwrap();
    let known = vec![done(&turn.to_run()[0])];
    let advance = turn
        .cancelled(known, &["call_2_0", "call_2_1", "call_of_another_unit"])
        .unwrap();
    assert_eq!(
        advance.events.len(),
        3,
        "the driver told of the known one, the reply of the two switches"
    );
    let advance = turn.checked(advance);
    assert_eq!(turn.run.outcome().unwrap().status, TurnStatus::Cancelled);
    assert!(matches!(advance.step, Step::Finish(_)));
    insta::assert_snapshot!(turn.story());
}

#[test]
fn a_cancel_does_not_switch_the_tier() {
    let mut turn = Turn::main();
    turn.says(&["look", &switch("FLASH")]);
    let advance = turn.cancelled(vec![], &[]).unwrap();
    turn.checked(advance);
    assert_eq!(turn.run.routing().current(), Some(Tier::Lite));
    assert!(turn.story().ends_with("call_2_1 NotRun: cancelled before it ran"));
}

#[test]
fn a_cancel_during_a_model_call_appends_nothing_and_one_after_the_end_changes_nothing() {
    let mut turn = Turn::main();
    let advance = turn.cancelled(vec![], &[]).unwrap();
    assert!(advance.appended.is_empty() && advance.events.is_empty());
    let before = turn.run.clone();
    assert_eq!(turn.cancelled(vec![], &[]).unwrap().step, advance.step);
    assert_eq!(turn.run, before);

    let mut turn = Turn::main();
    let finished = turn.says(&["\"Done."]);
    assert_eq!(turn.cancelled(vec![], &[]).unwrap().step, finished.step);
}

#[test]
fn a_failure_ends_the_turn_with_the_true_number_of_rounds() {
    let mut turn = Turn::main();
    turn.says(&["look"]);
    turn.runs_tools();
    turn.run.steer(LABEL, person("well?")).unwrap();
    let advance = turn
        .run
        .on_failure(&mut turn.transcript, Failure::error("no provider answered"))
        .unwrap();
    let advance = turn.checked(advance);
    assert_eq!(advance.appended.len(), 1);
    let outcome = turn.run.outcome().unwrap();
    assert_eq!(
        (outcome.status, outcome.rounds, outcome.calls_used),
        (TurnStatus::Error, 1, 1)
    );
    assert_eq!(outcome.error.as_deref(), Some("no provider answered"));
}

#[test]
fn an_answer_that_may_not_leave_is_taken_back() {
    for parts in [vec!["\"The secret."], vec!["\"QUESTION: The secret?"]] {
        let mut turn = Turn::delegate();
        turn.says(&parts);
        let advance = turn
            .run
            .on_failure(&mut turn.transcript, Failure::blocked("no write down"))
            .unwrap();
        turn.checked(advance);
        let outcome = turn.run.outcome().unwrap();
        assert_eq!(
            (outcome.status, outcome.answer.as_str(), &outcome.question),
            (TurnStatus::Blocked, "", &None)
        );
        turn.run
            .on_failure(&mut turn.transcript, Failure::error("later"))
            .unwrap();
        assert_eq!(
            turn.run.outcome().unwrap().status,
            TurnStatus::Blocked,
            "the first end stays"
        );
    }
}

#[test]
fn after_a_crash_begun_calls_are_never_run_again_and_the_others_are() {
    let mut turn = Turn::main();
    turn.says(&["look", "write", "write", &switch("FLASH")]);
    let calls = turn.to_run();
    let resume = |turn: &mut Turn, known: Vec<ToolResult>, begun: &[&str]| {
        let advance = turn
            .run
            .on_resume(&mut turn.transcript, LABEL, known, &ids(begun), &Facts)
            .unwrap();
        turn.checked(advance)
    };

    let advance = resume(&mut turn, vec![done(&calls[0])], &["call_2_0", "call_2_1"]);
    assert_eq!(
        advance.events[0],
        EventKind::TurnResumed {
            unknown_calls: vec!["call_2_1".into()]
        }
    );
    assert_eq!(advance.events.len(), 2);
    assert_eq!(
        advance.step,
        Step::RunTools {
            batches: vec![vec![calls[2].clone()]]
        }
    );

    // A second crash with the same facts changes nothing more.
    let again = resume(&mut turn, vec![done(&calls[0])], &["call_2_0", "call_2_1"]);
    assert_eq!(
        again.events,
        [EventKind::TurnResumed {
            unknown_calls: vec![]
        }]
    );
    assert_eq!(again.step, advance.step);

    let advance = resume(&mut turn, vec![], &["call_2_2"]);
    assert!(matches!(advance.step, Step::SwitchTier { to: Tier::Flash, .. }));
    insta::assert_snapshot!(turn.story());
}

#[test]
fn resuming_elsewhere_only_says_where_the_turn_stands() {
    let mut turn = Turn::main();
    let begun = ids(&["call_2_0"]);
    let advance = turn
        .run
        .on_resume(&mut turn.transcript, LABEL, vec![], &begun, &Facts)
        .unwrap();
    assert_eq!(
        advance.events,
        [EventKind::TurnResumed {
            unknown_calls: vec![]
        }]
    );
    assert!(matches!(advance.step, Step::CallModel { round: 1, .. }));
    let finished = turn.says(&["\"Done."]);
    let advance = turn
        .run
        .on_resume(&mut turn.transcript, LABEL, vec![], &begun, &Facts)
        .unwrap();
    assert!(advance.events.is_empty());
    assert_eq!(advance.step, finished.step);
}

#[test]
fn inputs_that_do_not_belong_change_nothing_and_say_what_is_waited_for() {
    let mut turn = Turn::main();
    let unchanged = |turn: &mut Turn, act: &dyn Fn(&mut Run, &mut Transcript) -> RunError, expected: &str| {
        let (run, transcript) = (turn.run.clone(), turn.transcript.clone());
        assert_eq!(act(&mut turn.run, &mut turn.transcript).to_string(), expected);
        assert_eq!((&turn.run, &turn.transcript), (&run, &transcript));
    };
    let results =
        |run: &mut Run, transcript: &mut Transcript| run.on_results(transcript, vec![]).unwrap_err();
    let says = |run: &mut Run, transcript: &mut Transcript| {
        run.on_reply(transcript, LABEL, reply(&["\"x"], FinishReason::Stop), &Facts)
            .unwrap_err()
    };
    let fails = |run: &mut Run, transcript: &mut Transcript| {
        run.on_failure(transcript, Failure::error("x")).unwrap_err()
    };
    unchanged(
        &mut turn,
        &results,
        "the run got results of tools while it waits for a model's reply; ask it for its step and do that",
    );
    turn.says(&["look", "look", &switch("FLASH")]);
    unchanged(
        &mut turn,
        &says,
        "the run got a model's reply while it waits for results of tools; ask it for its step and do that",
    );
    unchanged(
        &mut turn,
        &fails,
        "the run got a failure of the model while it waits for results of tools; ask it for its step and do that",
    );
    unchanged(&mut turn, &results, "the transcript does not take it");
    let stray = ToolResult {
        call: "call_9_9".into(),
        ..done(&turn.to_run()[0])
    };
    unchanged(
        &mut turn,
        &|run, transcript| {
            run.on_cancel(transcript, LABEL, vec![stray.clone()], &BTreeSet::new())
                .unwrap_err()
        },
        "there is a result for call call_9_9, but no such call is open",
    );
    unchanged(
        &mut turn,
        &|run, transcript| {
            run.on_resume(transcript, LABEL, vec![stray.clone()], &BTreeSet::new(), &Facts)
                .unwrap_err()
        },
        "there is a result for call call_9_9, but no such call is open",
    );
    turn.runs_tools();
    turn.says(&["\"Done."]);
    unchanged(
        &mut turn,
        &says,
        "the run got a model's reply while it is finished; ask it for its step and do that",
    );
    unchanged(
        &mut turn,
        &results,
        "the run got results of tools while it is finished; ask it for its step and do that",
    );
}

#[test]
fn the_causes_of_refused_results_are_kept() {
    let mut turn = Turn::main();
    turn.says(&["look", "look", &switch("FLASH")]);
    let mut results: Vec<ToolResult> = turn.to_run().iter().map(done).collect();
    results[1].call = "call_2_2".into();
    let error = turn.run.on_results(&mut turn.transcript, results).unwrap_err();
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "entry 3 does not answer the calls of entry 2: no result for call_2_1; more than one result for call_2_2"
    );
}

#[test]
fn a_run_beside_the_wrong_transcript_says_so_before_anything_is_done() {
    let mut open = Turn::main();
    open.says(&["look"]);
    let mut finished = Turn::main();
    finished.says(&["\"Done."]);
    let fresh = Turn::main();
    let problem = |run: &Run, transcript: &Transcript| run.step(transcript, &Facts).unwrap_err().to_string();
    let tail = "; a run and its transcript have to be stored in one transaction";
    for (run, transcript, expected) in [
        (
            &fresh.run,
            &Transcript::default(),
            "the run waits for a model's reply, but its transcript is empty",
        ),
        (
            &fresh.run,
            &open.transcript,
            "the run waits for a model's reply, but calls of its transcript are open",
        ),
        (
            &fresh.run,
            &finished.transcript,
            "the run waits for a model's reply, but its transcript ends with a model message",
        ),
        (
            &open.run,
            &fresh.transcript,
            "the run waits for results of tools, but no calls of its transcript are left to run",
        ),
    ] {
        assert_eq!(problem(run, transcript), format!("{expected}{tail}"));
    }
}

#[test]
fn a_saved_run_is_small_and_the_form_of_another_version_is_refused() {
    let mut turn = Turn::main();
    let long = format!("\"{}", "a long text ".repeat(10_000));
    turn.says(&[&long, "look"]);
    let bytes = turn.run.save().unwrap();
    assert!(bytes.len() < 2_000, "{} bytes", bytes.len());
    assert_eq!(Run::load(Run::VERSION, &bytes).unwrap(), turn.run);
    for version in [0, 2] {
        assert_eq!(
            Run::load(version, &bytes).unwrap_err().to_string(),
            format!(
                "the saved run has form {version}, and this version knows forms 1 to 1; finish it with the version of \
                 tidegate that saved it, or a newer one"
            )
        );
    }
    for bytes in [&b""[..], b"{}", b"null", &bytes[..bytes.len() - 1]] {
        let error = Run::load(1, bytes).unwrap_err();
        assert!(matches!(error, RunError::Unreadable { version: 1, .. }));
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn the_saved_form_is_that_of_version_1() {
    let mut turn = Turn::delegate();
    turn.says(&["look", &switch("FLASH"), &switch("PRO")]);
    turn.run.steer(LABEL, person("hm")).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&turn.run.save().unwrap()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn a_delegate_has_5_to_50_calls() {
    for (calls, valid) in [
        (0, false),
        (4, false),
        (5, true),
        (25, true),
        (50, true),
        (51, false),
        (u32::MAX, false),
    ] {
        assert_eq!(Profile::delegate(calls).is_ok(), valid, "{calls}");
    }
    assert_eq!(
        Profile::delegate(51).unwrap_err().to_string(),
        "a delegate's budget of 51 tool calls is out of range; write 5 to 50"
    );
}

#[test]
fn routing_follows_the_policy() {
    use Tier::{Flash, Lite, Pro};
    let routing = |policy: &str| Routing::new(&policy.parse::<ModelPolicy>().unwrap());
    for (policy, current, ceiling, targets) in [
        ("auto", Some(Lite), Some(Flash), vec![Flash]),
        ("auto_pro", Some(Lite), Some(Pro), vec![Flash, Pro]),
        ("LITE", Some(Lite), None, vec![]),
        ("PRO", Some(Pro), None, vec![]),
        ("local:small", None, None, vec![]),
    ] {
        let routing = routing(policy);
        assert_eq!(
            (routing.current(), routing.ceiling(), routing.targets()),
            (current, ceiling, targets)
        );
    }
    assert_eq!(routing("auto_pro").resumed_at(Flash).targets(), [Lite, Pro]);
    assert_eq!(
        routing("auto").resumed_at(Pro),
        routing("auto"),
        "the policy was lowered meanwhile"
    );
    assert_eq!(routing("LITE").resumed_at(Pro), routing("LITE"));
    let turn = Run::start(Profile::main(3), routing("local:small"), TURN);
    assert_eq!(turn.routing().current(), None);
    assert_eq!(turn.turn(), TURN);
}
