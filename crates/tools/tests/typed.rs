//! Tools made of async functions, and the tools the loop runs itself.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidegate_message::{Tier, joined_text};
use tidegate_policy::{
    Classification, Label, Resource, ResourceKind, ResourceRef, Role, SessionId, SinkLevel, TurnId,
};
use tidegate_tools::{
    BoxFuture, CallContext, Cancel, IntoOutput, Json, NeverCancelled, Registry, Tool, ToolError, ToolOutput,
    TypedTool, new_cognitive_level, until_cancelled,
};

fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(2),
        call: "call_1_0".into(),
        label: Label::BOTTOM,
        clearance: Classification::Restricted,
        cancel: Arc::new(NeverCancelled),
    }
}

async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    let arguments = arguments.as_object().unwrap().clone();
    tool.prepare(arguments, &context()).await?.run(context()).await
}

/// Sends a letter.
#[derive(Deserialize, JsonSchema)]
struct Letter {
    /// Who gets it.
    to: String,
    /// How many copies.
    #[serde(default)]
    copies: u8,
    /// Words beside it.
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

fn send() -> TypedTool<Letter> {
    TypedTool::new(
        "send_letter",
        "Sends a letter.",
        |letter: Letter, context: CallContext| async move {
            if letter.copies > 3 {
                return Err(ToolError::new("at most 3 copies"));
            }
            Ok(json!({"to": letter.to, "call": context.call, "notes": letter.notes}))
        },
    )
}

#[tokio::test]
async fn a_typed_tool_runs_its_function_with_arguments_and_context() {
    let output = call(&send(), json!({"to": "Ada", "notes": {"b": "2", "a": "1"}}))
        .await
        .unwrap();
    assert_eq!(
        joined_text(&output.content),
        r#"{"to":"Ada","call":"call_1_0","notes":{"a":"1","b":"2"}}"#
    );
    assert_eq!(output.label, Label::BOTTOM);
    let error = call(&send(), json!({"to": "Ada", "copies": 4}))
        .await
        .unwrap_err();
    assert_eq!(error, ToolError::new("at most 3 copies"));
}

#[test]
fn a_typed_tool_is_harmless_and_its_result_untrusted_unless_it_says_otherwise() {
    let plain = send();
    let plain = plain.definition();
    assert_eq!(plain.policy.name, plain.spec.name);
    assert_eq!(plain.policy.role, Role::User);
    assert!(!plain.policy.consequential);
    assert_eq!(plain.policy.source, Label::untrusted(Classification::Public));
    assert_eq!(plain.policy.floor, Classification::Public);
    assert_eq!(plain.timeout, None);

    let declared = send()
        .role(Role::Admin)
        .consequential(["to"])
        .source(Label::trusted(Classification::Internal))
        .floor(Classification::Internal)
        .timeout(Duration::from_secs(5));
    let declared = declared.definition();
    assert_eq!(declared.policy.role, Role::Admin);
    assert!(declared.policy.consequential);
    assert_eq!(declared.policy.control_arguments, ["to"]);
    assert_eq!(declared.policy.source, Label::trusted(Classification::Internal));
    assert_eq!(declared.policy.floor, Classification::Internal);
    assert_eq!(declared.timeout, Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn resources_are_resolved_when_prepared_and_again_before_running() {
    let changed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&changed);
    let tool = send().resources(move |letter| {
        let level = if seen.load(Ordering::SeqCst) {
            Classification::Public
        } else {
            Classification::Internal
        };
        vec![Resource::Sink {
            what: ResourceRef {
                kind: ResourceKind::Recipient,
                name: letter.to.clone(),
            },
            level: SinkLevel::Level(level),
        }]
    });
    let arguments = json!({"to": "Ada"}).as_object().unwrap().clone();
    let mut prepared = tool.prepare(arguments, &context()).await.unwrap();
    let before = prepared.resources().to_vec();
    changed.store(true, Ordering::SeqCst);
    let after = prepared.reread().await.unwrap();
    assert_ne!(before, after);
    assert_eq!(prepared.resources(), after);
}

#[test]
fn the_schema_tells_models_the_arguments_and_nothing_of_rust() {
    insta::assert_json_snapshot!(send().definition().spec);
}

#[test]
fn a_tool_without_arguments_has_an_empty_object() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let tool = TypedTool::new("now", "", |_: Nothing, _: CallContext| async { Ok("") });
    assert_eq!(
        tool.definition().spec.input_schema,
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
}

#[test]
fn flattened_alternatives_still_accept_their_own_arguments_and_no_others() {
    #[expect(dead_code, reason = "only its schema is used")]
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Target {
        Path { path: String },
        Url { url: String },
    }
    #[expect(dead_code, reason = "only its schema is used")]
    #[derive(Deserialize, JsonSchema)]
    struct Fetch {
        limit: Option<u32>,
        #[serde(flatten)]
        target: Target,
    }
    let mut registry = Registry::new();
    registry
        .register(Arc::new(TypedTool::new(
            "fetch",
            "",
            |_: Fetch, _: CallContext| async { Ok("") },
        )))
        .unwrap();
    let fits = |arguments: &str| registry.check(&"fetch".into(), arguments).is_ok();
    assert!(fits(r#"{"path": "a"}"#));
    assert!(fits(r#"{"url": "a", "limit": 3}"#));
    assert!(!fits(r#"{"url": "a", "user_id": 3}"#));
    assert!(!fits("{}"));
}

#[test]
fn results_are_written_in_the_order_of_their_fields() {
    #[derive(Serialize)]
    struct Weather {
        wind: u8,
        cloud: bool,
    }
    let text = |output: Result<ToolOutput, ToolError>| joined_text(&output.unwrap().content);
    assert_eq!(
        text(Json(Weather { wind: 3, cloud: true }).into_output()),
        r#"{"wind":3,"cloud":true}"#
    );
    assert_eq!(text(String::from("a").into_output()), "a");
    assert_eq!(text("b".into_output()), "b");
    assert_eq!(text(json!([1]).into_output()), "[1]");
    let labelled = ToolOutput::text("c").with_label(Label::untrusted(Classification::Internal));
    assert_eq!(labelled.clone().into_output(), Ok(labelled));
    // JSON has no keys but text.
    let error = Json(BTreeMap::from([([1, 2], 3)])).into_output().unwrap_err();
    assert_eq!(
        error.message,
        "the result cannot be written as JSON: key must be a string"
    );
}

#[test]
fn the_offer_to_change_the_tier_lists_the_valid_targets_lowest_first() {
    insta::assert_json_snapshot!(new_cognitive_level(&[Tier::Pro, Tier::Lite, Tier::Pro]));
    assert_eq!(
        new_cognitive_level(&[Tier::Flash, Tier::Lite]),
        new_cognitive_level(&[Tier::Lite, Tier::Flash])
    );
}

struct Switch(tokio::sync::watch::Receiver<bool>);

impl Cancel for Switch {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        let mut receiver = self.0.clone();
        Box::pin(async move {
            // An error means that nobody is left to cancel.
            if receiver.wait_for(|stop| *stop).await.is_err() {
                std::future::pending().await
            }
        })
    }
}

#[tokio::test]
async fn cancelled_work_stops_where_it_stands_and_is_dropped() {
    let (sender, receiver) = tokio::sync::watch::channel(false);
    let cancel = Switch(receiver);
    assert_eq!(until_cancelled(&cancel, async { 1 }).await, Some(1));

    let held = Arc::new(());
    let guard = Arc::clone(&held);
    let endless = async move {
        sender.send(true).unwrap();
        std::future::pending::<()>().await;
        drop(guard);
    };
    assert_eq!(until_cancelled(&cancel, endless).await, None);
    assert_eq!(Arc::strong_count(&held), 1);

    let begun = AtomicBool::new(false);
    assert_eq!(
        until_cancelled(&cancel, async { begun.store(true, Ordering::SeqCst) }).await,
        None
    );
    assert!(!begun.load(Ordering::SeqCst));
    assert_eq!(until_cancelled(&NeverCancelled, async { 2 }).await, Some(2));
}

#[test]
fn a_tool_and_its_context_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + ?Sized>() {}
    shared::<dyn Tool>();
    shared::<CallContext>();
    shared::<Registry>();
    shared::<TypedTool<Letter>>();
}
