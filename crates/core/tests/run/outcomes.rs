//! What each kind of reply brings about, in each profile.

use crate::turn::{LABEL, Turn, switch};
use tidegate_core::{Advance, Outcome, Profile, Step};
use tidegate_message::{EventKind, FinishReason, Limit, Tier, TurnStatus, Usage, UserMessage, Warning};

fn outcome(advance: Advance) -> Outcome {
    match advance.step {
        Step::Finish(outcome) => outcome,
        other => panic!("not finished: {other:?}"),
    }
}

fn call_model(tier: Tier, round: u32, must_answer: bool) -> Step {
    Step::CallModel {
        tier: Some(tier),
        round,
        must_answer,
    }
}

/// The names of the calls in each batch.
fn batches(step: &Step) -> String {
    let Step::RunTools { batches } = step else {
        panic!("no tools are to be run: {step:?}")
    };
    let names = batches.iter().map(|batch| {
        batch
            .iter()
            .map(|call| call.name.as_str())
            .collect::<Vec<_>>()
            .join("+")
    });
    names.collect::<Vec<_>>().join(" | ")
}

fn event_names(advance: &Advance) -> Vec<&'static str> {
    advance.events.iter().map(EventKind::name).collect()
}

#[test]
fn a_text_is_the_answer() {
    let mut turn = Turn::main();
    assert_eq!(turn.step(), call_model(Tier::Lite, 1, false));
    let advance = turn.says(&["~thinking", "\"It ", "\"is."]);
    assert!(advance.events.is_empty());
    assert_eq!(
        outcome(advance),
        Outcome {
            status: TurnStatus::Success,
            answer: "It is.".into(),
            calls_used: 0,
            rounds: 1,
            usage: Usage {
                uncached: 10,
                cache_read: 0,
                cache_write: 0,
                output: 1
            },
            warning: None,
            question: None,
            error: None,
        }
    );
}

#[test]
fn calls_are_run_and_the_model_is_called_again() {
    let mut turn = Turn::main();
    let advance = turn.says(&["\"Let me see.", "look", "look"]);
    assert_eq!(batches(&advance.step), "look+look");
    assert_eq!(advance.appended.len(), 1);
    let advance = turn.runs_tools();
    assert_eq!(advance.step, call_model(Tier::Lite, 2, false));
    let outcome = outcome(turn.says(&["\"Two things."]));
    assert_eq!((outcome.calls_used, outcome.rounds), (2, 2));
    assert_eq!(
        outcome.usage,
        Usage {
            uncached: 20,
            cache_read: 0,
            cache_write: 0,
            output: 2
        }
    );
}

#[test]
fn each_profile_groups_calls_in_its_way() {
    let asked = ["look", "look", "write", "write_more", "look", "unknown", "write"];
    let delegate = Profile::delegate(50).unwrap();
    for (profile, expected) in [
        (
            Profile::main(1),
            "look+look | write | write_more | look+unknown | write",
        ),
        (
            delegate,
            "look | look | write | write_more | look | unknown | write",
        ),
        (Profile::light(1), "look+look+write+write_more+look+unknown+write"),
    ] {
        let mut turn = Turn::new(profile, "PRO");
        assert_eq!(batches(&turn.says(&asked).step), expected);
    }
}

#[test]
fn a_question_is_one_only_for_who_may_ask_and_only_in_the_last_line() {
    let question = |turn: &mut Turn, text: &str| match turn.says(&[&format!("\"{text}")]).step {
        Step::Ask { question } => Some(question),
        _ => None,
    };
    for (text, expected) in [
        ("QUESTION: Which one?", Some("Which one?")),
        ("I found two.\n\n  QUESTION:Which one?  \n \n", Some("Which one?")),
        ("QUESTION: Which one?\nI take the first.", None),
        ("The QUESTION: is which", None),
        ("question: which?", None),
        ("QUESTION:", None),
        ("QUESTION:  \n", None),
    ] {
        assert_eq!(
            question(&mut Turn::delegate(), text).as_deref(),
            expected,
            "{text:?}"
        );
        assert_eq!(question(&mut Turn::main(), text), None, "{text:?}");
        assert_eq!(
            question(&mut Turn::new(Profile::light(3), "auto"), text),
            None,
            "{text:?}"
        );
    }
    let mut turn = Turn::delegate();
    assert_eq!(
        batches(&turn.says(&["\"QUESTION: Which one?", "look"]).step),
        "look",
        "a call is no question"
    );
    turn.runs_tools();
    turn.says(&["\"Two.\nQUESTION: Which one?"]);
    let outcome = turn.run.outcome().unwrap();
    assert_eq!(outcome.status, TurnStatus::PendingQuestion);
    assert_eq!(outcome.answer, "Two.\nQUESTION: Which one?");
    assert_eq!(outcome.question.as_deref(), Some("Which one?"));
    assert_eq!(outcome.event().name(), "turn.finished");
}

#[test]
fn a_tier_switch_alone_is_answered_with_its_plan_and_costs_nothing() {
    let mut turn = Turn::delegate();
    let advance = turn.says(&["\"This is hard.", &switch("flash")]);
    assert_eq!(
        advance.step,
        Step::SwitchTier {
            from: Tier::Lite,
            to: Tier::Flash,
            plan: "plan for flash".into(),
            reason: None
        }
    );
    assert_eq!(event_names(&advance), ["tool.finished", "tier.switched"]);
    assert_eq!(turn.step(), call_model(Tier::Flash, 2, false));
    assert_eq!(turn.run.routing().targets(), [Tier::Lite]);
    insta::assert_snapshot!(turn.story());
    assert_eq!(outcome(turn.says(&["\"Done."])).calls_used, 0);
}

#[test]
fn a_tier_switch_costs_no_round_either() {
    let mut turn = Turn::new(Profile::main(0), "auto_pro");
    for target in ["PRO", "FLASH", "LITE"] {
        let advance = turn.says(&[&switch(target)]);
        assert!(matches!(advance.step, Step::SwitchTier { .. }), "{advance:?}");
    }
    assert_eq!(outcome(turn.says(&["\"Done."])).warning, None);
}

#[test]
fn a_tier_switch_beside_other_calls_waits_for_their_results() {
    let mut turn = Turn::main();
    let advance = turn.says(&["look", &switch("FLASH"), "write"]);
    assert_eq!(batches(&advance.step), "look | write");
    assert!(advance.events.is_empty());
    assert_eq!(turn.run.routing().current(), Some(Tier::Lite));
    let advance = turn.runs_tools();
    assert!(
        matches!(advance.step, Step::SwitchTier { to: Tier::Flash, .. }),
        "{advance:?}"
    );
    assert_eq!(event_names(&advance), ["tool.finished", "tier.switched"]);
    assert_eq!(turn.step(), call_model(Tier::Flash, 2, false));
    insta::assert_snapshot!(turn.story());
    assert_eq!(outcome(turn.says(&["\"Done."])).calls_used, 2);
}

#[test]
fn a_tier_switch_that_is_not_possible_is_a_failed_call_that_names_the_valid_targets() {
    let plan = r#""transfer_plan": "p""#;
    let call = |arguments: &str| format!("new_cognitive_level {arguments}");
    let cases: Vec<(&str, Vec<String>)> = vec![
        ("auto", vec![switch("PRO")]),
        ("auto", vec![switch("LITE")]),
        ("auto", vec![switch("gpt")]),
        ("auto", vec![switch("FLASH"), switch("FLASH")]),
        ("auto", vec!["new_cognitive_level".into()]),
        ("auto", vec![call(r#"{"target_model": "FLASH"}"#)]),
        (
            "auto",
            vec![call(r#"{"target_model": "FLASH", "transfer_plan": " "}"#)],
        ),
        (
            "auto",
            vec![call(&format!(
                r#"{{"target_model": "FLASH", {plan}, "why": "x"}}"#
            ))],
        ),
        ("auto", vec![call(&format!(r#"{{"target_model": 3, {plan}}}"#))]),
        ("auto", vec![call(r#"{"target_model": "FLASH", "#)]),
        ("auto_pro", vec![call(r#"["PRO"]"#)]),
        ("FLASH", vec![switch("PRO")]),
        ("local:small", vec![switch("PRO")]),
    ];
    let mut told = Vec::new();
    for (policy, calls) in cases {
        let mut turn = Turn::new(Profile::main(3), policy);
        let before = turn.run.routing().clone();
        let parts: Vec<&str> = calls.iter().map(String::as_str).collect();
        let advance = turn.says(&parts);
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
        assert_eq!(*turn.run.routing(), before);
        assert_eq!(event_names(&advance), vec!["tool.finished"; calls.len()]);
        told.extend(
            turn.story()
                .lines()
                .filter(|line| line.starts_with("call_"))
                .map(|line| format!("{policy}: {line}")),
        );
        assert_eq!(
            usize::try_from(outcome(turn.says(&["\"Then not."])).calls_used).unwrap(),
            calls.len()
        );
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn models_that_hand_a_task_back_and_forth_are_stopped() {
    let mut turn = Turn::main();
    for round in 0..8 {
        let target = if round % 2 == 0 { "FLASH" } else { "LITE" };
        assert!(matches!(
            turn.says(&[&switch(target)]).step,
            Step::SwitchTier { .. }
        ));
    }
    for _ in 0..3 {
        let advance = turn.says(&[&switch("FLASH")]);
        assert!(matches!(
            advance.step,
            Step::CallModel {
                tier: Some(Tier::Lite),
                must_answer: false,
                ..
            }
        ));
    }
    assert!(turn.story().contains(
        "Error: not switched: the tier was switched 8 times in this turn, which is the most there is. Go on yourself."
    ));
    let advance = turn.says(&[&switch("FLASH")]);
    assert!(
        matches!(
            advance.step,
            Step::CallModel {
                must_answer: true,
                ..
            }
        ),
        "refused switches use up the rounds"
    );
}

#[test]
fn a_light_sub_agent_has_no_tier_switch() {
    let mut turn = Turn::new(Profile::light(3), "auto");
    let advance = turn.says(&[&switch("FLASH"), "look"]);
    assert_eq!(
        batches(&advance.step),
        "new_cognitive_level+look",
        "whoever runs tools refuses the name"
    );
}

#[test]
fn calls_beyond_the_budget_are_not_run_and_the_model_answers() {
    let mut turn = Turn::delegate();
    turn.says(&["\"First.", "look", "look", "look"]);
    turn.runs_tools();
    let advance = turn.says(&["look", "write", "look"]);
    assert_eq!(advance.step, call_model(Tier::Lite, 3, true));
    assert_eq!(
        advance.events.first(),
        Some(&EventKind::TurnLimited {
            limit: Limit::Calls,
            allowed: 5
        })
    );
    assert_eq!(
        event_names(&advance),
        ["turn.limited", "tool.finished", "tool.finished", "tool.finished"]
    );
    assert_eq!(advance.appended.len(), 3);
    let outcome = outcome(turn.says(&["\"That is all I know."]));
    assert_eq!(
        (outcome.status, outcome.answer.as_str(), outcome.warning),
        (
            TurnStatus::Success,
            "That is all I know.",
            Some(Warning::BudgetExhausted)
        )
    );
    assert_eq!((outcome.calls_used, outcome.rounds), (3, 3));
    insta::assert_snapshot!(turn.story());
}

#[test]
fn a_budget_can_be_used_to_the_last_call_and_a_switch_beside_calls_is_not_counted() {
    let mut turn = Turn::delegate();
    turn.says(&["look", "look", "look", "look", &switch("FLASH"), "look"]);
    turn.runs_tools();
    assert_eq!(turn.step(), call_model(Tier::Flash, 2, false));
    let advance = turn.says(&[&switch("LITE"), "look"]);
    assert_eq!(
        advance.step,
        call_model(Tier::Flash, 3, true),
        "where nothing is run, nothing is switched"
    );
    assert_eq!(outcome(turn.says(&["\"Done."])).calls_used, 5);
}

#[test]
fn exactly_the_allowed_rounds_are_run() {
    for (profile, warning) in [
        (Profile::main(2), Warning::RoundsExhausted),
        (Profile::light(2), Warning::MaxRoundsReached),
    ] {
        let mut turn = Turn::new(profile, "FLASH");
        for _ in 0..2 {
            assert_eq!(batches(&turn.says(&["look", "look"]).step), "look+look");
            turn.runs_tools();
        }
        let advance = turn.says(&["\"One more.", "look"]);
        assert_eq!(advance.step, call_model(Tier::Flash, 4, true));
        assert_eq!(
            advance.events.first(),
            Some(&EventKind::TurnLimited {
                limit: Limit::Rounds,
                allowed: 2
            })
        );
        let outcome = outcome(turn.says(&["\"Done."]));
        assert_eq!(
            (outcome.calls_used, outcome.rounds, outcome.warning),
            (4, 4, Some(warning))
        );
    }
    let mut turn = Turn::new(Profile::main(2), "FLASH");
    for _ in 0..2 {
        turn.says(&["look"]);
        turn.runs_tools();
    }
    assert_eq!(outcome(turn.says(&["\"In time."])).warning, None);
}

#[test]
fn calls_in_the_forced_answer_are_answered_and_ignored() {
    for (last, expected) in [
        (vec!["\"So it is.", "look"], "So it is."),
        (vec!["look", "write"], "Wait."),
        (vec!["\" \n"], "Wait."),
        (vec![], "Wait."),
    ] {
        let mut turn = Turn::new(Profile::main(0), "auto");
        turn.says(&["\"Wait.", "look"]);
        let advance = turn.says(&last);
        let outcome = outcome(advance);
        assert_eq!(
            (outcome.status, outcome.answer.as_str()),
            (TurnStatus::Success, expected)
        );
        assert!(!turn.transcript.is_open());
    }
    let mut turn = Turn::new(Profile::main(0), "auto");
    turn.says(&["look"]);
    let outcome = outcome(turn.says(&[&switch("FLASH")]));
    assert_eq!(
        outcome.answer,
        "All 0 rounds of tool calls were used up before there was an answer."
    );
    assert_eq!(turn.run.routing().current(), Some(Tier::Lite));
    insta::assert_snapshot!(turn.story());
}

#[test]
fn an_empty_reply_is_reminded_once_and_then_an_error() {
    for silence in [vec![], vec!["~only thoughts"], vec!["\" \n"]] {
        let mut turn = Turn::main();
        assert_eq!(turn.says(&silence).step, call_model(Tier::Lite, 2, false));
        assert!(turn.story().ends_with(
            "program: Your last message was empty. Give your answer, or call a tool if there is something left to do."
        ));
        turn.says(&["look"]);
        turn.runs_tools();
        let outcome = outcome(turn.says(&silence));
        assert_eq!((outcome.status, outcome.answer.as_str()), (TurnStatus::Error, ""));
        assert!(
            outcome
                .error
                .unwrap()
                .starts_with("the model gave an empty answer")
        );
        // The session goes on.
        turn.transcript
            .push_user(
                tidegate_policy::TurnId::from_bits(6),
                LABEL,
                UserMessage::person("and now?"),
            )
            .unwrap();
    }
}

#[test]
fn why_a_model_stopped_matters() {
    let mut turn = Turn::main();
    let withheld = outcome(turn.says_and_stops(&["~hm"], FinishReason::ContentFilter));
    assert_eq!(withheld.status, TurnStatus::Error);
    assert!(
        withheld
            .error
            .unwrap()
            .starts_with("the provider withheld the answer")
    );

    for finish in [FinishReason::Length, FinishReason::ContentFilter] {
        let mut turn = Turn::main();
        let cut = outcome(turn.says_and_stops(&["\"And then"], finish));
        assert_eq!(
            (cut.status, cut.answer.as_str()),
            (TurnStatus::Success, "And then")
        );
        assert_eq!(cut.warning, Some(Warning::AnswerIncomplete));
    }
    for finish in [FinishReason::Stop, FinishReason::ToolCalls] {
        assert_eq!(
            outcome(Turn::main().says_and_stops(&["\"So."], finish)).warning,
            None
        );
    }
}

#[test]
fn a_call_in_which_the_reply_is_cut_off_is_not_run() {
    for (parts, expected) in [
        (vec!["look", "write"], "look"),
        (vec!["look", r#"write {"text": "abc"#], "look"),
        (vec!["look", r#"write {"text": "abc"}"#], "look | write"),
        (vec!["look {", "write {}"], "look | write"),
        (vec!["look", "write", "\"and"], "look | write"),
    ] {
        for finish in [FinishReason::Length, FinishReason::ContentFilter] {
            let mut turn = Turn::main();
            assert_eq!(
                batches(&turn.says_and_stops(&parts, finish).step),
                expected,
                "{parts:?}"
            );
            turn.runs_tools();
        }
    }
    let mut turn = Turn::main();
    let advance = turn.says_and_stops(&["write"], FinishReason::Length);
    assert_eq!(advance.step, call_model(Tier::Lite, 2, false));
    insta::assert_snapshot!(turn.story());
    assert_eq!(batches(&Turn::main().says(&["write"]).step), "write");
}
