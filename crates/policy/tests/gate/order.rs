//! Which rule decides what, and in which order.

use super::*;
use tidegate_policy::{
    AnswerFlow, Classification::*, ContextFlow, Decision, FlowKind, ModelFlow, ResponseFlow, ResponseStatus,
    RuleOutcome, rule,
};

fn check(call: Call, deciding: Option<&str>) {
    let evaluation = call.judge();
    assert_eq!(
        evaluation.rule.as_ref().map(|rule| rule.as_str()),
        deciding,
        "{call:?}\n{evaluation:?}"
    );
    assert_eq!(evaluation.is_allowed(), deciding.is_none(), "{call:?}");
}

fn refused(rule: &str) -> Option<&str> {
    Some(rule)
}

const ALLOWED: Option<&str> = None;

/// Every check of a call in order.
const ORDER: [&str; 9] = [
    rule::ALLOWED_SET,
    rule::ROLE,
    rule::ARGUMENTS,
    rule::NEVER_WRITE_OWN_FILES,
    rule::TOOL_FLOOR,
    rule::READ_CEILING,
    rule::NO_WRITE_DOWN,
    rule::BUMPER,
    rule::TOOL_APPROVAL,
];

/// Those that refuse; the others ask.
const REFUSING: usize = 7;

/// Makes `call` break one rule.
fn breaking(call: Call, broken: &str) -> Call {
    match broken {
        rule::ALLOWED_SET => call.not_offered(&["read_file"]),
        rule::ROLE => call.needs(Role::Admin),
        rule::ARGUMENTS => call.invalid("`path` is missing"),
        rule::NEVER_WRITE_OWN_FILES => call.with(writes_own_file("tidegate.toml")),
        rule::TOOL_FLOOR => call.floor(Restricted),
        rule::READ_CEILING => call.with(reads("restricted/a", Restricted)),
        rule::NO_WRITE_DOWN => call.with(writes("public/a", Public)),
        rule::BUMPER => Call {
            taint: Taint::default(),
            ..call.with(reads("internal/a", Internal)).bumper(Public, Public)
        },
        rule::TOOL_APPROVAL => call.approval(),
        other => panic!("no way to break {other}"),
    }
}

/// Every rule a call passes, in order: those tried here, and those with tests of their own.
fn every_rule() -> Vec<&'static str> {
    let mut rules = ORDER.to_vec();
    let after = |rules: &[&str], rule| rules.iter().position(|other| *other == rule).unwrap() + 1;
    rules.insert(after(&rules, rule::NO_WRITE_DOWN), rule::INTEGRITY_BY_VALUE);
    rules.insert(after(&rules, rule::TOOL_APPROVAL), rule::SECRET_SCOPE);
    rules
}

/// A call in a CONFIDENTIAL session with as much clearance.
fn in_a_confidential_session() -> Call {
    Call::of("write_file")
        .after_reading("confidential/q3.md", Confidential, 3)
        .clearance(Confidential)
}

#[test]
fn an_unobjectionable_call_passes_every_rule_in_order() {
    let evaluation = in_a_confidential_session().judge();
    let looked_at: Vec<_> = evaluation.rules.iter().map(|trace| trace.rule.as_str()).collect();
    assert_eq!(looked_at, every_rule());
    assert!(
        evaluation
            .rules
            .iter()
            .all(|trace| trace.outcome == RuleOutcome::Passed && !trace.why.is_empty())
    );
    assert_eq!(
        (evaluation.flow, evaluation.decision, evaluation.rule),
        (FlowKind::ToolCall, Decision::Allow, None)
    );
    assert_eq!((evaluation.explanation, evaluation.told), (None, None));
}

#[test]
fn each_rule_refuses_and_the_trace_ends_with_it() {
    for (position, broken) in ORDER.into_iter().enumerate().take(REFUSING) {
        let evaluation = breaking(in_a_confidential_session(), broken).judge();
        let looked_at: Vec<_> = evaluation.rules.iter().map(|trace| trace.rule.as_str()).collect();
        assert_eq!(looked_at, ORDER[..=position]);
        for (index, trace) in evaluation.rules.iter().enumerate() {
            let expected = if index == position {
                RuleOutcome::Refused
            } else {
                RuleOutcome::Passed
            };
            assert_eq!(trace.outcome, expected, "{broken}: {trace:?}");
        }
        assert_eq!(evaluation.rule.as_ref().map(|rule| rule.as_str()), Some(broken));
        assert_eq!(evaluation.decision, Decision::Block);
        assert!(evaluation.explanation.is_some() && !evaluation.for_model().is_empty());
    }
}

#[test]
fn of_two_rules_that_would_refuse_the_earlier_decides() {
    for (position, earlier) in ORDER.into_iter().enumerate() {
        for later in ORDER.into_iter().skip(position + 1) {
            // A rule that asks, asks only where none refuses.
            let (low, high) = (position, ORDER.iter().position(|rule| *rule == later).unwrap());
            let deciding = if high < REFUSING || low < REFUSING {
                earlier
            } else {
                ORDER[low]
            };
            check(
                breaking(breaking(in_a_confidential_session(), earlier), later),
                refused(deciding),
            );
            check(
                breaking(breaking(in_a_confidential_session(), later), earlier),
                refused(deciding),
            );
        }
    }
}

fn decision(call: &Call) -> (Decision, Option<String>) {
    let evaluation = call.judge();
    (evaluation.decision, evaluation.rule.map(|rule| rule.to_string()))
}

fn asked(rule: &str) -> (Decision, Option<String>) {
    (Decision::RequireApproval, Some(rule.into()))
}

#[test]
fn a_rule_that_asks_leaves_the_list_whole_and_the_taint_as_it_was() {
    for broken in [rule::BUMPER, rule::TOOL_APPROVAL] {
        let call = breaking(in_a_confidential_session(), broken);
        let evaluation = call.judge();
        let looked_at: Vec<_> = evaluation.rules.iter().map(|trace| trace.rule.as_str()).collect();
        assert_eq!(looked_at, every_rule());
        assert!(evaluation.needs_approval() && !evaluation.is_allowed());
        assert!(evaluation.is_asked_by(broken));
        assert_eq!(evaluation.taint_after, call.taint.label());
        assert!(evaluation.explanation.is_some() && !evaluation.for_model().is_empty());

        let granted = call.granted().judge();
        assert_eq!((granted.decision, granted.rule), (Decision::Allow, None));
        let trace = granted
            .rules
            .iter()
            .find(|trace| trace.rule.as_str() == broken)
            .unwrap();
        assert_eq!(trace.outcome, RuleOutcome::Passed);
        assert!(trace.why.contains("the owner granted this call"), "{trace:?}");
    }
}

#[test]
fn a_refusal_counts_more_than_a_question_and_no_grant_undoes_it() {
    for broken in ORDER.into_iter().take(REFUSING) {
        for asking in [rule::BUMPER, rule::TOOL_APPROVAL] {
            let call = breaking(breaking(in_a_confidential_session(), asking), broken);
            let expected = (Decision::Block, Some(broken.to_owned()));
            assert_eq!(decision(&call), expected);
            assert_eq!(decision(&call.granted()), expected);
        }
    }
}

#[test]
fn both_rules_that_ask_ask_once() {
    let both = breaking(
        breaking(in_a_confidential_session(), rule::BUMPER),
        rule::TOOL_APPROVAL,
    );
    assert_eq!(decision(&both), asked(rule::BUMPER));
    let evaluation = both.judge();
    assert!(evaluation.is_asked_by(rule::BUMPER) && evaluation.is_asked_by(rule::TOOL_APPROVAL));
    let explanation = evaluation.explanation.unwrap();
    assert!(
        explanation.ends_with("\n  also: each call of write_file has to be approved"),
        "{explanation}"
    );
    assert_eq!(decision(&both.granted()), (Decision::Allow, None));
}

#[test]
fn the_owner_is_asked_before_the_session_rises_once_per_level() {
    let allowed = || (Decision::Allow, None);
    for (taint, brings, above, acknowledged, expected) in [
        (Public, Internal, Internal, Public, allowed()),
        (Public, Confidential, Internal, Public, asked(rule::BUMPER)),
        (Internal, Confidential, Internal, Public, asked(rule::BUMPER)),
        (Confidential, Confidential, Internal, Public, allowed()),
        (Restricted, Confidential, Internal, Public, allowed()),
        (Public, Confidential, Internal, Confidential, allowed()),
        (Public, Restricted, Internal, Confidential, asked(rule::BUMPER)),
        (Public, Confidential, Internal, Restricted, allowed()),
        (Public, Internal, Public, Public, asked(rule::BUMPER)),
        (Public, Public, Public, Public, allowed()),
        (Public, Restricted, Restricted, Public, allowed()),
    ] {
        let call = || {
            Call::of("read_file")
                .after_reading("a", taint, 1)
                .bumper(above, acknowledged)
        };
        let case = format!("{taint} {brings} {above} {acknowledged}");
        assert_eq!(decision(&call().with(reads("b", brings))), expected, "{case}");
        assert_eq!(decision(&call().with(attaches("b", brings))), expected, "{case}");
        assert_eq!(
            decision(&call().returns(Label::trusted(brings))),
            expected,
            "{case}"
        );
        let unattended = Call {
            bumper: None,
            ..call().with(reads("b", brings))
        };
        assert_eq!(decision(&unattended), allowed(), "{case}");
    }
    // What a call writes to raises nothing.
    let writing = Call::of("write_file")
        .with(writes("a", Restricted))
        .bumper(Public, Public);
    assert_eq!(decision(&writing), allowed());
}

#[test]
fn a_role_reaches_all_roles_below_it() {
    for (has, needs, expected) in [
        (Role::Guest, Role::Guest, ALLOWED),
        (Role::Guest, Role::User, refused(rule::ROLE)),
        (Role::User, Role::User, ALLOWED),
        (Role::User, Role::Admin, refused(rule::ROLE)),
        (Role::Admin, Role::Guest, ALLOWED),
        (Role::Admin, Role::Admin, ALLOWED),
    ] {
        check(
            Call {
                role: has,
                ..Call::of("run_command").needs(needs)
            },
            expected,
        );
    }
}

#[test]
fn the_floor_is_measured_against_the_sessions_taint() {
    for (taint, floor, expected) in [
        (Public, Public, ALLOWED),
        (Public, Internal, refused(rule::TOOL_FLOOR)),
        (Internal, Internal, ALLOWED),
        (Internal, Confidential, refused(rule::TOOL_FLOOR)),
        (Restricted, Confidential, ALLOWED),
    ] {
        let call = Call::of("query_vault").floor(floor).after_reading("a", taint, 1);
        check(call.clone(), expected);
        // What produced the arguments plays no part.
        check(call.produced_by(Label::UNREADABLE), expected);
    }
}

#[test]
fn nothing_above_the_clearance_is_read_sent_along_or_returned() {
    for clearance in Classification::ALL {
        for level in Classification::ALL {
            let expected = if level <= clearance {
                ALLOWED
            } else {
                refused(rule::READ_CEILING)
            };
            let call = || Call::of("read_file").clearance(clearance);
            check(call().with(reads("a", level)), expected);
            check(call().with(attaches("a", level)), expected);
            check(call().returns(Label::trusted(level)), expected);
            check(call().with(reads("a", Public)).with(reads("b", level)), expected);
        }
    }
    // Integrity is no part of a clearance.
    check(
        Call::of("web")
            .returns(Label::untrusted(Public))
            .clearance(Public),
        ALLOWED,
    );
}

#[test]
fn data_goes_up_and_never_down() {
    for level in Classification::ALL {
        for to in Classification::ALL {
            let expected = if level <= to {
                ALLOWED
            } else {
                refused(rule::NO_WRITE_DOWN)
            };
            let writing = Call::of("write_file").with(writes("out", to));
            check(writing.clone().after_reading("in", level, 1), expected);
            check(writing.clone().with(attaches("in", level)), expected);
            check(writing.clone().with(reads("in", level)), expected);
            check(
                writing
                    .clone()
                    .with(writes("elsewhere", Restricted))
                    .with(attaches("in", level)),
                expected,
            );
        }
    }
}

#[test]
fn what_was_read_after_the_arguments_were_written_does_not_count_for_write_down() {
    let call = Call::of("write_file")
        .with(writes("public/a", Public))
        .after_reading("q3.md", Confidential, 2);
    check(call.clone(), refused(rule::NO_WRITE_DOWN));
    check(call.clone().produced_by(Label::BOTTOM), ALLOWED);
    // Nor does a session that knows less than the arguments excuse them.
    check(
        Call::of("write_file")
            .with(writes("public/a", Public))
            .produced_by(Label::trusted(Internal)),
        refused(rule::NO_WRITE_DOWN),
    );
}

#[test]
fn the_lowest_of_several_sinks_decides() {
    let call = Call::of("send").after_reading("a", Internal, 1);
    check(
        call.clone()
            .with(writes("a", Internal))
            .with(writes("b", Restricted)),
        ALLOWED,
    );
    check(
        call.with(writes("b", Restricted)).with(writes("a", Public)),
        refused(rule::NO_WRITE_DOWN),
    );
}

#[test]
fn without_a_sink_nothing_can_go_down() {
    check(
        Call::of("read_file")
            .after_reading("a", Restricted, 1)
            .with(reads("b", Restricted)),
        ALLOWED,
    );
}

#[test]
fn editing_a_file_in_place_reads_and_writes_one_level() {
    let edit = |level| {
        Call::of("edit_file")
            .with(reads("a", level))
            .with(writes("a", level))
    };
    for level in Classification::ALL {
        check(edit(level), ALLOWED);
        check(
            edit(level).after_reading("b", Confidential, 1),
            if level >= Confidential {
                ALLOWED
            } else {
                refused(rule::NO_WRITE_DOWN)
            },
        );
    }
}

#[test]
fn what_a_command_could_reach_is_no_payload_of_it() {
    let source = |level| Resource::Source {
        what: named(ResourceKind::Command, "cargo build"),
        label: Label::untrusted(level),
    };
    let run = Call::of("run_command").with(source(Confidential)).with(sink(
        ResourceKind::Command,
        "cargo build",
        Public,
    ));
    check(run.clone(), ALLOWED);
    check(run.clone().clearance(Internal), refused(rule::READ_CEILING));
    check(
        run.clone().after_reading("a", Internal, 1),
        refused(rule::NO_WRITE_DOWN),
    );
    check(
        run.with(reads("input.csv", Internal)),
        refused(rule::NO_WRITE_DOWN),
    );
}

#[test]
fn the_label_of_a_call_is_what_it_would_carry() {
    let call = Call::of("send")
        .produced_by(Label::trusted(Internal))
        .with(attaches("a", Confidential))
        .with(writes("b", Restricted));
    let evaluation = call.judge();
    assert_eq!(evaluation.label, Label::untrusted(Confidential));
    assert_eq!(
        (evaluation.taint_before, evaluation.taint_after),
        (Label::BOTTOM, Label::BOTTOM)
    );
}

struct Result<'a> {
    source: Label,
    read: Label,
    declared: Option<&'a str>,
}

fn judge_result(result: &Result<'_>, taint: Label, clearance: Classification) -> Evaluation {
    let tool = ToolPolicy {
        source: result.source,
        ..tool_policy("query")
    };
    let flow = ResponseFlow {
        tool: &tool,
        status: ResponseStatus::Ok,
        read: result.read,
        declared: result.declared,
        texts: None,
    };
    let taint = Taint::new(taint);
    Gate::default().judge(
        Flow::Response(&flow),
        SessionFacts {
            taint: &taint,
            clearance,
            bumper: None,
            caller: Caller::default(),
        },
    )
}

#[test]
fn a_result_carries_the_join_of_tool_resources_and_declaration() {
    let (public, internal, confidential) = (
        Label::trusted(Public),
        Label::trusted(Internal),
        Label::trusted(Confidential),
    );
    for (source, read, declared, expected) in [
        (public, public, None, public),
        (internal, public, None, internal),
        (public, confidential, None, confidential),
        (
            Label::untrusted(Public),
            internal,
            None,
            Label::untrusted(Internal),
        ),
        (public, public, Some("confidential "), confidential),
        // It may only raise.
        (confidential, public, Some("PUBLIC"), confidential),
        (public, internal, Some("PUBLIC"), internal),
        (
            Label::untrusted(Public),
            public,
            Some("INTERNAL"),
            Label::untrusted(Internal),
        ),
        // What cannot be read is RESTRICTED and UNTRUSTED.
        (public, public, Some(""), Label::UNREADABLE),
        (public, public, Some("SECRET"), Label::UNREADABLE),
        (public, public, Some("PUBLIС"), Label::UNREADABLE),
    ] {
        let evaluation = judge_result(
            &Result {
                source,
                read,
                declared,
            },
            Label::BOTTOM,
            Restricted,
        );
        assert!(evaluation.is_allowed());
        assert_eq!(
            (evaluation.label, evaluation.taint_after),
            (expected, expected),
            "{declared:?}"
        );
    }
}

#[test]
fn a_result_raises_the_taint_by_its_label() {
    let result = Result {
        source: Label::untrusted(Public),
        read: Label::trusted(Internal),
        declared: None,
    };
    let evaluation = judge_result(&result, Label::trusted(Confidential), Confidential);
    assert_eq!(evaluation.label, Label::untrusted(Internal));
    assert_eq!(evaluation.taint_before, Label::trusted(Confidential));
    assert_eq!(evaluation.taint_after, Label::untrusted(Confidential));
}

#[test]
fn a_result_above_the_clearance_is_withheld_with_a_text_that_tells_nothing() {
    let mut told = std::collections::BTreeSet::new();
    for (source, read, declared) in [
        (Restricted, Public, None),
        (Public, Confidential, None),
        (Public, Public, Some("RESTRICTED")),
        (Public, Public, Some("\u{1b}[2Jnonsense")),
    ] {
        let result = Result {
            source: Label::trusted(source),
            read: Label::trusted(read),
            declared,
        };
        let evaluation = judge_result(&result, Label::trusted(Internal), Internal);
        assert_eq!(
            evaluation.rule.as_ref().map(|rule| rule.as_str()),
            Some(rule::READ_CEILING)
        );
        assert_eq!(
            (evaluation.taint_before, evaluation.taint_after),
            (Label::trusted(Internal), Label::trusted(Internal))
        );
        told.insert(evaluation.for_model());
    }
    assert_eq!(
        told.into_iter().collect::<Vec<_>>(),
        ["The result is withheld: it is above what this session may read."]
    );
}

#[test]
fn a_context_goes_to_models_cleared_for_it() {
    for level in Classification::ALL {
        for clearance in Classification::ALL {
            let taint = Taint::new(Label::untrusted(level));
            let session = SessionFacts {
                taint: &taint,
                clearance: Restricted,
                bumper: None,
                caller: Caller::default(),
            };
            let flow = ModelFlow {
                model: "local:small",
                clearance,
            };
            let evaluation = Gate::default().judge(Flow::Model(&flow), session);
            let expected = (level > clearance).then_some(rule::PROVIDER_CLEARANCE);
            assert_eq!(evaluation.rule.as_ref().map(|rule| rule.as_str()), expected);
            assert_eq!(
                (evaluation.label, evaluation.taint_after),
                (taint.label(), taint.label())
            );
        }
    }
}

#[test]
fn an_answer_goes_to_readers_cleared_for_it() {
    for level in Classification::ALL {
        for clearance in Classification::ALL {
            let taint = Taint::new(Label::trusted(level));
            let session = SessionFacts {
                taint: &taint,
                clearance: Restricted,
                bumper: None,
                caller: Caller::default(),
            };
            let flow = AnswerFlow {
                reader: "ann",
                clearance,
                texts: None,
                recipients: &[],
                granted: false,
            };
            let evaluation = Gate::default().judge(Flow::Answer(&flow), session);
            let expected = (level > clearance).then_some(rule::NO_WRITE_DOWN);
            assert_eq!(evaluation.rule.as_ref().map(|rule| rule.as_str()), expected);
            assert_eq!(
                (evaluation.label, evaluation.taint_after),
                (taint.label(), taint.label())
            );
        }
    }
}

#[test]
fn text_enters_a_context_up_to_its_clearance_and_raises_it() {
    for level in Classification::ALL {
        for clearance in Classification::ALL {
            let taint = Taint::new(Label::trusted(Public));
            let session = SessionFacts {
                taint: &taint,
                clearance,
                bumper: None,
                caller: Caller::default(),
            };
            let flow = ContextFlow {
                what: "the task",
                label: Label::untrusted(level),
                texts: None,
            };
            let evaluation = Gate::default().judge(Flow::Context(&flow), session);
            if level <= clearance {
                assert_eq!(
                    (evaluation.rule, evaluation.taint_after),
                    (None, Label::untrusted(level))
                );
            } else {
                assert_eq!(
                    evaluation.rule.as_ref().map(|rule| rule.as_str()),
                    Some(rule::READ_CEILING)
                );
                assert_eq!(evaluation.taint_after, taint.label());
            }
        }
    }
}
