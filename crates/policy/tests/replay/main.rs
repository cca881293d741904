//! Reading recorded traces, and what the gate says of them.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use tidegate_policy::replay::{Figures, ReplayPolicy, ReplayTools, StepDecision, read_traces, replay};
use tidegate_policy::{Decision, IntegrityAction, IntegrityMode};

const TOOLS: &str = r#"[
  {"suite": "s", "name": "read_inbox", "source": {"level": "INTERNAL", "integrity": "UNTRUSTED"}, "action": "none",
   "consequential": false, "egress": false, "recipient_args": [], "control_args": [], "content_args": [], "extra": 1},
  {"suite": "s", "name": "send_mail", "params": {"to": {"required": true}},
   "source": {"level": "PUBLIC", "integrity": "TRUSTED"}, "action": "egress", "consequential": true, "egress": true,
   "recipient_args": ["to"], "control_args": [], "content_args": ["body"]}
]"#;

fn tools() -> ReplayTools {
    ReplayTools::read("tools.json", TOOLS).expect("tools are read")
}

fn judged(prompt: &str, steps: &str, policy: ReplayPolicy) -> Vec<StepDecision> {
    let steps = steps.replace('\n', " ");
    let line =
        format!(r#"{{"id": "t", "kind": "benign", "suite": "s", "prompt": "{prompt}", "steps": {steps}}}"#);
    let traces = read_traces("t.jsonl", &line, &tools()).expect("the trace is read");
    replay(&tools(), &traces[0].trace, policy)
}

const SEND: &str = r#"[{"tool": "read_inbox", "args": {}, "result": "hello"},
    {"tool": "send_mail", "args": {"to": "bob@house.example", "body": "hello"}, "result": "sent"}]"#;

#[test]
fn a_bad_line_is_located_and_told_what_is_valid() {
    for (line, expected) in [
        (
            "{",
            "t.jsonl:2: it is no JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "[]",
            "t.jsonl:2: the field `(the whole)` is a list; valid is an object",
        ),
        (
            r#"{"suite": "s"}"#,
            "t.jsonl:2: the field `kind` is missing; valid is a text",
        ),
        (
            r#"{"suite": "s", "kind": "good"}"#,
            "t.jsonl:2: the field `kind` is \"good\"; valid is benign, attack, encoded or swapped",
        ),
        (
            r#"{"suite": "s", "kind": "benign", "steps": 3}"#,
            "t.jsonl:2: the field `steps` is a number; valid is a list of steps",
        ),
        (
            r#"{"suite": "s", "kind": "benign", "steps": [{"tool": "a"}, {"args": []}]}"#,
            "t.jsonl:2: the field `steps[1].args` is a list; valid is an object",
        ),
        (
            r#"{"suite": "x"}"#,
            "t.jsonl:2: no tools are known for the suite \"x\"; the file of tools has s",
        ),
    ] {
        let error = read_traces("t.jsonl", &format!("\n{line}"), &tools()).expect_err(line);
        assert_eq!(error.to_string(), expected);
    }
    let tools = TOOLS.replace("INTERNAL", "SECRET");
    let error = ReplayTools::read("tools.json", &tools).expect_err("SECRET is no level");
    assert_eq!(
        error.to_string(),
        "tools.json:1: the field `source.level` is \"SECRET\"; valid is PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"
    );
}

#[test]
fn the_whole_gate_judges() {
    let decisions = |prompt: &str, policy| -> Vec<(Decision, Option<String>)> {
        judged(prompt, SEND, policy)
            .into_iter()
            .map(|step| (step.decision, step.rule.map(|rule| rule.to_string())))
            .collect()
    };
    let by = |decision, rule: &str| (decision, Some(rule.to_owned()));
    let asked = "Send a summary of my inbox to bob@house.example.";
    let standard = ReplayPolicy::default();
    assert_eq!(decisions(asked, standard)[1], (Decision::Allow, None));
    assert_eq!(
        decisions("Read my inbox.", standard)[1],
        by(Decision::Block, "no-write-down")
    );
    let named = "Is there mail from bob@house.example in my inbox?";
    assert_eq!(
        decisions(named, standard)[1],
        by(Decision::RequireApproval, "integrity-by-value")
    );
    let block = ReplayPolicy {
        action: IntegrityAction::Block,
        ..standard
    };
    assert_eq!(
        decisions(named, block)[1],
        by(Decision::Block, "integrity-by-value")
    );
    let session = ReplayPolicy {
        mode: IntegrityMode::Session,
        ..standard
    };
    assert_eq!(
        decisions(asked, session)[1],
        by(Decision::RequireApproval, "integrity-by-value")
    );
    let off = ReplayPolicy {
        mode: IntegrityMode::Off,
        ..standard
    };
    assert_eq!(decisions(named, off)[1], (Decision::Allow, None));
    let public = ReplayPolicy {
        owner_named: "PUBLIC".parse().expect("a level"),
        ..standard
    };
    assert_eq!(decisions(asked, public)[1], by(Decision::Block, "no-write-down"));
    let low = ReplayPolicy {
        clearance: "PUBLIC".parse().expect("a level"),
        ..standard
    };
    assert_eq!(decisions(asked, low)[0], by(Decision::Block, "read-ceiling"));
}

#[test]
fn a_tool_nobody_offers_is_refused() {
    let steps = judged("Send it.", r#"[{"tool": "rm_rf"}]"#, ReplayPolicy::default());
    assert_eq!(
        steps[0].rule.as_ref().map(|rule| rule.as_str()),
        Some("allowed-set")
    );
}

#[test]
fn what_is_expected_of_a_trace_does_not_change_what_is_decided() {
    let lines: Vec<String> = ["benign", "attack", "swapped"]
        .iter()
        .map(|kind| {
            let harmful = *kind != "benign";
            format!(
                r#"{{"id": "t", "kind": "{kind}", "suite": "s", "prompt": "Read my inbox.", "steps": [{{"tool": "send_mail", "harmful": {harmful}, "args": {{"to": "a@b.example"}}}}]}}"#
            )
        })
        .collect();
    let traces = read_traces("t.jsonl", &lines.join("\n"), &tools()).expect("traces are read");
    let mut figures = Figures::default();
    let mut decisions = Vec::new();
    for recorded in &traces {
        let steps = replay(&tools(), &recorded.trace, ReplayPolicy::default());
        figures.add(&recorded.trace.suite, &recorded.expectation, &steps);
        decisions.push(steps);
    }
    assert!(decisions.windows(2).all(|pair| pair[0] == pair[1]));
    // The context was TRUSTED, so the call ran.
    assert_eq!(
        (figures.total.benign.allowed, figures.total.attack.stopped),
        (1, 0)
    );
}

#[test]
fn the_figures_have_the_form_of_the_format() {
    let figures = serde_json::to_value(Figures::default()).expect("figures are JSON");
    let hostile = serde_json::json!({"traces": 0, "stopped": 0, "all_stopped": 0});
    let expected = serde_json::json!({
        "suites": {},
        "total": {
            "benign": {"traces": 0, "allowed": 0, "consequential_calls": 0, "consequential_allowed": 0, "approvals": 0},
            "attack": hostile, "encoded": hostile, "swapped": hostile,
        },
        "macro": {"benign_allowed": 0.0, "attacks_stopped": 0.0, "encoded_stopped": 0.0},
    });
    if figures != expected {
        panic!("{figures}");
    }
}
