//! Rules and facts: which match.

use super::*;
use serde_json::json;
use tidegate_policy::Decision;

/// Whether a rule with this condition stops the call, for BLOCK; whether it lets it pass before a rule that stops all,
/// for ALLOW.
fn matches(call: &Call, action: &str, condition: &str) -> bool {
    let rest = format!("action = \"{action}\"\npriority = 1\nwhen = [{{ {condition} }}]");
    let file = [
        rule("tried", "PRE_TOOL_CALL", &rest),
        rule(
            "else",
            "PRE_TOOL_CALL",
            if action == "ALLOW" {
                "action = \"BLOCK\""
            } else {
                "action = \"ALLOW\""
            },
        ),
    ]
    .concat();
    let evaluation = call.judge(&gate(&file));
    let blocked = evaluation.decision == Decision::Block;
    blocked == (action == "BLOCK")
}

fn check(call: &Call, condition: &str, block: bool, allow: bool) {
    assert_eq!(matches(call, "BLOCK", condition), block, "BLOCK {condition}");
    assert_eq!(matches(call, "ALLOW", condition), allow, "ALLOW {condition}");
}

fn op(field: &str, op: &str, value: &str) -> String {
    format!("field = \"{field}\", op = \"{op}\", value = {value}")
}

#[test]
fn each_operator_says_what_its_name_says() {
    let mut call = Call::of(
        "send",
        json!({"n": 5, "f": 2.5, "big": 9_007_199_254_740_993_u64, "t": "Hello", "b": true}),
    );
    call.taint = Label::untrusted(Classification::Internal);
    for (condition, expected) in [
        (op("tool", "equals", "\"send\""), true),
        (op("tool", "equals", "\"Send\""), false),
        (op("tool", "equals", "\"sen\""), false),
        (op("tool", "not_equals", "\"send\""), false),
        (op("tool", "not_equals", "\"read\""), true),
        (op("tool", "contains", "\"en\""), true),
        (op("tool", "contains", "\"EN\""), false),
        (op("tool", "matches", "'^s.*d$'"), true),
        (op("tool", "matches", "'^en'"), false),
        (op("tool", "matches", "'(?i)SEND'"), true),
        (op("tool", "in", "[\"read\", \"send\"]"), true),
        (op("tool", "in", "[\"read\"]"), false),
        (op("tool", "exists", "true"), true),
        (op("tool", "exists", "false"), false),
        (op("taint", "equals", "\"internal\""), true),
        (op("taint", "gt", "\"PUBLIC\""), true),
        (op("taint", "gt", "\"INTERNAL\""), false),
        (op("taint", "gte", "\"INTERNAL\""), true),
        (op("taint", "gte", "\"CONFIDENTIAL\""), false),
        (op("taint", "lt", "\"INTERNAL\""), false),
        (op("taint", "lt", "\"CONFIDENTIAL\""), true),
        (op("taint", "lte", "\"INTERNAL\""), true),
        (op("taint", "lte", "\"PUBLIC\""), false),
        (op("taint", "in", "[\"PUBLIC\", \"INTERNAL\"]"), true),
        (op("taint", "not_equals", "\"INTERNAL\""), false),
        (op("integrity", "equals", "\"UNTRUSTED\""), true),
        (op("integrity", "equals", "\"TRUSTED\""), false),
        (op("role", "gte", "\"USER\""), true),
        (op("role", "gt", "\"USER\""), false),
        (op("attended", "equals", "true"), true),
        (op("attended", "not_equals", "true"), false),
        (op("parallel", "lte", "1"), true),
        (op("parallel", "gt", "1"), false),
        (op("action", "equals", "\"none\""), true),
        (op("consequential", "equals", "false"), true),
        (op("arguments.n", "equals", "5"), true),
        (op("arguments.n", "equals", "5.0"), true),
        (op("arguments.n", "gt", "4.5"), true),
        (op("arguments.n", "gt", "5"), false),
        (op("arguments.f", "lt", "3"), true),
        (op("arguments.f", "in", "[1, 2.5]"), true),
        (op("arguments.big", "equals", "9007199254740993"), true),
        (op("arguments.big", "equals", "9007199254740992"), false),
        (op("arguments.t", "contains", "\"ell\""), true),
        (op("arguments.b", "equals", "true"), true),
        (op("arguments.b", "equals", "false"), false),
        (op("arguments.n", "matches", "'^5$'"), true),
        (op("arguments.n", "equals", "\"5\""), true),
        (op("arguments.b", "equals", "\"true\""), true),
        (op("arguments_text", "matches", "'(?m)^Hello$'"), true),
        (op("user", "equals", "\"ann\""), true),
        (op("clearance", "equals", "\"RESTRICTED\""), true),
    ] {
        check(&call, &condition, expected, expected);
    }
}

#[test]
fn what_is_not_there_meets_nothing_but_its_absence() {
    let call = Call::of(
        "send",
        json!({"none": null, "empty": {}, "list": [], "blank": ""}),
    );
    for field in [
        "arguments.other",
        "arguments.none",
        "arguments.empty",
        "arguments.list",
        "channel",
        "recipients",
    ] {
        check(&call, &op(field, "exists", "false"), true, true);
        check(&call, &op(field, "exists", "true"), false, false);
        check(
            &call,
            &format!("field = \"{field}\", op = \"exists\""),
            false,
            false,
        );
        for (operator, value) in [
            ("equals", "\"x\""),
            ("not_equals", "\"x\""),
            ("matches", "\"\""),
            ("in", "[\"x\"]"),
        ] {
            check(&call, &op(field, operator, value), false, false);
        }
    }
    check(&call, &op("arguments.blank", "exists", "true"), true, true);
    check(&call, &op("sink_level", "lte", "\"RESTRICTED\""), false, false);
}

#[test]
fn of_several_values_one_is_enough_to_refuse_and_all_are_needed_to_allow() {
    let call = Call::of(
        "send",
        json!({"to": ["boss", "stranger"], "people": [{"name": "boss"}, {"name": "eve"}]}),
    );
    for (condition, block, allow) in [
        (op("arguments.to", "equals", "\"boss\""), true, false),
        (op("arguments.to", "not_equals", "\"boss\""), true, false),
        (op("arguments.to", "in", "[\"boss\", \"stranger\"]"), true, true),
        (op("arguments.to", "in", "[\"boss\"]"), true, false),
        (op("arguments.to", "in", "[\"nobody\"]"), false, false),
        (op("arguments.to", "matches", "'^.{4,}$'"), true, true),
        (op("arguments.people.name", "equals", "\"eve\""), true, false),
        (op("arguments.people", "contains", "\"e\""), true, false),
        (op("arguments.people", "matches", "'[oe]'"), true, true),
    ] {
        check(&call, &condition, block, allow);
    }
}

#[test]
fn what_cannot_be_compared_counts_against_the_call() {
    let call = Call::of(
        "pay",
        json!({"amount": "a thousand", "text": "1000", "flag": true, "some": [1, "x"]}),
    );
    for (condition, block, allow) in [
        (op("arguments.amount", "gt", "100"), true, false),
        (op("arguments.amount", "lt", "100"), true, false),
        (op("arguments.amount", "in", "[100, 200]"), true, false),
        (op("arguments.amount", "in", "[100, \"other\"]"), false, false),
        (op("arguments.text", "gt", "100"), true, true),
        (op("arguments.text", "gt", "1000"), false, false),
        (op("arguments.text", "equals", "1000"), true, true),
        (op("arguments.flag", "gt", "0"), true, false),
        (op("arguments.some", "gt", "0"), true, false),
        (op("arguments.some", "gt", "5"), true, false),
    ] {
        check(&call, &condition, block, allow);
    }
}

#[test]
fn what_is_not_known_counts_against_the_call() {
    let mut call = Call::of("send", json!({}));
    call.arguments = None;
    call.parallel = None;
    call.caller = Caller::default();
    for condition in [
        op("arguments.x", "equals", "1"),
        op("arguments.x", "exists", "true"),
        op("arguments.x", "exists", "false"),
        op("arguments_text", "contains", "\"x\""),
        op("parallel", "gt", "5"),
        op("user", "equals", "\"ann\""),
        op("user", "not_equals", "\"ann\""),
        op("role", "gte", "\"ADMIN\""),
    ] {
        check(&call, &condition, true, false);
    }
    let evaluation = call.judge(&gate(&rule(
        "r",
        "PRE_TOOL_CALL",
        &format!(
            "action = \"BLOCK\"\nwhen = [{{ {} }}]",
            op("user", "equals", "\"ann\"")
        ),
    )));
    let trace = evaluation.rules.last().unwrap();
    assert_eq!(&*trace.why, "in doubt, which counts as met: user equals \"ann\"");
}

#[test]
fn all_conditions_of_a_rule_have_to_be_met() {
    let call = Call::of("send", json!({"n": 1}));
    for (tool, number, expected) in [("send", 1, true), ("send", 2, false), ("read", 1, false)] {
        let file = rule(
            "r",
            "PRE_TOOL_CALL",
            &format!(
                "action = \"BLOCK\"\nwhen = [{{ {} }}, {{ {} }}]",
                op("tool", "equals", &format!("\"{tool}\"")),
                op("arguments.n", "equals", &number.to_string())
            ),
        );
        assert_eq!(
            call.judge(&gate(&file)).decision == Decision::Block,
            expected,
            "{tool} {number}"
        );
    }
}

#[test]
fn names_with_dots_are_found_too() {
    let call = Call::of("x", json!({"a.b": {"c": "deep"}, "a": {"b": {"c": "deeper"}}}));
    check(&call, &op("arguments.a.b.c", "equals", "\"deep\""), true, false);
    check(&call, &op("arguments.a.b.c", "equals", "\"deeper\""), true, false);
    check(&call, &op("arguments.a.b.c", "contains", "\"deep\""), true, true);
}

#[test]
fn a_call_is_known_by_what_it_touches() {
    use tidegate_policy::{ResourceKind, ResourceRef, SinkLevel};
    let named = |kind, name: &str| ResourceRef {
        kind,
        name: name.into(),
    };
    let mut call = Call::of("copy", json!({}));
    call.resources = vec![
        Resource::Source {
            what: named(ResourceKind::Path, "notes/a.md"),
            label: Label::untrusted(Classification::Internal),
        },
        Resource::Payload {
            what: named(ResourceKind::Path, "b.pdf"),
            label: Label::trusted(Classification::Confidential),
        },
        Resource::Sink {
            what: named(ResourceKind::Url, "API.Example.com:8443"),
            level: SinkLevel::Level(Classification::Restricted),
        },
        Resource::Sink {
            what: named(ResourceKind::Recipient, "boss"),
            level: SinkLevel::Level(Classification::Confidential),
        },
    ];
    for (condition, block, allow) in [
        (op("sources", "equals", "\"notes/a.md\""), true, false),
        (op("sources", "in", "[\"notes/a.md\", \"b.pdf\"]"), true, true),
        (op("paths", "in", "[\"notes/a.md\", \"b.pdf\"]"), true, true),
        (op("sinks", "equals", "\"boss\""), true, false),
        (op("sinks", "equals", "\"b.pdf\""), false, false),
        (op("url.host", "equals", "\"api.example.com:8443\""), true, true),
        (op("recipients", "equals", "\"boss\""), true, true),
        (op("source_level", "equals", "\"CONFIDENTIAL\""), true, true),
        (op("sink_level", "equals", "\"CONFIDENTIAL\""), true, true),
        (op("carries", "equals", "\"CONFIDENTIAL\""), true, true),
    ] {
        check(&call, &condition, block, allow);
    }
}
