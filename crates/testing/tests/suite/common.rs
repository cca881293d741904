//! Requests and models for the tests.

use futures::StreamExt;
use std::sync::Arc;
use tidegate_message::{Body, Entry, EntrySeq, ProviderId, Reply, UserMessage};
use tidegate_policy::{Label, TurnId};
use tidegate_providers::{
    ModelRequest, OpenAi, OpenAiConfig, Provider, ProviderError, StreamEvent, ToolChoice, ToolSet,
};

pub(crate) fn asking(texts: &[&str]) -> ModelRequest {
    let history = texts.iter().zip(1..).map(|(text, seq)| {
        let body = Body::User(UserMessage::person(*text));
        Arc::new(Entry::new(
            EntrySeq(seq),
            TurnId::from_bits(1),
            Label::BOTTOM,
            body,
        ))
    });
    ModelRequest {
        model: "m".into(),
        system: "".into(),
        tools: Arc::new(ToolSet::default()),
        history: Arc::new(history.collect()),
        tool_choice: ToolChoice::Auto,
    }
}

pub(crate) async fn ask(model: &impl Provider, request: ModelRequest) -> Result<Reply, ProviderError> {
    let mut stream = model.stream(request);
    loop {
        match stream.next().await.unwrap()? {
            StreamEvent::Done(reply) => return Ok(*reply),
            StreamEvent::Text(_) | StreamEvent::Reasoning(_) => {}
        }
    }
}

pub(crate) fn model_at(base_url: &str, key: Option<&str>) -> OpenAi {
    OpenAi::new(OpenAiConfig {
        api_key: key.map(Into::into),
        ..OpenAiConfig::new(ProviderId::new("fake"), base_url.parse().unwrap())
    })
}
