//! What stops a model that gets nowhere: repetition, refusals of the owner, the end of the turn's time.

use crate::turn::{LABEL, Turn, done, says};
use std::collections::BTreeSet;
use std::time::Duration;
use tidegate_core::{Profile, Step};
use tidegate_message::{Body, EventKind, Limit, ResultStatus, ToolResult, TurnStatus, UserMessage, Warning};
use tidegate_policy::SourceId;

const NUDGE: &str = "the result was the same every time";

/// How the turn goes on after the results of one round.
#[derive(Debug, PartialEq)]
enum Next {
    GoesOn,
    Nudged,
    MustAnswer,
}

fn next(turn: &Turn) -> Next {
    match turn.step() {
        Step::CallModel {
            must_answer: true, ..
        } => Next::MustAnswer,
        _ if turn
            .story()
            .lines()
            .last()
            .is_some_and(|line| line.contains(NUDGE)) =>
        {
            Next::Nudged
        }
        _ => Next::GoesOn,
    }
}

fn patient() -> Turn {
    Turn::new(Profile::main(100), "auto")
}

#[test]
fn the_same_call_with_the_same_result_36_times_is_nudged_once_and_then_stopped() {
    let mut turn = patient();
    let mut ran = 0;
    let mut nudges = 0;
    for _ in 0..36 {
        if turn.run.outcome().is_some() {
            break;
        }
        let advance = turn.says(&[r#"look {"path": "a"}"#]);
        if let Step::RunTools { .. } = advance.step {
            turn.runs_tools_that_say("nothing");
            ran += 1;
            nudges += u32::from(next(&turn) == Next::Nudged);
        }
    }
    assert_eq!((ran, nudges), (4, 1));
    let outcome = turn.run.outcome().unwrap();
    assert_eq!(
        (outcome.status, outcome.warning),
        (TurnStatus::Success, Some(Warning::Repeating))
    );
    assert_eq!((outcome.calls_used, outcome.rounds), (4, 5));
    assert_eq!(
        outcome.answer,
        "The model repeated the same call with the same result and gave no answer."
    );
    insta::assert_snapshot!(turn.story());
}

#[test]
fn a_model_that_takes_the_hint_goes_on_freely() {
    let mut turn = patient();
    for _ in 0..3 {
        turn.says(&["look"]);
        turn.runs_tools_that_say("nothing");
    }
    assert_eq!(next(&turn), Next::Nudged);
    for round in 0..10 {
        turn.says(&[&format!(r#"look {{"page": {round}}}"#)]);
        turn.runs_tools_that_say("nothing");
        assert_eq!(next(&turn), Next::GoesOn);
    }
    turn.says(&["\"Done."]);
    assert_eq!(turn.run.outcome().unwrap().warning, None);
}

#[test]
fn what_counts_as_the_same_call() {
    let same = Next::Nudged;
    let other = Next::GoesOn;
    for (calls, expected) in [
        (["look", "look", "look {}"], &same),
        (
            [
                r#"look {"a": 1, "b": 2}"#,
                r#"look {"b":2,"a":1}"#,
                r#"look { "a" : 1, "b": 2 }"#,
            ],
            &same,
        ),
        (
            [r#"look {"a": 1}"#, r#"look {"a": 1}"#, r#"look {"a": 2}"#],
            &other,
        ),
        (
            [r#"look {"a": 1}"#, r#"look {"a": 1}"#, r#"look {"a": "1"}"#],
            &other,
        ),
        (["look", "look", "watch"], &other),
        // Not JSON: compared as it stands.
        (["look {", "look {", "look {"], &same),
        (["look {", "look {", "look ["], &other),
    ] {
        let mut turn = patient();
        for call in calls {
            turn.says(&[call]);
            turn.runs_tools_that_say("nothing");
        }
        assert_eq!(next(&turn), *expected, "{calls:?}");
    }
}

#[test]
fn what_counts_as_the_same_result() {
    let status = |status| move |result: ToolResult| ToolResult { status, ..result };
    type Change = Box<dyn Fn(ToolResult) -> ToolResult>;
    let cases: [(&str, Change, Next); 4] = [
        ("the same", Box::new(|result| result), Next::Nudged),
        (
            "another status",
            Box::new(status(ResultStatus::Error)),
            Next::GoesOn,
        ),
        (
            "another text",
            Box::new(|result| ToolResult {
                content: vec![],
                ..result
            }),
            Next::GoesOn,
        ),
        (
            "another label",
            Box::new(|result| ToolResult {
                label: tidegate_policy::Label::BOTTOM,
                ..result
            }),
            Next::Nudged,
        ),
    ];
    for (what, change, expected) in cases {
        let mut turn = patient();
        for round in 0..3 {
            turn.says(&["look"]);
            let result = says(&turn.to_run()[0], "nothing");
            let result = if round == 1 { change(result) } else { result };
            turn.run.on_results(&mut turn.transcript, vec![result]).unwrap();
        }
        assert_eq!(next(&turn), expected, "{what}");
    }
}

#[test]
fn the_name_under_which_a_cut_result_is_kept_does_not_hide_that_it_is_the_same() {
    let mut turn = patient();
    for _ in 0..3 {
        turn.says(&["look"]);
        let call = turn.to_run()[0].clone();
        let source = SourceId::new(format!("src_{}", call.id));
        let result = says(&call, &format!("0123 [cut; all of it is {source}]"));
        let source = Some(source);
        let result = ToolResult { source, ..result };
        turn.run.on_results(&mut turn.transcript, vec![result]).unwrap();
    }
    assert_eq!(next(&turn), Next::Nudged);
}

#[test]
fn repetition_is_counted_within_one_message_and_within_one_turn_alone() {
    let mut turn = patient();
    turn.says(&["look", "look", "look", "look", "look"]);
    turn.runs_tools_that_say("nothing");
    assert!(turn.story().ends_with(
        "program: You have called look 5 times with the same arguments, and the result was the same every time. \
         Calling it again like this will not change that. Do something else, or answer with what you have."
    ));

    let later = tidegate_policy::TurnId::from_bits(6);
    let mut turn = patient();
    for round in 0..4 {
        turn.says(&["look"]);
        turn.runs_tools_that_say("nothing");
        if round == 1 {
            turn.says(&["\"Nothing there."]);
            turn.transcript
                .push_user(later, LABEL, UserMessage::person("look again"))
                .unwrap();
            let routing = turn.run.routing().clone();
            turn.run = tidegate_core::Run::start(Profile::main(100), routing, later);
        }
    }
    assert_eq!(next(&turn), Next::GoesOn, "twice in each of two turns");
}

#[test]
fn a_notice_is_as_high_as_what_it_speaks_of() {
    let secret = tidegate_policy::Label::untrusted(tidegate_policy::Classification::Restricted);
    let mut turn = patient();
    for _ in 0..3 {
        turn.says(&["look"]);
        let result = ToolResult {
            label: secret,
            ..says(&turn.to_run()[0], "x")
        };
        turn.run.on_results(&mut turn.transcript, vec![result]).unwrap();
    }
    let last = turn.transcript.entries().last().unwrap();
    assert!(matches!(last.body, Body::User(_)));
    assert_eq!(last.label, secret);
}

#[test]
fn three_refusals_of_the_owner_make_the_model_answer() {
    let mut turn = patient();
    for refusal in 1..=3 {
        turn.says(&["write", "look"]);
        turn.run.on_refusals(1);
        let advance = turn.runs_tools();
        let must_answer = refusal == 3;
        assert!(
            matches!(advance.step, Step::CallModel { must_answer: found, .. } if found == must_answer),
            "{advance:?}"
        );
        if must_answer {
            let limited = EventKind::TurnLimited {
                limit: Limit::Refusals,
                allowed: 3,
            };
            assert_eq!(advance.events, [limited]);
        }
    }
    turn.says(&["\"Then not.", "write"]);
    let outcome = turn.run.outcome().unwrap();
    assert_eq!(
        (outcome.status, outcome.warning),
        (TurnStatus::Success, Some(Warning::ApprovalsRefused))
    );
    assert_eq!(outcome.answer, "Then not.");
    insta::assert_snapshot!(turn.story());
}

#[test]
fn refusals_in_one_message_count_each_and_a_switch_beside_them_still_happens() {
    let mut turn = patient();
    turn.says(&["write", "write", "write", &crate::turn::switch("FLASH")]);
    turn.run.on_refusals(3);
    let advance = turn.runs_tools();
    assert!(matches!(advance.step, Step::SwitchTier { .. }), "{advance:?}");
    assert_eq!(next(&turn), Next::MustAnswer);
}

#[test]
fn the_end_of_its_time_answers_every_open_call_honestly() {
    let allowed = Duration::from_secs(1_800);
    let mut turn = Turn::main();
    turn.says(&["look", "write", "write", &crate::turn::switch("FLASH")]);
    turn.run.steer(LABEL, UserMessage::person("hurry")).unwrap();
    let known = vec![done(&turn.to_run()[0])];
    let begun = BTreeSet::from(["call_2_1".into()]);
    let advance = turn
        .run
        .on_expiry(&mut turn.transcript, LABEL, known, &begun, allowed)
        .unwrap();
    let advance = turn.checked(advance);
    assert!(matches!(advance.step, Step::Finish(_)));
    let outcome = turn.run.outcome().unwrap().clone();
    assert_eq!(outcome.status, TurnStatus::Error);
    assert!(
        outcome
            .error
            .unwrap()
            .starts_with("the turn took longer than 1800 s and was stopped\n")
    );
    assert_eq!(turn.run.routing().current(), Some(tidegate_message::Tier::Lite));
    insta::assert_snapshot!(turn.story());

    // It is over; a second end changes nothing.
    let before = turn.run.clone();
    turn.cancelled(vec![], &[]).unwrap();
    turn.run
        .on_expiry(&mut turn.transcript, LABEL, vec![], &begun, allowed)
        .unwrap();
    assert_eq!(turn.run, before);

    let mut turn = Turn::main();
    let advance = turn
        .run
        .on_expiry(&mut turn.transcript, LABEL, vec![], &begun, allowed)
        .unwrap();
    assert!(advance.appended.is_empty() && matches!(advance.step, Step::Finish(_)));
}
