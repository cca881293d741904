//! Arguments as models write them.

use serde_json::json;
use tidegate_message::parse_arguments;

#[test]
fn arguments_are_an_object_or_nothing() {
    for (text, expected) in [
        ("", json!({})),
        (" \n\t", json!({})),
        ("{}", json!({})),
        (" {\"a\": 1} ", json!({"a": 1})),
        ("{\"你好\": \"🦀\"}", json!({"你好": "🦀"})),
        ("{\"a\": 1, \"a\": 2}", json!({"a": 2})),
        ("{\"a\": \"\\ud83e\\udd80\"}", json!({"a": "🦀"})),
    ] {
        assert_eq!(
            serde_json::Value::Object(parse_arguments(text).unwrap()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_so_that_a_model_can_mend_it() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let problems: Vec<String> = [
        "{\"path\": \"a.t",
        "{",
        "{\"a\": 1,}",
        "{\"a\": 1} and more",
        "{'a': 1}",
        "{\"a\": \"你好你好你好你好你好你好你好\" 🦀🦀🦀🦀🦀🦀🦀🦀}",
        "{\n  \"first\": 1,\n  \"second\": oops\n}",
        "{\"a\": \"\\ud83e\"}",
        "{\"a\": 1e999}",
        "[1]",
        "\"text\"",
        "null",
        "true",
        "7",
        "<tool>",
        deep.as_str(),
    ]
    .into_iter()
    .map(|text| parse_arguments(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(problems.join("\n"));
}
