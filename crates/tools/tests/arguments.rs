//! What a model is told about arguments that do not fit.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use tidegate_policy::{Role, escaped};
use tidegate_tools::{CallContext, Registry, TypedTool};

#[expect(dead_code, reason = "only its schema is used")]
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    indent: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Append,
    Replace,
}

#[expect(dead_code, reason = "only its schema is used")]
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file.
    path: String,
    /// First line.
    #[schemars(range(min = 1))]
    offset: Option<u32>,
    mode: Option<Mode>,
    lines: Option<Vec<Line>>,
    last: Option<Line>,
    target: Option<Target>,
}

#[expect(dead_code, reason = "only its schema is used")]
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Target {
    Page { number: u8 },
    Sheet { name: String, colour: String },
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    for name in ["read_file", "write_file"] {
        let tool = TypedTool::new(name, "", |_: Arguments, _: CallContext| async { Ok("") });
        registry.register(Arc::new(tool)).unwrap();
    }
    let secret = TypedTool::new("run_command", "", |_: Arguments, _: CallContext| async { Ok("") });
    registry.register(Arc::new(secret.role(Role::Admin))).unwrap();
    registry
}

fn told(arguments: &str) -> String {
    match registry().check(&"read_file".into(), arguments) {
        Ok(arguments) => format!("fits: {}", serde_json::Value::Object(arguments)),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_message_says_what_is_wrong_where_and_what_is_valid() {
    let long = "x".repeat(10_000);
    let table = [
        r#"{"path": "a.txt", "offset": 2, "mode": null, "lines": [{"text": "a"}]}"#.to_owned(),
        r#"{"path": 12}"#.to_owned(),
        "".to_owned(),
        "[]".to_owned(),
        r#"{"path": "a"#.to_owned(),
        r#"{"pth": "a.txt"}"#.to_owned(),
        r#"{"path": "a.txt", "session_id": "s_1"}"#.to_owned(),
        r#"{"path": "a.txt", "offset": 0}"#.to_owned(),
        r#"{"path": "a.txt", "offset": "two"}"#.to_owned(),
        r#"{"path": "a.txt", "offset": 1.5}"#.to_owned(),
        r#"{"path": "a.txt", "mode": "apend"}"#.to_owned(),
        r#"{"path": "a.txt", "mode": 7}"#.to_owned(),
        r#"{"path": "a.txt", "lines": {"text": "a"}}"#.to_owned(),
        r#"{"path": "a.txt", "lines": [{"text": "a"}, {"txt": "b"}, 3]}"#.to_owned(),
        r#"{"path": "a.txt", "last": {"text": 1, "indent": 300}}"#.to_owned(),
        r#"{"path": "a.txt", "last": 5}"#.to_owned(),
        r#"{"path": "a.txt", "target": {"kind": "sheet", "name": 4}}"#.to_owned(),
        r#"{"path": "a.txt", "target": {"kind": "shet"}}"#.to_owned(),
        r#"{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "path": 7}"#.to_owned(),
        json!({ "path": [long.clone()], "mode": long }).to_string(),
        json!({ "path": {"ESC\u{1b}[31m": 1}, "bidi\u{202e}": 2, "mode": "line\nbreak\u{200b}" }).to_string(),
    ];
    let messages: Vec<String> = table
        .iter()
        .map(|arguments| format!("{:.70}\n    {}", escaped(arguments), told(arguments)))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_name_nobody_knows_is_answered_with_those_there_are() {
    let told = |name: &str, role: Role| {
        registry()
            .check_for(role, &name.into(), "{}")
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(
        [
            told("reed_file", Role::User),
            told("entirely_else", Role::User),
            told("run_command", Role::User),
            told("run_comand", Role::Admin),
            told("x\u{1b}]0;title\u{7}", Role::User),
            Registry::new().check(&"read_file".into(), "{}").unwrap_err().to_string(),
        ]
        .join("\n"),
        @r#"
    there is no tool "reed_file"; did you mean read_file? there are: read_file, write_file
    there is no tool "entirely_else"; there are: read_file, write_file
    there is no tool "run_command"; there are: read_file, write_file
    there is no tool "run_comand"; did you mean run_command? there are: read_file, run_command, write_file
    there is no tool "x\u{1b}]0;title\u{7}"; there are: read_file, write_file
    there is no tool "read_file"; no tools are offered
    "#
    );
}

#[test]
fn a_tool_the_role_may_not_see_is_answered_like_one_that_does_not_exist() {
    let answer = |registry: &Registry| {
        registry
            .check_for(Role::User, &"run_command".into(), r#"{"path": "a"}"#)
            .unwrap_err()
            .to_string()
    };
    let mut without = Registry::new();
    for name in ["read_file", "write_file"] {
        let tool = TypedTool::new(name, "", |_: Arguments, _: CallContext| async { Ok("") });
        without.register(Arc::new(tool)).unwrap();
    }
    assert_eq!(answer(&registry()), answer(&without));
    assert!(
        registry()
            .check_for(Role::Admin, &"run_command".into(), r#"{"path": "a"}"#)
            .is_ok()
    );
}

#[test]
fn a_thousand_problems_are_told_in_few_words() {
    let arguments: serde_json::Map<_, _> = (0..1000).map(|n| (format!("argument{n}"), json!(n))).collect();
    let message = told(&serde_json::Value::Object(arguments).to_string());
    assert!(message.contains("more; expected"), "{message}");
    assert!(message.len() < 1000, "{} bytes", message.len());
}
