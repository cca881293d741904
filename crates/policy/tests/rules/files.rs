//! Files of rules, and what is said of wrong ones.

use super::*;
use std::fmt::Write as _;
use tidegate_policy::{Action, Hook, Operator};

/// Each wrong file with everything that is said of it.
fn told(files: &[&str]) -> String {
    let mut told = String::new();
    for file in files {
        let errors = RuleSet::parse("tidegate.toml", file).unwrap_err();
        writeln!(told, "{}\n=> {errors}\n", file.trim()).unwrap();
    }
    told
}

const GOOD: &str = r#"
[policy]
clearance = "CONFIDENTIAL"

[[policy.rules]]
id = "card-numbers"
hook = "PRE_OUTPUT"
priority = 500
when = [{ field = "text", op = "matches", value = '\b\d{16}\b' }]
action = "REDACT"
pattern = '\b\d{16}\b'
message = "card numbers stay here"

[[policy.rules]]
id = "everything-else"
hook = "PRE_OUTPUT"
action = "ALLOW"
"#;

#[test]
fn a_rule_of_a_file_is_what_it_says() {
    let rules = rules(GOOD);
    let [card, rest] = rules.at(Hook::PreOutput) else {
        panic!("{rules:?}")
    };
    assert_eq!(card.id().as_str(), "card-numbers");
    assert_eq!(
        (card.hook(), card.priority(), card.action()),
        (Hook::PreOutput, 500, Action::Redact)
    );
    assert_eq!(card.message(), Some("card numbers stay here"));
    assert_eq!(card.line(), Some(5));
    let conditions: Vec<_> = card.conditions().collect();
    assert_eq!(conditions, [r#"text matches "\b\d{16}\b""#]);
    assert_eq!(
        (rest.priority(), rest.conditions().count(), rest.message()),
        (0, 0, None)
    );
    assert_eq!(rules.len(), 2);
    assert_eq!(rules.get(&"everything-else".into()).unwrap().line(), Some(14));
    assert!(!rules.is_empty() && RuleSet::default().is_empty());
}

#[test]
fn a_file_without_rules_has_none() {
    for text in [
        "",
        "[policy]\n",
        "[policy]\nrules = []\n",
        "[[policy.rules]]\n# see the documentation\n",
        "[other]\nrules = 3\n",
    ] {
        assert!(rules(text).is_empty(), "{text}");
    }
}

#[test]
fn rules_are_looked_at_by_priority_and_ties_in_file_order() {
    let file: String = [("a", 1), ("b", 9), ("c", 1), ("d", -5), ("e", 9), ("f", 0)]
        .map(|(id, priority)| {
            rule(
                id,
                "SESSION_RESET",
                &format!("priority = {priority}\naction = \"ALLOW\""),
            )
        })
        .concat();
    let rules = rules(&file);
    let order: Vec<_> = rules
        .at(Hook::SessionReset)
        .iter()
        .map(|rule| rule.id().as_str())
        .collect();
    assert_eq!(order, ["b", "e", "a", "c", "f", "d"]);
}

#[test]
fn every_error_names_place_rule_and_what_is_valid() {
    let head = "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_TOOL_CALL\"\naction = \"BLOCK\"\n";
    let with = |rest: &str| format!("{head}{rest}");
    let condition = |condition: &str| with(&format!("when = [{{ {condition} }}]"));
    let files = [
        "[[policy.rules]\n".to_owned(),
        "policy = 3".to_owned(),
        "[policy]\nrules = \"none\"".to_owned(),
        "[policy]\nrules = [1]".to_owned(),
        "[[policy.rules]]\nmessage = \"only\"".to_owned(),
        with("prio = 3"),
        with("priority = \"high\""),
        with("priority = 99999999999999999999"),
        with("message = 3"),
        with("pattern = 'x'"),
        with("when = \"always\""),
        with("when = [\"always\"]"),
        "[[policy.rules]]\nid = 7\nhook = \"pre_tool_call\"\naction = \"DENY\"".to_owned(),
        "[[policy.rules]]\nid = \"a b\"\nhook = \"SESSION_RESET\"\naction = \"BLOCK\"".to_owned(),
        "[[policy.rules]]\nid = \"\\u001b[2J\"\nhook = \"SESSION_RESET\"\naction = \"BLOCK\"".to_owned(),
        "[[policy.rules]]\nid = \"No-Write-Down\"\nhook = \"SESSION_RESET\"\naction = \"ALLOW\"".to_owned(),
        format!("{head}\n{head}"),
        condition("field = \"tool\""),
        condition("op = \"equals\", value = \"x\""),
        condition("field = \"tool\", op = \"equals\""),
        condition("field = \"tool\", op = \"like\", value = \"x\""),
        condition("field = \"text\", op = \"equals\", value = \"x\""),
        condition("field = \"tool\", op = \"equals\", value = \"x\", not = true"),
        condition("field = \"tool\", op = \"gt\", value = \"x\""),
        condition("field = \"taint\", op = \"matches\", value = \"x\""),
        condition("field = \"attended\", op = \"in\", value = [true]"),
        condition("field = \"taint\", op = \"gte\", value = \"SECRET\""),
        condition("field = \"taint\", op = \"in\", value = [\"PUBLIC\", \"SECRET\"]"),
        condition("field = \"role\", op = \"lt\", value = \"OWNER\""),
        condition("field = \"action\", op = \"equals\", value = \"sending\""),
        condition("field = \"tool\", op = \"in\", value = []"),
        condition("field = \"tool\", op = \"in\", value = \"x\""),
        condition("field = \"tool\", op = \"equals\", value = 3"),
        condition("field = \"tool\", op = \"contains\", value = \"\""),
        condition("field = \"tool\", op = \"exists\", value = \"yes\""),
        condition("field = \"parallel\", op = \"gt\", value = nan"),
        condition("field = \"parallel\", op = \"gt\", value = \"3\""),
        condition("field = \"arguments.amount\", op = \"gt\", value = \"much\""),
        condition("field = \"arguments.amount\", op = \"equals\", value = [1]"),
        condition("field = \"arguments.\", op = \"equals\", value = 1"),
        condition("field = \"arguments.a..b\", op = \"equals\", value = 1"),
        condition("field = \"arguments\", op = \"exists\""),
        condition("field = \"arguments.NAME\", op = \"matches\", value = '('"),
        condition("field = \"tool\", op = \"matches\", value = '(?=x)'"),
        condition("field = \"tool\", op = \"matches\", value = '(x{1000}){1000}'"),
        condition(&format!(
            "field = \"tool\", op = \"matches\", value = '{}'",
            "x".repeat(2_001)
        )),
        "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_OUTPUT\"\naction = \"REDACT\"".to_owned(),
        "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_OUTPUT\"\naction = \"REDACT\"\npattern = 'x*'".to_owned(),
        "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_OUTPUT\"\naction = \"REDACT\"\npattern = '[x'".to_owned(),
        "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_TOOL_CALL\"\naction = \"REDACT\"\npattern = 'x'"
            .to_owned(),
    ];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    insta::assert_snapshot!("errors", told(&files).replace(&"x".repeat(2_001), "x…"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once_in_file_order() {
    let file = r#"
[[policy.rules]]
id = "one"
hook = "PRE_TOOL_CALL"
action = "REDACT"
colour = "red"
when = [
  { field = "tol", op = "equals", value = "x" },
  { field = "tool", op = "equal", value = "x" },
  { field = "taint", op = "gte", value = "HIGH" },
]

[[policy.rules]]
id = "two"
hook = "NEVER"
action = "BLOCK"
when = [{ field = "text", op = "matches", value = "(" }, { field = "x", op = "y" }]

[[policy.rules]]
id = "one"
hook = "PRE_OUTPUT"
action = "REDACT"
pattern = "("
"#;
    let errors = RuleSet::parse("tidegate.toml", file).unwrap_err();
    insta::assert_snapshot!("all_at_once", errors);
}

#[test]
fn rules_from_elsewhere_are_read_alike_without_lines() {
    let whole: toml::Table = GOOD.parse().unwrap();
    let tables: Vec<toml::Table> = whole["policy"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule.as_table().unwrap().clone())
        .collect();
    let read = RuleSet::of_tables("TIDEGATE__POLICY__RULES", &tables).unwrap();
    let mine: Vec<_> = read
        .iter()
        .map(|rule| rule.conditions().collect::<Vec<_>>().join(";"))
        .collect();
    let theirs = rules(GOOD);
    let theirs: Vec<_> = theirs
        .iter()
        .map(|rule| rule.conditions().collect::<Vec<_>>().join(";"))
        .collect();
    assert_eq!(mine, theirs);
    assert!(read.iter().all(|rule| rule.line().is_none()));

    let wrong: toml::Table = "id = \"x\"\nhook = \"NO\"\naction = \"ALLOW\"".parse().unwrap();
    let errors = RuleSet::of_tables("TIDEGATE__POLICY__RULES", &[wrong])
        .unwrap_err()
        .to_string();
    assert!(
        errors.starts_with("TIDEGATE__POLICY__RULES: rule `x`: unknown hook \"NO\""),
        "{errors}"
    );
}

#[test]
fn what_is_never_reached_is_warned_of() {
    let same = "when = [{ field = \"tool\", op = \"equals\", value = \"a\" }]\n";
    let more = "when = [{ field = \"user\", op = \"equals\", value = \"u\" }, { field = \"tool\", op = \"equals\", value = \"a\" }]\n";
    let never = |first: &str, second: &str| {
        let file = [
            rule("first", "PRE_TOOL_CALL", first),
            rule("second", "PRE_TOOL_CALL", second),
        ]
        .concat();
        let rules = rules(&file);
        rules
            .warnings()
            .iter()
            .map(|warning| warning.rule.to_string())
            .collect::<Vec<_>>()
    };
    let block = "action = \"BLOCK\"";
    let allow = "action = \"ALLOW\"";
    for (first, second, expected) in [
        (block.to_owned(), allow.to_owned(), true),
        (allow.to_owned(), block.to_owned(), true),
        (format!("{same}{block}"), format!("{same}{allow}"), true),
        (format!("{same}{block}"), format!("{more}{allow}"), true),
        (format!("{more}{block}"), format!("{same}{allow}"), false),
        (format!("{same}{allow}"), format!("{more}{allow}"), true),
        // ALLOW reads more strictly than BLOCK.
        (format!("{same}{allow}"), format!("{same}{block}"), false),
        (
            format!("{same}{block}\npriority = -1"),
            format!("{more}{allow}"),
            false,
        ),
    ] {
        assert_eq!(
            !never(&first, &second).is_empty(),
            expected,
            "{first}\n---\n{second}"
        );
    }
    let other_hook = [
        rule("first", "PRE_TOOL_CALL", block),
        rule("second", "SESSION_RESET", block),
    ]
    .concat();
    assert!(rules(&other_hook).warnings().is_empty());
    let redact = "action = \"REDACT\"\npattern = \"x\"";
    let redacting = [
        rule("first", "PRE_OUTPUT", redact),
        rule("second", "PRE_OUTPUT", block),
    ]
    .concat();
    assert!(rules(&redacting).warnings().is_empty());
}

#[test]
fn every_field_is_listed_once_and_every_operator_that_fits_is_accepted() {
    for hook in Hook::ALL {
        let mut names: Vec<&str> = hook.fields().map(|field| field.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{hook}");
        for field in hook.fields() {
            let name = field.name.as_str();
            for operator in Operator::ALL {
                let values = [
                    "\"PUBLIC\"",
                    "\"ADMIN\"",
                    "\"TRUSTED\"",
                    "\"none\"",
                    "\"ok\"",
                    "\"spawn\"",
                    "\"blocked\"",
                    "true",
                    "3",
                    "[\"PUBLIC\"]",
                    "[\"ADMIN\"]",
                    "[\"TRUSTED\"]",
                    "[\"none\"]",
                    "[\"ok\"]",
                    "[\"spawn\"]",
                    "[\"blocked\"]",
                    "[3]",
                ];
                let accepted = values.iter().any(|value| {
                    let when = format!(
                        "action = \"BLOCK\"\nwhen = [{{ field = \"{name}\", op = \"{operator}\", value = {value} }}]"
                    );
                    RuleSet::parse("f", &rule("r", hook.as_str(), &when)).is_ok()
                });
                assert_eq!(accepted, operator.fits(field.kind), "{hook} {name} {operator}");
            }
        }
    }
}

#[test]
fn the_fields_of_every_hook() {
    let mut text = String::new();
    for hook in Hook::ALL {
        writeln!(text, "{hook}: {}", hook.meaning()).unwrap();
        for field in hook.fields() {
            writeln!(
                text,
                "  {} ({}): {}",
                field.name.as_str(),
                field.kind,
                field.meaning
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!("fields", text);
}
