//! What holds for every file, every text and every arguments.

use super::*;
use proptest::prelude::*;
use tidegate_policy::Decision;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab.]{0,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("[[policy.rules]]".to_owned()),
        "(id|hook|priority|when|action|pattern|message|x) = (\"[A-Za-z_ ]{0,8}\"|[0-9]{1,20}|\\[\\]|true|'[a-z(\\[*]{0,4}')",
        prop::sample::select(vec!["PRE_TOOL_CALL", "PRE_OUTPUT", "SESSION_RESET"])
            .prop_map(|hook| format!("hook = \"{hook}\"")),
        prop::sample::select(vec!["ALLOW", "BLOCK", "REDACT", "REQUIRE_APPROVAL"])
            .prop_map(|action| format!("action = \"{action}\"")),
        (
            "[a-z._]{0,12}",
            prop::sample::select(vec!["equals", "gt", "in", "matches", "exists", "like"]),
            "(\"[A-Z(]{0,3}\"|[0-9]|true|\\[\\])"
        )
            .prop_map(|(field, op, value)| {
                format!("when = [{{ field = \"{field}\", op = \"{op}\", value = {value} }}]")
            }),
    ]
}

proptest! {
    #[test]
    fn no_file_makes_reading_panic_and_every_error_is_one_safe_line(
        text in prop_oneof![
            ".{0,200}",
            prop::collection::vec(any_line(), 0..12).prop_map(|lines| lines.join("\n")),
        ],
    ) {
        if let Err(errors) = RuleSet::parse("f.toml", &text) {
            prop_assert!(!errors.errors().is_empty());
            for error in errors.errors() {
                let told = error.to_string();
                prop_assert!(told.starts_with("f.toml:"), "{told}");
                prop_assert!(!told.contains(char::is_control), "{told:?}");
                prop_assert!(error.line.unwrap() <= text.lines().count().max(1) + 1);
            }
        }
    }

    /// ALLOW never matches where BLOCK with the same condition does not.
    #[test]
    fn allow_is_read_more_strictly_than_block(
        arguments in prop::collection::btree_map("[ab]", any_json(), 0..3),
        path in "[ab](\\.[ab]){0,2}",
        test in prop::sample::select(vec![
            ("equals", "\"a\""), ("not_equals", "\"a\""), ("equals", "1"), ("gt", "0"), ("lte", "0.5"), ("contains", "\"a\""),
            ("matches", "'^a'"), ("in", "[\"a\", 1, true]"), ("exists", "true"), ("exists", "false"), ("equals", "true"),
        ]),
    ) {
        let arguments = Value::Object(arguments.into_iter().collect());
        let call = Call::of("x", arguments);
        let matches = |action: &str| {
            let (op, value) = test;
            let body = format!(
                "action = \"{action}\"\nwhen = [{{ field = \"arguments.{path}\", op = \"{op}\", value = {value} }}]"
            );
            let evaluation = call.judge(&gate(&rule("r", "PRE_TOOL_CALL", &body)));
            let trace = evaluation.rules.iter().find(|trace| trace.rule.as_str() == "r").unwrap();
            trace.outcome != tidegate_policy::RuleOutcome::Passed
        };
        let (block, allow) = (matches("BLOCK"), matches("ALLOW"));
        prop_assert!(block || !allow);
        prop_assert_eq!(block, matches("REQUIRE_APPROVAL"));
    }

    /// A gate with rules allows nothing the gate without them does not.
    #[test]
    fn rules_only_take_away(
        actions in prop::collection::vec(prop::sample::select(vec!["ALLOW", "BLOCK", "REQUIRE_APPROVAL"]), 0..4),
        approval in any::<bool>(),
        granted in any::<bool>(),
        level in prop::sample::select(Classification::ALL.to_vec()),
        floor in prop::sample::select(Classification::ALL.to_vec()),
    ) {
        let mut call = Call::of("x", Value::Null);
        call.tool.approval = approval;
        call.tool.floor = floor;
        call.granted = granted;
        call.taint = Label::trusted(level);
        let file: String = actions
            .iter()
            .enumerate()
            .map(|(index, action)| rule(&format!("r{index}"), "PRE_TOOL_CALL", &format!("action = \"{action}\"")))
            .collect();
        let strictness = |decision| match decision {
            Decision::Allow => 0,
            Decision::RequireApproval => 1,
            Decision::Block => 2,
        };
        let without = call.judge(&Gate::default()).decision;
        let with = call.judge(&gate(&file)).decision;
        prop_assert!(strictness(with) >= strictness(without));
    }

    /// Whatever the parts, nothing a pattern finds is left, and what no pattern finds is.
    #[test]
    fn redaction_takes_all_that_is_found_and_nothing_else(parts in prop::collection::vec("[ab1é]{0,6}", 0..4)) {
        let gate = gate(&[
            rule("d", "PRE_OUTPUT", "action = \"REDACT\"\npattern = '1+'"),
            rule("ab", "PRE_OUTPUT", "action = \"REDACT\"\npattern = 'ab|a1'"),
        ].concat());
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let evaluation = judge_answer(&gate, Some(&parts));
        let redacted = gate.redactor(&evaluation).unwrap().parts(&parts);
        prop_assert_eq!(redacted.text.len(), parts.len());
        let left = redacted.text.concat().replace("[REDACTED:d]", "\0").replace("[REDACTED:ab]", "\0");
        prop_assert!(!left.contains('1') && !left.contains("ab"), "{}", left);
        let kept: String = parts.concat().replace("ab", "\0").replace("a1", "\0").replace('1', "\0");
        let plain = |text: &str| text.chars().filter(|character| *character != '\0').collect::<String>();
        prop_assert_eq!(plain(&left), plain(&kept));
        prop_assert_eq!(redacted.by.is_empty(), redacted.text.concat() == parts.concat());
    }
}
