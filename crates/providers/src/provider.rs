//! What every provider does.

use crate::ProviderError;
use bytes::Bytes;
use futures::stream::BoxStream;
use std::sync::{Arc, OnceLock};
use tidegate_message::{Entry, ProviderId, Reply, ToolSpec};

/// The tools of a session as they are sent: in this order, which the caller sorts by name, and encoded
/// once per wire.
#[derive(Debug, Default)]
pub struct ToolSet {
    specs: Vec<ToolSpec>,
    chat_completions: OnceLock<Bytes>,
}

impl ToolSet {
    /// The tools in this order.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self {
            specs,
            chat_completions: OnceLock::new(),
        }
    }

    /// The tools.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Whether a tool of this name is among them.
    pub fn offers(&self, name: &str) -> bool {
        self.specs.iter().any(|spec| spec.name.as_str() == name)
    }

    /// The bytes of the tools on the wire of Chat Completions, made by `encode` the first time.
    pub(crate) fn chat_completions(&self, encode: impl FnOnce(&[ToolSpec]) -> Bytes) -> &Bytes {
        self.chat_completions.get_or_init(|| encode(&self.specs))
    }
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must answer. The tools are sent all the same, so that the request stays a prefix.
    None,
}

/// One call of a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The model's name as the provider knows it.
    pub model: Arc<str>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools; none are sent if it is empty.
    pub tools: Arc<ToolSet>,
    /// What was said, oldest first: a closed transcript that ends with a user message or results.
    pub history: Vec<Arc<Entry>>,
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
}

/// What arrives while a model answers.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// Visible text, to be appended.
    Text(String),
    /// Thinking, to be appended. Not for showing.
    Reasoning(String),
    /// The complete reply: the last event.
    Done(Box<Reply>),
}

/// The events of one call. After [`StreamEvent::Done`] or an error nothing follows.
pub type ReplyStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

/// A model provider.
pub trait Provider: Send + Sync {
    /// Its name in the configuration.
    fn id(&self) -> &ProviderId;

    /// Calls a model. Nothing is sent before the stream is polled; dropping it ends the call.
    fn stream(&self, request: ModelRequest) -> ReplyStream;
}
