//! A tool of your own, by hand: what it is, what a call of it touches, and doing it.
//!
//! Most tools need less: `TypedTool` makes one of an async function. By hand a tool can open things once, be judged
//! on them, and then work on just those.
//!
//! Run it: `cargo run -p tidegate --example own_tool`

use serde_json::{Map, Value, json};
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate::message::ToolSpec;
use tidegate::policy::{Resource, ToolName, ToolPolicy};
use tidegate::prelude::*;
use tidegate::tools::{BoxFuture, PreparedCall, ToolDefinition};

/// Counts: adds to a number and says what it is now.
pub(crate) struct Counter {
    definition: ToolDefinition,
    number: Arc<Mutex<i64>>,
}

impl Counter {
    pub(crate) fn new(number: Arc<Mutex<i64>>) -> Self {
        let name = ToolName::new("count");
        let definition = ToolDefinition {
            spec: ToolSpec {
                name: name.clone(),
                description: "Adds to the counter and says where it stands.".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {"by": {"type": "integer", "description": "How much; 1 to 100."}},
                    "required": ["by"],
                    "additionalProperties": false,
                }),
            },
            policy: ToolPolicy {
                name,
                role: Role::User,
                consequential: false,
                source: Label::untrusted(Classification::Public),
                floor: Classification::Public,
                control_arguments: Vec::new(),
                approval: false,
                integrity: Default::default(),
            },
            timeout: None,
        };
        Self { definition, number }
    }
}

impl Tool for Counter {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// The schema was checked; what is left are rules that no schema can express. Nothing is counted yet.
    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        let by = arguments.get("by").and_then(Value::as_i64);
        let prepared = match by.filter(|by| (1..=100).contains(by)) {
            Some(by) => Ok(Box::new(Count {
                by,
                number: Arc::clone(&self.number),
            }) as Box<dyn PreparedCall>),
            None => Err(ToolError::new(
                "by has to be from 1 to 100; count in several calls",
            )),
        };
        Box::pin(ready(prepared))
    }
}

struct Count {
    by: i64,
    number: Arc<Mutex<i64>>,
}

impl PreparedCall for Count {
    /// It touches nothing the gate has to see: no file, no address, no person.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        *number += self.by;
        Box::pin(ready(Ok(ToolOutput::text(number.to_string()))))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let replies = [
        ScriptedReply::calls([("count", json!({"by": 40})), ("count", json!({"by": 2}))]),
        ScriptedReply::text("The counter stands at 42.").expecting("42"),
    ];
    let runtime = Runtime::builder()
        .in_memory()
        .provider(
            Arc::new(Scripted::new(ProviderId::new("script"), replies)),
            Classification::Restricted,
            8,
        )
        .tier(Tier::Lite, vec!["script:any".parse()?])
        .tool(Arc::new(Counter::new(Arc::default())))
        .without_file_tools()
        .build()?;
    let mut session = runtime.session(SessionRequest::new(Which::New)).await?;
    println!(
        "{}",
        session.run("Count to 42.", TurnOptions::default()).await?.answer
    );
    Ok(())
}
