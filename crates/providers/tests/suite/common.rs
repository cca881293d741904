//! What the tests share: requests, and reading a stream to its end.

use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_message::{
    AssistantMessage, AssistantPart, Body, Entry, EntrySeq, ProviderId, Reply, ReplyPart, ResultStatus,
    ToolCall, ToolResult, ToolResults, ToolSpec, UserMessage,
};
use tidegate_policy::{CallId, Label, TurnId};
use tidegate_providers::{
    ModelRequest, OpenAi, OpenAiConfig, Provider, ProviderError, StreamEvent, ToolChoice, ToolSet,
};
use tidegate_testing::FakeOpenAi;

/// A history that grows as a transcript does.
#[derive(Default)]
pub(crate) struct Talk {
    pub(crate) entries: Vec<Arc<Entry>>,
}

impl Talk {
    pub(crate) fn asking(text: &str) -> Self {
        let mut talk = Self::default();
        talk.user(UserMessage::person(text));
        talk
    }

    pub(crate) fn push(&mut self, body: Body) {
        let seq = EntrySeq(self.entries.len() as u64 + 1);
        self.entries.push(Arc::new(Entry::new(
            seq,
            TurnId::from_bits(1),
            Label::BOTTOM,
            body,
        )));
    }

    pub(crate) fn user(&mut self, message: UserMessage) {
        self.push(Body::User(message));
    }

    /// Takes in a reply and returns its calls with their ids.
    pub(crate) fn reply(&mut self, reply: Reply) -> Vec<ToolCall> {
        let seq = self.entries.len() + 1;
        let mut calls = Vec::new();
        let parts = reply
            .parts
            .into_iter()
            .map(|part| match part {
                ReplyPart::Text(text) => AssistantPart::Text { text },
                ReplyPart::Reasoning(text) => AssistantPart::Reasoning { text },
                ReplyPart::Call {
                    provider_id,
                    name,
                    arguments,
                } => {
                    let id = CallId::new(format!("call_{seq}_{}", calls.len()));
                    let call = ToolCall {
                        id,
                        provider_id,
                        name,
                        arguments,
                    };
                    calls.push(call.clone());
                    AssistantPart::Call(call)
                }
            })
            .collect();
        let Reply {
            model,
            verbatim,
            usage,
            finish,
            ..
        } = reply;
        self.push(Body::Assistant(AssistantMessage {
            model,
            parts,
            verbatim,
            usage,
            finish,
        }));
        calls
    }

    pub(crate) fn results(&mut self, calls: &[ToolCall], text: &str) {
        let results = calls
            .iter()
            .map(|call| ToolResult::text(call, ResultStatus::Ok, Label::BOTTOM, text))
            .collect();
        self.push(Body::Results(ToolResults { results }));
    }

    pub(crate) fn request(&self) -> ModelRequest {
        ModelRequest {
            model: "fake-model".into(),
            system: "Be exact.".into(),
            tools: Arc::new(tools(&["list_files", "read_file"])),
            history: Arc::new(self.entries.clone()),
            tool_choice: ToolChoice::Auto,
        }
    }
}

pub(crate) fn tools(names: &[&str]) -> ToolSet {
    let spec = |name: &&str| ToolSpec {
        name: (*name).into(),
        description: format!("The tool {name}."),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    ToolSet::new(names.iter().map(spec).collect())
}

pub(crate) fn asking(text: &str) -> ModelRequest {
    Talk::asking(text).request()
}

pub(crate) fn provider(server: &FakeOpenAi) -> OpenAi {
    OpenAi::new(OpenAiConfig::new(
        ProviderId::new("fake"),
        server.base_url().parse().unwrap(),
    ))
}

/// All events of a call; the reply if it was complete, else the error.
pub(crate) async fn collect(
    provider: &impl Provider,
    request: ModelRequest,
) -> (Vec<StreamEvent>, Result<Reply, ProviderError>) {
    let mut stream = provider.stream(request);
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(StreamEvent::Done(reply)) => {
                assert!(stream.next().await.is_none(), "nothing follows the reply");
                return (events, Ok(*reply));
            }
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (events, Err(error));
            }
        }
    }
    panic!("the stream ended without a reply or an error");
}

pub(crate) async fn reply(provider: &impl Provider, request: ModelRequest) -> Reply {
    collect(provider, request).await.1.unwrap()
}

pub(crate) async fn error(provider: &impl Provider, request: ModelRequest) -> ProviderError {
    collect(provider, request).await.1.unwrap_err()
}

/// The visible text of the events.
pub(crate) fn streamed_text(events: &[StreamEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Text(text) => Some(text.as_str()),
            StreamEvent::Reasoning(_) | StreamEvent::Done(_) => None,
        })
        .collect()
}

/// The parts of a reply, written shortly: `text:…`, `reasoning:…`, `id name(arguments)`.
pub(crate) fn shown(reply: &Reply) -> Vec<String> {
    reply
        .parts
        .iter()
        .map(|part| match part {
            ReplyPart::Text(text) => format!("text:{text}"),
            ReplyPart::Reasoning(text) => format!("reasoning:{text}"),
            ReplyPart::Call {
                provider_id,
                name,
                arguments,
            } => format!("{provider_id} {name}({arguments})"),
        })
        .collect()
}

pub(crate) fn verbatim(reply: &Reply) -> &str {
    reply.verbatim.as_ref().unwrap().json.get()
}

/// A chunk with this delta.
pub(crate) fn delta(delta: Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

/// A chunk with these fragments of calls.
pub(crate) fn fragments(fragments: Value) -> String {
    delta(json!({"tool_calls": fragments}))
}

pub(crate) fn finished(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

pub(crate) fn done() -> String {
    "[DONE]".into()
}
