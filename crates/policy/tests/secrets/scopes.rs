//! Where a secret may go.

use super::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tidegate_policy::{
    Admission, ArgumentCheck, CallFacts, Caller, Classification, Decision, Evaluation, Flow, Gate, Label,
    Resource, ResourceKind, ResourceRef, Role, RuleSet, SecretError, SecretScope, SecretScopes, SessionFacts,
    SinkLevel, Taint, ToolCallFlow, ToolIntegrity, ToolPolicy, placeholders,
};

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn scopes() -> SecretScopes {
    let scope = |tools: &[&str], arguments: &[&str], hosts: &[&str]| SecretScope {
        tools: list(tools),
        arguments: list(arguments),
        hosts: list(hosts),
    };
    SecretScopes::new([
        (
            name("TOKEN"),
            scope(
                &["fetch", "mail"],
                &["headers", "url", "to"],
                &["api.example.com", "*.example.org:8443"],
            ),
        ),
        (name("PIN.code"), scope(&["door"], &["code"], &[])),
    ])
    .unwrap()
}

fn tool(tool: &str) -> ToolPolicy {
    ToolPolicy {
        name: tool.into(),
        role: Role::Guest,
        consequential: true,
        source: Label::BOTTOM,
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: ToolIntegrity {
            recipient_arguments: list(&["to"]),
            ..ToolIntegrity::default()
        },
    }
}

fn sink(kind: ResourceKind, name: &str) -> Resource {
    Resource::Sink {
        what: ResourceRef {
            kind,
            name: name.into(),
        },
        level: SinkLevel::Level(Classification::Restricted),
    }
}

fn judge(gate: &Gate, name: &str, arguments: &Value, resources: &[Resource]) -> Evaluation {
    let taint = Taint::default();
    let flow = ToolCallFlow {
        tool: &tool(name),
        admission: &Admission::Offered,
        role: Role::User,
        arguments: &ArgumentCheck::Valid,
        produced_by: Label::BOTTOM,
        resources,
        granted: true,
        released: false,
        integrity: None,
        facts: CallFacts {
            arguments: Some(arguments),
            parallel: Some(1),
        },
    };
    let session = SessionFacts {
        taint: &taint,
        clearance: Classification::Restricted,
        bumper: None,
        caller: Caller::default(),
    };
    gate.judge(Flow::ToolCall(&flow), session)
}

fn api() -> Vec<Resource> {
    vec![sink(ResourceKind::Url, "api.example.com")]
}

#[test]
fn a_placeholder_is_written_exactly_so() {
    for (text, found) in [
        ("{{secret:TOKEN}}", vec!["TOKEN"]),
        (
            "Bearer {{secret:TOKEN}} and {{secret:PIN.code}}",
            vec!["TOKEN", "PIN.code"],
        ),
        ("{{secret:A}}{{secret:A}}", vec!["A", "A"]),
        ("{{{secret:A}}}", vec!["A"]),
        ("{{secret:{{secret:A}}", vec!["A"]),
        ("{{secret:A}", vec![]),
        ("{{ secret:A }}", vec![]),
        ("{{secret:}}", vec![]),
        ("{{secret: A}}", vec![]),
        ("{{SECRET:A}}", vec![]),
        ("{{secret:Ä}}", vec![]),
        ("secret:A", vec![]),
    ] {
        let placeholders = placeholders(&json!({ "a": text }));
        let names: Vec<_> = placeholders.iter().map(|found| found.secret.as_str()).collect();
        assert_eq!(names, found, "{text}");
    }
}

#[test]
fn a_placeholder_is_found_wherever_it_is() {
    let found = placeholders(&json!({
        "list": [["{{secret:A}}"], {"in": "{{secret:B}}"}],
        "{{secret:C}}": {"deep": {"er": "{{secret:D}}"}},
        "n": 3,
    }));
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.secret.as_str(), found.argument.as_str(), found.in_name))
        .collect();
    assert_eq!(
        found,
        [
            ("A", "list", false),
            ("B", "list.in", false),
            ("C", "{{secret:C}}", true),
            ("D", "{{secret:C}}.deep.er", false),
        ]
    );
}

#[test]
fn a_secret_goes_only_where_its_scope_says() {
    let gate = Gate::default().with_secrets(scopes());
    let url = |host: &str| vec![sink(ResourceKind::Url, host)];
    for (case, tool, arguments, resources, allowed) in [
        (
            "its place",
            "fetch",
            json!({"headers": {"Authorization": "Bearer {{secret:TOKEN}}"}}),
            api(),
            true,
        ),
        (
            "its place in a list",
            "fetch",
            json!({"headers": [{"value": "{{secret:TOKEN}}"}]}),
            api(),
            true,
        ),
        (
            "another port of a pattern",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            url("x.example.org:8443"),
            true,
        ),
        (
            "no host at all",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            vec![],
            true,
        ),
        (
            "the wrong port",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            url("x.example.org"),
            false,
        ),
        (
            "another host",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            url("evil.example"),
            false,
        ),
        (
            "a host that only ends so",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            url("evilapi.example.com"),
            false,
        ),
        (
            "one of two hosts",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            [api(), url("evil.example")].concat(),
            false,
        ),
        (
            "another tool",
            "post",
            json!({"headers": "{{secret:TOKEN}}"}),
            api(),
            false,
        ),
        (
            "another argument",
            "fetch",
            json!({"body": "{{secret:TOKEN}}"}),
            api(),
            false,
        ),
        (
            "an argument that only starts so",
            "fetch",
            json!({"headers2": "{{secret:TOKEN}}"}),
            api(),
            false,
        ),
        (
            "one that holds its own",
            "fetch",
            json!({"x": {"headers": "{{secret:TOKEN}}"}}),
            api(),
            false,
        ),
        (
            "a name",
            "fetch",
            json!({"headers": {"{{secret:TOKEN}}": "x"}}),
            api(),
            false,
        ),
        (
            "a recipient",
            "mail",
            json!({"to": "{{secret:TOKEN}}"}),
            vec![],
            false,
        ),
        (
            "a URL's path and query",
            "fetch",
            json!({"url": "https://api.example.com/{{secret:TOKEN}}?k={{secret:TOKEN}}"}),
            api(),
            true,
        ),
        (
            "a URL's host",
            "fetch",
            json!({"url": "https://{{secret:TOKEN}}.example.com/"}),
            api(),
            false,
        ),
        (
            "a URL's user",
            "fetch",
            json!({"url": "https://u:{{secret:TOKEN}}@api.example.com/"}),
            api(),
            false,
        ),
        (
            "a URL's port",
            "fetch",
            json!({"url": "https://api.example.com:{{secret:TOKEN}}/"}),
            api(),
            false,
        ),
        (
            "a URL's scheme",
            "fetch",
            json!({"url": "{{secret:TOKEN}}://api.example.com/"}),
            api(),
            false,
        ),
        (
            "two in a host",
            "fetch",
            json!({"url": "https://{{secret:TOKEN}}{{secret:TOKEN}}/"}),
            api(),
            false,
        ),
        (
            "a path that was resolved",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            vec![sink(ResourceKind::Path, "a/{{secret:TOKEN}}")],
            false,
        ),
        (
            "a command that was resolved",
            "fetch",
            json!({"headers": "{{secret:TOKEN}}"}),
            vec![sink(ResourceKind::Command, "x {{secret:TOKEN}}")],
            false,
        ),
        (
            "no host allowed, none used",
            "door",
            json!({"code": "{{secret:PIN.code}}"}),
            vec![],
            true,
        ),
        (
            "no host allowed, one used",
            "door",
            json!({"code": "{{secret:PIN.code}}"}),
            api(),
            false,
        ),
        (
            "no secret at all",
            "post",
            json!({"body": "text"}),
            url("evil.example"),
            true,
        ),
    ] {
        let evaluation = judge(&gate, tool, &arguments, &resources);
        let expected = if allowed { Decision::Allow } else { Decision::Block };
        assert_eq!(evaluation.decision, expected, "{case}: {evaluation:?}");
        let deciding = evaluation.rule.as_ref().map(|rule| rule.as_str());
        assert_eq!(deciding, (!allowed).then_some("secret-scope"), "{case}");

        // Putting the values in asks the same.
        let values = values(&[("TOKEN", "s3cr3t-t0ken"), ("PIN.code", "12345678")]);
        let put = gate
            .secrets()
            .substitute(&arguments, &self::tool(tool), &resources, &values);
        assert_eq!(put.is_ok(), allowed, "{case}");
    }
}

#[test]
fn what_is_wrong_with_secrets_is_told() {
    let gate = Gate::default().with_secrets(scopes());
    let mut text = String::new();
    for (tool, arguments, resources) in [
        (
            "fetch",
            json!({"headers": ["{{secret:NO}}", "{{secret:TOKEN}}", "{{secret:OTHER}}", "{{secret:NO}}"]}),
            api(),
        ),
        (
            "post\n",
            json!({"bo\u{1b}dy": "{{secret:TOKEN}}"}),
            vec![sink(ResourceKind::Url, "evil.example")],
        ),
        (
            "fetch",
            json!({"url": "https://{{secret:TOKEN}}.example.com/"}),
            api(),
        ),
        ("door", json!({"code": "{{secret:PIN.code}}"}), api()),
    ] {
        let evaluation = judge(&gate, tool, &arguments, &resources);
        writeln!(
            text,
            "{}\ntold: {}\n",
            evaluation.explanation.as_deref().unwrap(),
            evaluation.for_model()
        )
        .unwrap();
    }
    let allowed = judge(&gate, "fetch", &json!({"headers": "{{secret:TOKEN}}"}), &api());
    writeln!(text, "{}", allowed.rules.last().unwrap().why).unwrap();
    insta::assert_snapshot!("told", text);
}

#[test]
fn secrets_come_after_custom_rules_and_no_rule_or_grant_lets_them_out() {
    let rules = |action: &str| {
        let text = format!("[[policy.rules]]\nid = \"r\"\nhook = \"PRE_TOOL_CALL\"\naction = \"{action}\"");
        RuleSet::parse("f", &text).unwrap()
    };
    let arguments = json!({"body": "{{secret:TOKEN}}"});
    for (action, expected) in [
        ("ALLOW", "secret-scope"),
        ("REQUIRE_APPROVAL", "secret-scope"),
        ("BLOCK", "r"),
    ] {
        let gate = Gate::default().with_rules(rules(action)).with_secrets(scopes());
        let evaluation = judge(&gate, "fetch", &arguments, &api());
        assert_eq!(evaluation.rule.unwrap().as_str(), expected, "{action}");
    }
    // Without a configuration no secret goes anywhere.
    let evaluation = judge(&Gate::default(), "fetch", &arguments, &[]);
    assert_eq!(evaluation.decision, Decision::Block);
}

#[test]
fn values_are_put_in_their_places_and_nowhere_else() {
    let values = values(&[("TOKEN", "a b/ü\"12"), ("OTHER", "other-value")]);
    let arguments = json!({
        "headers": {"A": "x {{secret:TOKEN}} y", "B": ["{{secret:TOKEN}}{{secret:TOKEN}}", "{{secret:}}", 3]},
        "url": "https://api.example.com/a?k={{secret:TOKEN}}",
        "body": "text",
    });
    let put = scopes()
        .substitute(&arguments, &tool("fetch"), &api(), &values)
        .unwrap();
    assert_eq!(
        put.expose(),
        &json!({
            "headers": {"A": "x a b/ü\"12 y", "B": ["a b/ü\"12a b/ü\"12", "{{secret:}}", 3]},
            "url": "https://api.example.com/a?k=a%20b%2F%C3%BC%2212",
            "body": "text",
        })
    );
    // A value is not looked into for placeholders.
    let nested = self::values(&[("TOKEN", "{{secret:PIN.code}}"), ("PIN.code", "12345678")]);
    let put = scopes()
        .substitute(
            &json!({"headers": "{{secret:TOKEN}}"}),
            &tool("fetch"),
            &[],
            &nested,
        )
        .unwrap();
    assert_eq!(put.into_exposed(), json!({"headers": "{{secret:PIN.code}}"}));
}

#[test]
fn secrets_without_a_value_are_listed_together() {
    let scope = SecretScope {
        tools: list(&["t"]),
        arguments: list(&["a"]),
        hosts: vec![],
    };
    let scopes =
        SecretScopes::new(["ONE", "TWO", "THREE"].map(|secret| (name(secret), scope.clone()))).unwrap();
    let arguments = json!({"a": "{{secret:TWO}}{{secret:ONE}}{{secret:THREE}}{{secret:ONE}}"});
    let error = scopes
        .substitute(&arguments, &tool("t"), &[], &values(&[("TWO", "there it is")]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no value is set for: ONE, THREE; set the variables or files that [secrets] names for them"
    );
}

#[test]
fn values_and_scopes_that_cannot_be_used_are_refused() {
    let insert = |value: &str| {
        SecretValues::default()
            .insert(name("S"), SecretString::from(value))
            .map_err(|error| error.to_string())
    };
    assert_eq!(insert("12345678"), Ok(()));
    for value in ["", "1234567", " 12345678", "12345678\n"] {
        let error = insert(value).unwrap_err();
        assert!(error.contains("the secret S"), "{error}");
        assert!(
            value.trim().is_empty() || !error.contains(value.trim()),
            "{error}"
        );
    }
    assert!(matches!(
        SecretValues::default().insert(name("S"), SecretString::from("üüü")),
        Err(SecretError::TooShort { length: 6, .. })
    ));
    for (tools, arguments, hosts, told) in [
        (vec![], vec!["a"], vec![], "[secrets.S] names no `tools`"),
        (vec!["t"], vec![], vec![], "[secrets.S] names no `arguments`"),
        (
            vec!["t"],
            vec!["a"],
            vec!["https://x"],
            "[secrets.S] hosts: \"https://x\"",
        ),
    ] {
        let scope = SecretScope {
            tools: list(&tools),
            arguments: list(&arguments),
            hosts: list(&hosts),
        };
        let error = SecretScopes::new([(name("S"), scope)]).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
    for wrong in ["", "a b", "ä", &"x".repeat(65)] {
        assert!(wrong.parse::<SecretName>().is_err());
    }
}

#[test]
fn nothing_shows_a_value() {
    let values = values(&[("TOKEN", "s3cr3t-t0ken")]);
    let put = scopes()
        .substitute(
            &json!({"headers": "{{secret:TOKEN}}"}),
            &tool("fetch"),
            &[],
            &values,
        )
        .unwrap();
    for shown in [
        format!("{values:?}"),
        format!("{:?}", values.scrubber()),
        format!("{put:?}"),
    ] {
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }
    assert_eq!(put.expose(), &json!({"headers": "s3cr3t-t0ken"}));
}
