//! Redaction: what is taken out, and of what.

use super::*;
use serde_json::json;
use tidegate_policy::{Decision, JsonStep, JsonText, Redactor, RuleId};

fn redacting(patterns: &[(&str, &str)]) -> (Gate, Vec<RuleId>) {
    let file: String = patterns
        .iter()
        .map(|(id, pattern)| {
            rule(
                id,
                "PRE_OUTPUT",
                &format!("action = \"REDACT\"\npattern = '{pattern}'"),
            )
        })
        .collect();
    let ids = patterns.iter().map(|(id, _)| RuleId::from(*id)).collect();
    (gate(&file), ids)
}

fn redactor<'g>(gate: &'g Gate, ids: &[RuleId]) -> Redactor<'g> {
    gate.rules()
        .redactor(tidegate_policy::Hook::PreOutput, ids)
        .unwrap()
}

#[test]
fn what_patterns_find_is_replaced_by_marks() {
    for (patterns, text, expected, by) in [
        (
            vec![("d", r"\d+")],
            "a 12 b 3",
            "a [REDACTED:d] b [REDACTED:d]",
            vec!["d"],
        ),
        (vec![("d", r"\d+")], "none", "none", vec![]),
        (vec![("d", r"\d+")], "", "", vec![]),
        (vec![("d", r"\d")], "12", "[REDACTED:d][REDACTED:d]", vec!["d"]),
        // What overlaps is one mark, of the rule that comes first.
        (
            vec![("a", "bcd"), ("b", "cde")],
            "abcdef",
            "a[REDACTED:a]f",
            vec!["a", "b"],
        ),
        (
            vec![("a", "cde"), ("b", "bcd")],
            "abcdef",
            "a[REDACTED:a]f",
            vec!["a", "b"],
        ),
        (
            vec![("a", "d"), ("b", "abcdef")],
            "abcdef",
            "[REDACTED:a]",
            vec!["a", "b"],
        ),
        // What touches is two.
        (
            vec![("a", "ab"), ("b", "cd")],
            "abcd",
            "[REDACTED:a][REDACTED:b]",
            vec!["a", "b"],
        ),
        // No pattern sees a mark.
        (
            vec![("a", "x"), ("b", "REDACTED")],
            "x",
            "[REDACTED:a]",
            vec!["a"],
        ),
        (
            vec![("a", "é+")],
            "caféé au lait",
            "caf[REDACTED:a] au lait",
            vec!["a"],
        ),
        (vec![("a", r"\b")], "word", "word", vec![]),
        (vec![("a", "(?s).+")], "all\nof it", "[REDACTED:a]", vec!["a"]),
    ] {
        let (gate, ids) = redacting(&patterns);
        let redacted = redactor(&gate, &ids).text(text);
        assert_eq!(redacted.text, expected, "{patterns:?} {text}");
        let names: Vec<_> = redacted.by.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(names, by, "{patterns:?} {text}");
    }
}

#[test]
fn what_goes_across_parts_is_found() {
    for (pattern, parts, expected) in [
        (r"\d{4}", vec!["12", "34"], vec!["[REDACTED:r]", ""]),
        (r"\d{4}", vec!["a12", "", "34b"], vec!["a[REDACTED:r]", "", "b"]),
        (
            r"\d{4}",
            vec!["1", "2", "3", "4"],
            vec!["[REDACTED:r]", "", "", ""],
        ),
        (r"\d{4}", vec!["1234", "5"], vec!["[REDACTED:r]", "5"]),
        // Alone it matches, in the whole it does not.
        (r"\b\d{4}\b", vec!["1234", "5"], vec!["[REDACTED:r]", "5"]),
        (r"^b", vec!["a", "b"], vec!["a", "[REDACTED:r]"]),
        (r"x", vec![], vec![]),
    ] {
        let (gate, ids) = redacting(&[("r", pattern)]);
        let redacted = redactor(&gate, &ids).parts(&parts);
        assert_eq!(redacted.text, expected, "{pattern} {parts:?}");
    }
}

#[test]
fn a_condition_on_text_looks_across_parts_and_at_each() {
    let blocks = |pattern: &str, parts: &[&str]| {
        let body = format!(
            "action = \"BLOCK\"\nwhen = [{{ field = \"text\", op = \"matches\", value = '{pattern}' }}]"
        );
        judge_answer(&gate(&rule("r", "PRE_OUTPUT", &body)), Some(parts)).decision == Decision::Block
    };
    assert!(blocks(r"\d{4}", &["12", "34"]));
    assert!(blocks("^b$", &["a", "b"]));
    assert!(!blocks("^b$", &["a", "bc"]));
    assert!(blocks("^a$", &["a"]));
    assert!(!blocks("a", &[]));
}

#[test]
fn strings_of_a_providers_form_are_redacted_and_names_and_thinking_are_not() {
    let message = json!({
        "12": "12",
        "content": [
            {"type": "thinking", "thinking": "say 12 34", "signature": "12"},
            {"type": "text", "text": "it is 12"},
            {"type": "text", "text": "34, and 56"},
        ],
        "id": "msg_12",
        "usage": {"output": 12},
    });
    let choose = |path: &[JsonStep<'_>]| match path {
        [.., JsonStep::Member("text")] => JsonText::Part,
        [JsonStep::Member("12")] => JsonText::Alone,
        [JsonStep::Member("content"), JsonStep::Entry(0), ..] => JsonText::Untouched,
        _ => JsonText::Untouched,
    };
    let (gate, ids) = redacting(&[("four", r"\d{4}"), ("two", r"\b\d\d\b")]);
    let redacted = redactor(&gate, &ids).json(&message, &choose);
    assert_eq!(
        redacted.text,
        json!({
            "12": "[REDACTED:two]",
            "content": [
                {"type": "thinking", "thinking": "say 12 34", "signature": "12"},
                {"type": "text", "text": "it is [REDACTED:four]"},
                {"type": "text", "text": ", and [REDACTED:two]"},
            ],
            "id": "msg_12",
            "usage": {"output": 12},
        })
    );
    assert_eq!(redacted.by, ids);
}

#[test]
fn a_redaction_of_other_rules_is_an_error() {
    let (with, _) = redacting(&[("r", "x")]);
    let evaluation = judge_answer(&with, Some(&["x"]));
    assert_eq!(with.redactor(&evaluation).unwrap().text("x").text, "[REDACTED:r]");
    let error = Gate::default().redactor(&evaluation).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the rule `r` was to redact this at PRE_OUTPUT"),
        "{error}"
    );
    // A rule of this name that does something else does not redact.
    let other = gate(&rule("r", "PRE_OUTPUT", "action = \"ALLOW\""));
    assert!(other.redactor(&evaluation).is_err());
    assert!(
        Gate::default()
            .redactor(&judge_answer(&Gate::default(), None))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn redaction_is_not_declassification() {
    let (gate, _) = redacting(&[("r", "(?s).+")]);
    let taint = Taint::new(Label::trusted(Classification::Confidential));
    let answer = |clearance| AnswerFlow {
        reader: "ann",
        clearance,
        texts: Some(&["x"]),
        recipients: &[],
        granted: true,
    };
    let judge = |clearance| {
        gate.judge(
            Flow::Answer(&answer(clearance)),
            session(&taint, Caller::default()),
        )
    };
    let refused = judge(Classification::Internal);
    assert_eq!(
        (refused.decision, deciding(&refused)),
        (Decision::Block, Some("no-write-down"))
    );
    assert!(refused.redactions.is_empty());
    let allowed = judge(Classification::Confidential);
    assert!(allowed.is_allowed());
    assert_eq!(allowed.label, taint.label());
    assert_eq!(allowed.redactions.len(), 1);
}

#[test]
fn what_is_refused_is_not_redacted() {
    let file = [
        rule(
            "r",
            "PRE_OUTPUT",
            "priority = 1\naction = \"REDACT\"\npattern = 'x'",
        ),
        rule(
            "no",
            "PRE_OUTPUT",
            "action = \"BLOCK\"\nwhen = [{ field = \"text\", op = \"contains\", value = \"x\" }]",
        ),
    ]
    .concat();
    // The refusing rule sees the text as it came.
    let evaluation = judge_answer(&gate(&file), Some(&["x"]));
    assert_eq!(
        (evaluation.decision, deciding(&evaluation)),
        (Decision::Block, Some("no"))
    );
    assert!(evaluation.redactions.is_empty());
}
