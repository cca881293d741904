//! What a registry accepts, and that its order is nobody's but the alphabet's.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_message::ToolSpec;
use tidegate_policy::{Classification, Label, Role, ToolPolicy};
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, Registry, Tool, ToolDefinition, ToolError};

/// A tool made by hand, as one from an MCP server would be.
struct Foreign(ToolDefinition);

impl Tool for Foreign {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(
        &'a self,
        _: serde_json::Map<String, Value>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        Box::pin(async { Err(ToolError::new("not run in these tests")) })
    }
}

fn foreign(name: &str, schema: Value) -> ToolDefinition {
    ToolDefinition {
        spec: ToolSpec {
            name: name.into(),
            description: format!("does {name}"),
            input_schema: schema,
        },
        policy: ToolPolicy {
            name: name.into(),
            role: Role::User,
            consequential: false,
            source: Label::untrusted(Classification::Public),
            floor: Classification::Public,
            control_arguments: Vec::new(),
            approval: false,
            integrity: tidegate_policy::ToolIntegrity::default(),
        },
        timeout: None,
    }
}

fn register(definition: ToolDefinition) -> String {
    match Registry::new().register(Arc::new(Foreign(definition))) {
        Ok(()) => "registered".into(),
        Err(error) => match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}

#[test]
fn a_tool_that_cannot_work_is_refused_with_the_reason() {
    let object = || json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let mut two_names = foreign("read_file", object());
    two_names.policy.name = "write_file".into();
    let mut unguarded = foreign("write_file", object());
    unguarded.policy.control_arguments = vec!["pth".into()];
    let mut guarded = foreign("write_file", object());
    guarded.policy.control_arguments = vec!["path".into()];
    let table = [
        foreign("read_file", object()),
        guarded,
        foreign(&"n".repeat(64), object()),
        foreign("", object()),
        foreign(&"n".repeat(65), object()),
        foreign("read file", object()),
        foreign("lire_été", object()),
        foreign("a.b", object()),
        two_names,
        unguarded,
        foreign("t", json!(null)),
        foreign("t", json!(true)),
        foreign("t", json!({})),
        foreign("t", json!({"type": "string"})),
        foreign("t", json!({"type": ["object", "null"]})),
        foreign(
            "t",
            json!({"type": "object", "properties": {"a": {"type": "txt"}}}),
        ),
        foreign(
            "t",
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}),
        ),
        foreign(
            "t",
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/schema"}}}),
        ),
        foreign(
            "t",
            json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
        ),
        foreign(
            "t",
            json!({"$schema": "https://example.com/unknown", "type": "object"}),
        ),
    ];
    insta::assert_snapshot!(table.map(register).join("\n"));
}

#[test]
fn a_second_tool_of_the_same_name_is_refused_and_the_first_stays() {
    let mut registry = Registry::new();
    registry
        .register(Arc::new(Foreign(foreign("a", json!({"type": "object"})))))
        .unwrap();
    let before = registry.specs(Role::Admin);
    let second = foreign("a", json!({"type": "object", "properties": {"x": {}}}));
    let error = registry.register(Arc::new(Foreign(second))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are two tools named a; give one of them another name, or register only one"
    );
    assert_eq!(registry.specs(Role::Admin), before);
    assert_eq!(registry.len(), 1);
}

#[test]
fn each_role_sees_the_tools_up_to_its_own() {
    let mut registry = Registry::new();
    for (name, role) in [("c", Role::Guest), ("a", Role::Admin), ("b", Role::User)] {
        let mut definition = foreign(name, json!({"type": "object"}));
        definition.policy.role = role;
        registry.register(Arc::new(Foreign(definition))).unwrap();
    }
    let seen = |role| {
        registry
            .names(role)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(seen(Role::Guest), ["c"]);
    assert_eq!(seen(Role::User), ["b", "c"]);
    assert_eq!(seen(Role::Admin), ["a", "b", "c"]);
    for role in Role::ALL {
        let specs: Vec<_> = registry.specs(role).into_iter().map(|spec| spec.name).collect();
        assert_eq!(specs, registry.names(role));
    }
}

#[test]
fn schemas_of_other_makers_are_brought_into_one_form_and_lose_nothing_needed() {
    let written = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Arguments",
        "type": "object",
        "required": ["to", "title"],
        "properties": {
            "title": {"title": "Title", "type": "string", "default": {"title": "kept: a value"}},
            "to": {"$ref": "#/definitions/Address"},
            "size": {"enum": [10, 9, 1, "b", "a", null]},
            "tags": {"type": ["null", "array"], "items": {"title": "Tag", "enum": ["title", "required"]}}
        },
        "definitions": {"Address": {"title": "Address", "type": "string", "format": "email"}}
    });
    let mut registry = Registry::new();
    registry
        .register(Arc::new(Foreign(foreign("mcp_send", written))))
        .unwrap();
    insta::assert_json_snapshot!(registry.specs(Role::User));
    // What is not forbidden by its maker stays allowed.
    assert!(
        registry
            .check(&"mcp_send".into(), r#"{"to": "a", "title": "b", "more": 1}"#)
            .is_ok()
    );
    assert!(registry.check(&"mcp_send".into(), r#"{"to": "a"}"#).is_err());
}

proptest! {
    #[test]
    fn the_order_of_registration_never_reaches_the_bytes(
        names in proptest::collection::btree_set("[a-zA-Z0-9_-]{1,8}", 0..12),
        required in proptest::collection::vec("[a-z]{1,4}", 0..6),
        seed in any::<u64>(),
    ) {
        let schema = |reverse: bool| {
            let mut required: Vec<&str> = required.iter().map(String::as_str).collect();
            required.sort_unstable();
            required.dedup();
            if reverse { required.reverse(); }
            json!({"type": "object", "required": required})
        };
        let bytes = |names: &[&String], reverse: bool| {
            let mut registry = Registry::new();
            for name in names {
                registry.register(Arc::new(Foreign(foreign(name, schema(reverse))))).unwrap();
            }
            serde_json::to_string(&registry.specs(Role::Admin)).unwrap()
        };
        let sorted: Vec<&String> = names.iter().collect();
        let mut shuffled = sorted.clone();
        // A shuffle that depends on the seed alone.
        shuffled.sort_by_key(|name| {
            name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte))
        });
        prop_assert_eq!(bytes(&sorted, false), bytes(&shuffled, true));
    }
}
