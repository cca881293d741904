//! The examples keep the contracts: each passes the suite for its trait.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/own_provider.rs"]
#[expect(dead_code, reason = "its `main` is for running it by itself")]
mod own_provider;
#[path = "../examples/own_store.rs"]
#[expect(dead_code, reason = "its `main` is for running it by itself")]
mod own_store;
#[path = "../examples/own_tool.rs"]
#[expect(dead_code, reason = "its `main` is for running it by itself")]
mod own_tool;

use futures::future::BoxFuture;
use serde_json::json;
use std::sync::{Arc, Mutex};
use tidegate::message::ReplyPart;
use tidegate::prelude::*;
use tidegate_testing::conformance::{self, Hanging, ProviderCase, ToolCase};

struct Functions;

impl ProviderCase for Functions {
    fn saying(&self, replies: Vec<ScriptedReply>) -> BoxFuture<'_, Arc<dyn Provider>> {
        let replies = Mutex::new(replies.into_iter());
        let provider = own_provider::Function::new("function", move |_| {
            let reply = replies.lock().unwrap().next().ok_or("nothing is left to say")?;
            let mut parts = vec![ReplyPart::Text(reply.text)];
            parts.extend(
                reply
                    .calls
                    .into_iter()
                    .enumerate()
                    .map(|(index, call)| ReplyPart::Call {
                        provider_id: format!("c{index}"),
                        name: call.tool.as_str().into(),
                        arguments: call.arguments,
                    }),
            );
            Ok(parts)
        });
        Box::pin(async { Arc::new(provider) as Arc<dyn Provider> })
    }

    fn failing(&self) -> BoxFuture<'_, Arc<dyn Provider>> {
        self.saying(Vec::new())
    }

    // A function has no peer that could hang.
    fn hanging(&self) -> BoxFuture<'_, Option<Hanging>> {
        Box::pin(async { None })
    }
}

#[tokio::test]
async fn the_provider_passes() {
    conformance::provider(&Functions).await;
}

#[tokio::test]
async fn the_tool_passes() {
    let number = Arc::new(Mutex::new(0));
    conformance::tool(&ToolCase {
        tool: &|| Arc::new(own_tool::Counter::new(Arc::clone(&number))),
        good: vec![json!({"by": 40}), json!({"by": 2})],
        bad: vec![
            json!({}),
            json!({"by": "2"}),
            json!({"by": 2, "twice": true}),
            json!({"by": 101}),
        ],
        endless: None,
        watched: Vec::new(),
    })
    .await;
    assert_eq!(
        *number.lock().unwrap(),
        42,
        "each good call ran once, the bad ones did not"
    );
}

#[tokio::test]
async fn the_store_passes() {
    conformance::store(&|| Box::pin(async { Arc::new(own_store::Memory::default()) as Arc<dyn Store> }))
        .await;
}
