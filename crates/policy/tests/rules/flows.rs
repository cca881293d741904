//! What rules do to flows, at every hook: order, overriding, approval, traces.

use super::*;
use serde_json::json;
use tidegate_policy::{
    AgentFlow, AgentKind, Classification::*, ContextFlow, Decision, FlowKind, Hook, McpFlow, McpStatus,
    ResetFlow, ResourceKind, ResourceRef, ResponseFlow, ResponseStatus, RuleOutcome, SecretFlow, SinkLevel,
};

const BLOCK: &str = "action = \"BLOCK\"";
const ALLOW: &str = "action = \"ALLOW\"";
const ASK: &str = "action = \"REQUIRE_APPROVAL\"";

fn traces(evaluation: &Evaluation) -> Vec<(String, RuleOutcome)> {
    let custom = evaluation
        .rules
        .iter()
        .filter(|trace| !tidegate_policy::rule::ALL.contains(&trace.rule.as_str()));
    custom
        .map(|trace| (trace.rule.to_string(), trace.outcome))
        .collect()
}

#[test]
fn the_first_that_matches_ends_it() {
    let call = Call::of("send", json!({}));
    let no = "when = [{ field = \"tool\", op = \"equals\", value = \"other\" }]\n";
    for (bodies, decision, decided_by, looked_at) in [
        (vec![ALLOW.to_owned(), BLOCK.to_owned()], Decision::Allow, None, 1),
        (
            vec![BLOCK.to_owned(), ALLOW.to_owned()],
            Decision::Block,
            Some("r0"),
            1,
        ),
        (
            vec![ASK.to_owned(), BLOCK.to_owned()],
            Decision::RequireApproval,
            Some("r0"),
            1,
        ),
        (
            vec![format!("{no}{BLOCK}"), ALLOW.to_owned()],
            Decision::Allow,
            None,
            2,
        ),
        (
            vec![format!("{no}{ALLOW}"), BLOCK.to_owned()],
            Decision::Block,
            Some("r1"),
            2,
        ),
        (vec![format!("{no}{BLOCK}")], Decision::Allow, None, 1),
        (
            vec![ALLOW.to_owned(), format!("{BLOCK}\npriority = 1")],
            Decision::Block,
            Some("r1"),
            1,
        ),
        (vec![], Decision::Allow, None, 0),
    ] {
        let file: String = bodies
            .iter()
            .enumerate()
            .map(|(index, body)| rule(&format!("r{index}"), "PRE_TOOL_CALL", body))
            .collect();
        let evaluation = call.judge(&gate(&file));
        assert_eq!(evaluation.decision, decision, "{file}");
        assert_eq!(deciding(&evaluation), decided_by, "{file}");
        assert_eq!(traces(&evaluation).len(), looked_at, "{file}");
    }
}

#[test]
fn rules_of_another_hook_are_not_looked_at() {
    let file: String = Hook::ALL
        .into_iter()
        .filter(|hook| *hook != Hook::PreToolCall)
        .map(|hook| rule(&format!("at-{hook}"), hook.as_str(), BLOCK))
        .collect();
    let evaluation = Call::of("send", json!({})).judge(&gate(&file));
    assert!(evaluation.is_allowed());
    assert_eq!(traces(&evaluation), []);
}

#[test]
fn no_rule_lets_through_what_a_built_in_one_refuses() {
    let gate = gate(&rule(
        "all",
        "PRE_TOOL_CALL",
        &format!("{ALLOW}\npriority = 9223372036854775807"),
    ));
    let mut call = Call::of("send", json!({}));
    call.taint = Label::trusted(Confidential);
    call.resources = vec![Resource::Sink {
        what: ResourceRef {
            kind: ResourceKind::Recipient,
            name: "ann".into(),
        },
        level: SinkLevel::Level(Public),
    }];
    call.granted = true;
    let evaluation = call.judge(&gate);
    assert_eq!(
        (evaluation.decision, deciding(&evaluation)),
        (Decision::Block, Some("no-write-down"))
    );
    assert_eq!(traces(&evaluation), [], "custom rules are not looked at any more");

    // Nor does it answer a question a built-in rule asks.
    let mut call = Call::of("send", json!({}));
    call.tool.approval = true;
    let evaluation = call.judge(&gate);
    assert_eq!(
        (evaluation.decision, deciding(&evaluation)),
        (Decision::RequireApproval, Some("tool-approval"))
    );
    assert_eq!(traces(&evaluation), [("all".to_owned(), RuleOutcome::Allowed)]);
}

#[test]
fn a_refusal_counts_more_than_a_question_before_it() {
    let mut call = Call::of("send", json!({}));
    call.tool.approval = true;
    let evaluation = call.judge(&gate(&rule("no", "PRE_TOOL_CALL", BLOCK)));
    assert_eq!(
        (evaluation.decision, deciding(&evaluation)),
        (Decision::Block, Some("no"))
    );

    let evaluation = call.judge(&gate(&rule("ask", "PRE_TOOL_CALL", ASK)));
    assert_eq!(
        (evaluation.decision, deciding(&evaluation)),
        (Decision::RequireApproval, Some("tool-approval"))
    );
    assert!(evaluation.is_asked_by("ask") && evaluation.is_asked_by("tool-approval"));
    let explanation = evaluation.explanation.unwrap();
    assert!(
        explanation.ends_with("\n  also: the rule `ask` matches"),
        "{explanation}"
    );
}

#[test]
fn a_grant_answers_a_question_and_no_refusal() {
    for (body, granted, decision) in [
        (ASK, false, Decision::RequireApproval),
        (ASK, true, Decision::Allow),
        (BLOCK, true, Decision::Block),
    ] {
        let mut call = Call::of("send", json!({}));
        call.granted = granted;
        let evaluation = call.judge(&gate(&rule("r", "PRE_TOOL_CALL", body)));
        assert_eq!(evaluation.decision, decision, "{body} {granted}");
        if decision == Decision::Allow {
            let trace = evaluation
                .rules
                .iter()
                .find(|trace| trace.rule.as_str() == "r")
                .unwrap();
            assert_eq!(trace.outcome, RuleOutcome::Passed);
            assert!(trace.why.ends_with("the owner granted this"), "{trace:?}");
            assert_eq!((evaluation.rule, evaluation.told), (None, None));
        }
    }
    // A granted question ends the custom rules like any other.
    let mut call = Call::of("send", json!({}));
    call.granted = true;
    let file = [
        rule("ask", "PRE_TOOL_CALL", ASK),
        rule("no", "PRE_TOOL_CALL", BLOCK),
    ]
    .concat();
    assert!(call.judge(&gate(&file)).is_allowed());
}

#[test]
fn what_a_rule_says_is_told_to_people_and_to_the_model() {
    let when = "when = [{ field = \"tool\", op = \"equals\", value = \"send\" }, { field = \"taint\", op = \"gte\", value = \"PUBLIC\" }]\n";
    let mut text = String::new();
    for (body, name) in [
        (
            format!("{when}{BLOCK}\nmessage = \"not on \\u001b[31mSundays\""),
            "send",
        ),
        (format!("{when}{ASK}\nmessage = \"mail is checked\""), "send"),
        (BLOCK.to_owned(), "a \"b\"\n"),
        (ASK.to_owned(), "send"),
    ] {
        let evaluation =
            Call::of(name, json!({"secret": "content"})).judge(&gate(&rule("r", "PRE_TOOL_CALL", &body)));
        let trace = evaluation
            .rules
            .iter()
            .find(|trace| trace.rule.as_str() == "r")
            .unwrap();
        text += &format!(
            "{}\ntold: {}\ntrace: {}\n\n",
            evaluation.explanation.as_deref().unwrap(),
            evaluation.for_model(),
            trace.why
        );
        assert!(!text.contains("content") && !text.contains('\u{1b}'));
    }
    insta::assert_snapshot!("told", text);
}

#[test]
fn a_trace_says_of_every_rule_why() {
    let file = [
        rule("a", "PRE_OUTPUT", "action = \"BLOCK\"\nwhen = [{ field = \"text\", op = \"contains\", value = \"zzz\" }]"),
        rule("b", "PRE_OUTPUT", "action = \"REDACT\"\npattern = \"x\""),
        rule("c", "PRE_OUTPUT", "action = \"REDACT\"\npattern = \"x\"\nwhen = [{ field = \"text\", op = \"contains\", value = \"x\" }]"),
        rule("d", "PRE_OUTPUT", ALLOW),
        rule("e", "PRE_OUTPUT", BLOCK),
    ]
    .concat();
    let evaluation = judge_answer(&gate(&file), Some(&["x marks the private spot"]));
    let traces: Vec<String> = evaluation
        .rules
        .iter()
        .map(|trace| format!("{} {:?}: {}", trace.rule, trace.outcome, trace.why))
        .collect();
    insta::assert_snapshot!("traces", traces.join("\n"));
    let redactions: Vec<_> = evaluation.redactions.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(redactions, ["b", "c"]);
}

/// Every hook, with a gate whose one rule there has `body`.
fn at_every_hook(body: &str, granted: bool) -> Vec<(Hook, Evaluation)> {
    Hook::ALL
        .into_iter()
        .map(|hook| (hook, judge_at(hook, body, granted)))
        .collect()
}

/// A flow at `hook`, judged by a gate whose one rule there has `body`.
fn judge_at(hook: Hook, body: &str, granted: bool) -> Evaluation {
    let taint = Taint::new(Label::trusted(Internal));
    let tool = tool_policy("send");
    let facts = session(&taint, Caller::default());
    let arguments = json!({"a": 1});
    let gate = gate(&rule("r", hook.as_str(), body));
    match hook {
        Hook::PreToolCall => {
            let mut call = Call::of("send", json!({}));
            call.granted = granted;
            call.taint = taint.label();
            call.judge(&gate)
        }
        Hook::PostToolResponse => gate.judge(
            Flow::Response(&ResponseFlow {
                tool: &tool,
                status: ResponseStatus::Ok,
                read: Label::untrusted(Confidential),
                declared: None,
                texts: Some(&["text"]),
            }),
            facts,
        ),
        Hook::PreContextInjection => gate.judge(
            Flow::Context(&ContextFlow {
                what: "a note",
                label: Label::untrusted(Confidential),
                texts: Some(&["text"]),
            }),
            facts,
        ),
        Hook::PreOutput => gate.judge(
            Flow::Answer(&AnswerFlow {
                reader: "ann",
                clearance: Restricted,
                texts: Some(&["text"]),
                recipients: &["bob"],
                granted,
            }),
            facts,
        ),
        Hook::SecretAccess => gate.judge(
            Flow::SecretAccess(&SecretFlow {
                secret: "KEY",
                tool: "send",
                argument: "token",
                hosts: &["API.example.com"],
                granted,
            }),
            facts,
        ),
        Hook::SessionReset => gate.judge(Flow::SessionReset(&ResetFlow { carries_draft: true }), facts),
        Hook::AgentInvocation => gate.judge(
            Flow::AgentInvocation(&AgentFlow {
                kind: AgentKind::Delegate,
                task: Some("do it"),
                produced_by: taint.label(),
                level: Internal,
                depth: 2,
                granted,
            }),
            facts,
        ),
        Hook::McpToolCall => gate.judge(
            Flow::McpToolCall(&McpFlow {
                server: "files",
                tool: "read",
                status: McpStatus::Classified,
                changed: false,
                clearance: Internal,
                produced_by: taint.label(),
                arguments: Some(&arguments),
                granted,
            }),
            facts,
        ),
    }
}

#[test]
fn every_hook_asks_its_rules() {
    for (body, decision) in [
        (BLOCK, Decision::Block),
        (ASK, Decision::RequireApproval),
        (ALLOW, Decision::Allow),
    ] {
        for (hook, evaluation) in at_every_hook(body, false) {
            assert_eq!(evaluation.decision, decision, "{hook} {body}");
            assert_eq!(traces(&evaluation).len(), 1, "{hook}");
            assert_eq!(evaluation.flow.hook(), Some(hook));
            if decision != Decision::Allow {
                assert_eq!(deciding(&evaluation), Some("r"), "{hook}");
            }
        }
    }
    assert_eq!(FlowKind::Model.hook(), None);
}

#[test]
fn questions_can_be_answered_where_one_thing_is_asked_about() {
    for (hook, evaluation) in at_every_hook(ASK, true) {
        let answered = !matches!(
            hook,
            Hook::PostToolResponse | Hook::PreContextInjection | Hook::SessionReset
        );
        assert_eq!(evaluation.is_allowed(), answered, "{hook}");
    }
}

#[test]
fn what_a_rule_saw_of_the_content_raises_the_taint_even_if_it_refuses() {
    let before = Label::trusted(Internal);
    for (body, allowed) in [(BLOCK, false), (ASK, false), (ALLOW, true)] {
        for (hook, evaluation) in at_every_hook(body, false) {
            let enters = matches!(hook, Hook::PostToolResponse | Hook::PreContextInjection);
            let expected = if enters {
                before.join(Label::untrusted(Confidential))
            } else {
                before
            };
            assert_eq!(evaluation.taint_after, expected, "{hook} {body}");
            assert_eq!(evaluation.taint_before, before);
            assert_eq!(evaluation.is_allowed(), allowed);
        }
    }
    // What the built-in rules refuse raises nothing: no rule saw it.
    let tool = tool_policy("read");
    let taint = Taint::new(before);
    let facts = SessionFacts {
        clearance: Internal,
        ..session(&taint, Caller::default())
    };
    let response = ResponseFlow {
        tool: &tool,
        status: ResponseStatus::Ok,
        read: Label::untrusted(Confidential),
        declared: None,
        texts: Some(&["text"]),
    };
    let evaluation = gate(&rule("r", "POST_TOOL_RESPONSE", BLOCK)).judge(Flow::Response(&response), facts);
    assert_eq!(
        (deciding(&evaluation), evaluation.taint_after),
        (Some("read-ceiling"), before)
    );
}

#[test]
fn every_field_of_every_hook_has_its_value() {
    for (hook, conditions) in [
        (
            Hook::PostToolResponse,
            vec![
                ("tool", "equals", "\"send\""),
                ("status", "equals", "\"ok\""),
                ("consequential", "equals", "false"),
                ("text", "equals", "\"text\""),
                ("text_length", "equals", "4"),
                ("level", "equals", "\"CONFIDENTIAL\""),
                ("text_integrity", "equals", "\"UNTRUSTED\""),
                ("taint", "equals", "\"INTERNAL\""),
                ("integrity", "equals", "\"TRUSTED\""),
            ],
        ),
        (
            Hook::PreContextInjection,
            vec![
                ("what", "equals", "\"a note\""),
                ("text", "equals", "\"text\""),
                ("text_length", "equals", "4"),
                ("level", "equals", "\"CONFIDENTIAL\""),
                ("text_integrity", "equals", "\"UNTRUSTED\""),
            ],
        ),
        (
            Hook::PreOutput,
            vec![
                ("reader", "equals", "\"ann\""),
                ("reader_level", "equals", "\"RESTRICTED\""),
                ("recipients", "equals", "\"bob\""),
                ("text", "contains", "\"ex\""),
                ("text_length", "lt", "5"),
            ],
        ),
        (
            Hook::SecretAccess,
            vec![
                ("secret", "equals", "\"KEY\""),
                ("tool", "equals", "\"send\""),
                ("argument", "equals", "\"token\""),
                ("url.host", "equals", "\"api.example.com\""),
            ],
        ),
        (Hook::SessionReset, vec![("carries_draft", "equals", "true")]),
        (
            Hook::AgentInvocation,
            vec![
                ("kind", "equals", "\"delegate\""),
                ("text", "equals", "\"do it\""),
                ("text_length", "equals", "5"),
                ("requested_level", "equals", "\"INTERNAL\""),
                ("depth", "equals", "2"),
            ],
        ),
        (
            Hook::McpToolCall,
            vec![
                ("server", "equals", "\"files\""),
                ("tool", "equals", "\"read\""),
                ("status", "equals", "\"classified\""),
                ("server_level", "equals", "\"INTERNAL\""),
                ("arguments.a", "equals", "1"),
                ("arguments_text", "equals", "\"a\\n1\""),
            ],
        ),
    ] {
        for (field, operator, value) in conditions {
            let condition = format!("field = \"{field}\", op = \"{operator}\", value = {value}");
            // ALLOW reads strictly, so that no doubt makes it match.
            let evaluation = judge_at(hook, &format!("{ALLOW}\nwhen = [{{ {condition} }}]"), false);
            assert_eq!(
                traces(&evaluation),
                [("r".to_owned(), RuleOutcome::Allowed)],
                "{hook} {condition}"
            );
        }
    }
}

#[test]
fn agents_do_not_start_below_their_task_and_servers_are_called_by_status() {
    let taint = Taint::new(Label::trusted(Confidential));
    let facts = session(&taint, Caller::default());
    let gate = Gate::default();
    for (produced_by, level, allowed) in [
        (Public, Public, true),
        (Internal, Public, false),
        (Internal, Restricted, true),
    ] {
        let agent = AgentFlow {
            kind: AgentKind::Spawn,
            task: None,
            produced_by: Label::trusted(produced_by),
            level,
            depth: 1,
            granted: true,
        };
        let evaluation = gate.judge(Flow::AgentInvocation(&agent), facts);
        assert_eq!(evaluation.is_allowed(), allowed, "{produced_by} {level}");
        assert_eq!(
            evaluation
                .told
                .is_some_and(|told| told.contains("ask for the level INTERNAL")),
            !allowed
        );
    }
    for (status, changed, clearance, expected) in [
        (McpStatus::Classified, false, Internal, None),
        (McpStatus::Classified, false, Public, Some("no-write-down")),
        (McpStatus::Classified, true, Internal, Some("mcp-status")),
        (McpStatus::Untrusted, false, Internal, None),
        (McpStatus::Untrusted, true, Internal, Some("mcp-status")),
        (McpStatus::Blocked, false, Restricted, Some("mcp-status")),
    ] {
        let call = McpFlow {
            server: "files",
            tool: "read",
            status,
            changed,
            clearance,
            produced_by: Label::trusted(Internal),
            arguments: None,
            granted: true,
        };
        let evaluation = gate.judge(Flow::McpToolCall(&call), facts);
        assert_eq!(
            deciding(&evaluation),
            expected,
            "{status:?} {changed} {clearance}"
        );
    }
}
