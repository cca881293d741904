//! Events as they are stored.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::Value;
use tidegate_message::{
    ApprovalDecision, BreakCause, BrokenPart, CompactionTrigger, Event, EventKind, FinishReason, Limit,
    MemoryTrouble, QuestionEnd, RecalledItem, ResultStatus, SummaryBy, Tier, TurnStatus, Unavailable, Usage,
    Warning,
};
use tidegate_policy::{
    ApprovalId, Classification, Decision, Evaluation, FlowKind, Label, MemoryId, Origin, RuleOutcome,
    RuleTrace, SessionId, TurnId,
};

fn evaluation() -> Evaluation {
    Evaluation {
        flow: FlowKind::ToolCall,
        decision: Decision::Block,
        rule: Some("no-write-down".into()),
        rules: vec![RuleTrace {
            rule: "no-write-down".into(),
            outcome: RuleOutcome::Refused,
            why: "it is".into(),
        }],
        taint_before: Label::BOTTOM,
        taint_after: Label::UNREADABLE,
        label: Label::untrusted(Classification::Internal),
        redactions: Vec::new(),
        explanation: Some("because".into()),
        told: Some("no".into()),
    }
}

/// Every kind, with every optional field once set and once not.
fn kinds() -> Vec<EventKind> {
    let model = || "local:small:7b".parse().unwrap();
    let usage = Usage {
        uncached: u64::MAX,
        cache_read: 2,
        cache_write: 3,
        output: 4,
    };
    vec![
        EventKind::SessionCreated {
            name: Some("mine".parse().unwrap()),
            clearance: Classification::Restricted,
        },
        EventKind::SessionCreated {
            name: None,
            clearance: Classification::Public,
        },
        EventKind::TurnStarted,
        EventKind::TurnResumed {
            unknown_calls: vec!["call_2_0".into()],
        },
        EventKind::ModelCalled {
            model: model(),
            tier: Some(Tier::Lite),
            round: 1,
            entries: 9,
            tools: Some(4),
            targets: vec![Tier::Flash, Tier::Pro],
            must_answer: true,
        },
        EventKind::ModelCalled {
            model: model(),
            tier: None,
            round: 1,
            entries: 9,
            tools: None,
            targets: Vec::new(),
            must_answer: false,
        },
        EventKind::ModelReplied {
            model: model(),
            usage,
            finish: FinishReason::ContentFilter,
            calls: 2,
            duration_ms: 5,
        },
        EventKind::ModelFailed {
            model: model(),
            class: "timeout".into(),
            message: "after 60 s".into(),
        },
        EventKind::ModelRetracted {
            model: model(),
            characters: 12,
        },
        EventKind::ModelRetried {
            model: model(),
            class: "timeout".into(),
            attempt: 2,
            wait_ms: 2_000,
        },
        EventKind::ModelDelayed {
            model: model(),
            wait_ms: 30_000,
        },
        EventKind::ModelUnavailable {
            model: model(),
            class: Unavailable::CircuitOpen,
            wait_ms: 29_000,
        },
        EventKind::ModelFallback {
            from: model(),
            to: "remote:big".parse().unwrap(),
        },
        EventKind::ModelSkipped {
            model: model(),
            evaluation: evaluation(),
        },
        EventKind::FlowJudged {
            call: Some("call_2_0".into()),
            tool: Some("look".into()),
            evaluation: evaluation(),
        },
        EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation: evaluation(),
        },
        EventKind::ApprovalAsked {
            approval: ApprovalId::from_bits(3),
            call: "call_2_0".into(),
            tool: "look".into(),
            rule: "bumper".into(),
        },
        EventKind::ApprovalDecided {
            approval: ApprovalId::from_bits(3),
            call: "call_2_0".into(),
            tool: "look".into(),
            rule: "bumper".into(),
            decision: ApprovalDecision::Expired,
        },
        EventKind::ApprovalUsed {
            approval: ApprovalId::from_bits(3),
            call: "call_2_0".into(),
            tool: "look".into(),
            rule: "bumper".into(),
        },
        EventKind::QuestionAsked {
            approval: ApprovalId::from_bits(4),
            call: "call_2_1".into(),
            tool: "ask_user".into(),
        },
        EventKind::QuestionSettled {
            approval: ApprovalId::from_bits(4),
            call: "call_2_1".into(),
            end: QuestionEnd::GivenUp,
        },
        EventKind::ToolStarted {
            call: "call_2_0".into(),
            tool: "look".into(),
        },
        EventKind::ToolFinished {
            call: "call_2_0".into(),
            tool: "look".into(),
            status: ResultStatus::NotRun,
            duration_ms: 0,
            source: Some("src_1".into()),
        },
        EventKind::TaintRaised {
            from: Label::BOTTOM,
            to: Label::UNREADABLE,
            origin: Origin::Tool {
                tool: "look".into(),
                resources: vec!["a.txt".into()],
                source: None,
            },
        },
        EventKind::TaintRaised {
            from: Label::BOTTOM,
            to: Label::UNREADABLE,
            origin: Origin::Owner,
        },
        EventKind::TierSwitched {
            from: Tier::Lite,
            to: Tier::Flash,
            reason: Some("hard".into()),
        },
        EventKind::TurnLimited {
            limit: Limit::Rounds,
            allowed: 30,
        },
        EventKind::CompactionStarted {
            cause: CompactionTrigger::Overflow,
            tokens: 130_000,
            window: 128_000,
        },
        EventKind::CompactionFinished {
            cause: CompactionTrigger::Threshold,
            summary: Some(SummaryBy::Plain),
            reason: Some("no model".into()),
            model: Some("local:small".parse().unwrap()),
            usage,
            messages_before: 220,
            messages_after: 220,
            tokens_before: 288_000,
            tokens_after: 183_000,
            passes: 2,
            stubs: 17,
        },
        EventKind::CompactionFailed {
            cause: CompactionTrigger::Manual,
            error: "the system prompt is too large".into(),
            wait_ms: 60_000,
            model: Some(model()),
            usage,
        },
        EventKind::PrefixBreak {
            cause: BreakCause::Compaction,
            part: BrokenPart::Message,
            index: 3,
            tokens: 90_000,
        },
        EventKind::MemoryRecalled {
            memories: vec![RecalledItem {
                memory: "886313e1-3b8a-5372-9b90-0c9aee199e5d".into(),
                label: Label::BOTTOM,
            }],
            left_out: 2,
            words_alone: Some(MemoryTrouble::NotCleared),
        },
        EventKind::MemoryUnavailable {
            class: MemoryTrouble::TimedOut,
            message: "it took longer than 2000 ms".into(),
        },
        EventKind::MemoryReleased {
            memory: MemoryId::new("ferry"),
            from: Label::trusted(Classification::Confidential),
            to: Label::BOTTOM,
        },
        EventKind::TurnFinished {
            status: TurnStatus::Success,
            warning: Some(Warning::BudgetExhausted),
            error: None,
            usage,
        },
    ]
}

fn event(kind: EventKind) -> Event {
    Event {
        session: SessionId::from_bits(1),
        sequence: u64::MAX,
        at_ms: -1,
        turn: Some(TurnId::from_bits(2)),
        label: Label::UNREADABLE,
        kind,
    }
}

#[test]
fn every_kind_is_read_back_as_it_was_written() {
    for kind in kinds() {
        for turn in [None, Some(TurnId::from_bits(2))] {
            let event = Event {
                turn,
                ..event(kind.clone())
            };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event, "{text}");
        }
    }
}

#[test]
fn the_name_of_a_kind_is_its_tag_and_no_field_hides_one_of_the_envelope() {
    let mut names = Vec::new();
    for kind in kinds() {
        let alone = serde_json::to_value(&kind).unwrap();
        assert_eq!(alone["kind"], kind.name());
        for field in ["session", "sequence", "at_ms", "turn", "label"] {
            assert!(alone.get(field).is_none(), "{} has a field {field}", kind.name());
        }
        names.push(kind.name());
    }
    names.dedup();
    assert_eq!(names, EventKind::NAMES);
}

#[test]
fn a_kind_of_a_newer_version_is_an_error_that_names_it() {
    let text = serde_json::to_string(&event(EventKind::TurnStarted))
        .unwrap()
        .replace("turn.started", "turn.paused");
    let error = serde_json::from_str::<Event>(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("unknown variant `turn.paused`, expected one of `session.created`, "),
        "{error}"
    );
}

#[test]
fn events_read_as_flat_objects() {
    insta::assert_snapshot!(
        serde_json::to_string(&event(EventKind::TurnLimited { limit: Limit::Calls, allowed: 25 })).unwrap(),
        @r#"{"session":"s_00000000000000000000000000000001","sequence":18446744073709551615,"at_ms":-1,"turn":"u_00000000000000000000000000000002","label":{"classification":"RESTRICTED","integrity":"UNTRUSTED"},"kind":"turn.limited","limit":"calls","allowed":25}"#
    );
}
