//! What models are told of the built-in tools. A change here changes every session's prompt.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use jiff::ZonedDateTime;
use serde_json::json;
use std::sync::Arc;
use tempfile::TempDir;
use tidegate_builtins::{Workspace, current_time, file_tools};
use tidegate_message::joined_text;
use tidegate_policy::{Classification, Label, PathRules, Role, SessionId, TurnId};
use tidegate_tools::{CallContext, MemoryLabels, NeverCancelled, Registry, Tool};

fn clock() -> ZonedDateTime {
    "2026-11-29T19:39:00.25+00:00[UTC]".parse().unwrap()
}

#[test]
fn models_are_told_the_tools() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let workspace = Workspace::open(
        &root,
        PathRules::builder(&root).build().unwrap(),
        Arc::new(MemoryLabels::new()),
    )
    .unwrap();
    let mut registry = Registry::new();
    for tool in file_tools(&workspace) {
        registry.register(tool).unwrap();
    }
    registry.register(current_time(clock)).unwrap();
    let specs = registry.specs(Role::User);
    assert_eq!(specs, registry.specs(Role::Admin));
    insta::assert_json_snapshot!(specs);

    for tool in registry.tools() {
        let policy = &tool.definition().policy;
        let writes = ["write_file", "edit_file"].contains(&policy.name.as_str());
        assert_eq!(policy.consequential, writes, "{}", policy.name);
        assert_eq!(
            policy.control_arguments,
            if writes { vec!["path"] } else { vec![] },
            "{}",
            policy.name
        );
        assert_eq!(policy.source, Label::BOTTOM, "{}", policy.name);
        // What the schema gives is what the registry gives: nothing is lost on the way.
        assert_eq!(
            Some(&tool.definition().spec),
            specs.iter().find(|spec| spec.name == policy.name)
        );
    }
    assert_eq!(registry.names(Role::Guest), Vec::new());
}

#[tokio::test]
async fn the_time_is_told_in_the_zone_asked_for() {
    let tool = current_time(clock);
    let told = async |arguments: serde_json::Value| {
        let context = CallContext {
            session: SessionId::from_bits(1),
            turn: TurnId::from_bits(1),
            call: "call_1_0".into(),
            label: Label::BOTTOM,
            clearance: Classification::Public,
            cancel: Arc::new(NeverCancelled),
        };
        let arguments = arguments.as_object().unwrap().clone();
        let prepared = tool.prepare(arguments, &context).await.unwrap();
        match prepared.run(context).await {
            Ok(output) => joined_text(&output.content),
            Err(error) => error.message,
        }
    };
    let table = [
        (json!({}), "2026-11-29T19:39:00+00:00 (UTC, Sunday)"),
        (
            json!({"timezone": null}),
            "2026-11-29T19:39:00+00:00 (UTC, Sunday)",
        ),
        (
            json!({"timezone": "Europe/Berlin"}),
            "2026-11-29T20:39:00+01:00 (Europe/Berlin, Sunday)",
        ),
        (
            json!({"timezone": "Asia/Kathmandu"}),
            "2026-11-30T01:24:00+05:45 (Asia/Kathmandu, Monday)",
        ),
        (
            json!({"timezone": "Europe/Berln"}),
            "there is no time zone \"Europe/Berln\"; write an IANA name, as in Europe/Berlin",
        ),
        (
            json!({"timezone": "new york"}),
            "there is no time zone \"new york\"; write an IANA name, as in Europe/Berlin",
        ),
        (
            json!({"timezone": "../../etc/passwd"}),
            "there is no time zone \"../../etc/passwd\"; write an IANA name, as in Europe/Berlin",
        ),
        (
            json!({"timezone": ""}),
            "there is no time zone \"\"; write an IANA name, as in Europe/Berlin",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(told(arguments.clone()).await, expected, "{arguments}");
    }
    let default: Arc<dyn Tool> = current_time(ZonedDateTime::now);
    assert_eq!(default.definition(), tool.definition());
}
