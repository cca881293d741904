//! What every provider does.

use crate::ProviderError;
use crate::openai::ChatMessages;
use bytes::Bytes;
use futures::stream::BoxStream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use tidegate_message::{Entry, ProviderId, Reply, ToolSpec};
use tidegate_policy::ToolName;

/// The tools of a session as they are sent: in this order, which the caller sorts by name, and encoded
/// once per wire. Beside them it keeps the bytes of the system prompt and the history they were last sent with,
/// so that a request encodes nothing that the one before had. Sessions should not share one: each would find the
/// other's history there.
#[derive(Debug, Default)]
pub struct ToolSet {
    specs: Vec<ToolSpec>,
    chat_completions: OnceLock<Bytes>,
    chat_names: OnceLock<BTreeMap<String, ToolName>>,
    chat_system: RwLock<Option<(Arc<str>, Bytes)>>,
    chat_messages: Mutex<ChatMessages>,
}

impl ToolSet {
    /// The tools in this order.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self {
            specs,
            ..Self::default()
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

    /// The tool that is called `wire` on the wire of Chat Completions, where names are `shortened`.
    pub(crate) fn by_chat_name(&self, wire: &str, shortened: impl Fn(&str) -> String) -> Option<&ToolName> {
        let names = self.chat_names.get_or_init(|| {
            let named = |spec: &ToolSpec| (shortened(spec.name.as_str()), spec.name.clone());
            self.specs.iter().map(named).collect()
        });
        names.get(wire)
    }

    /// The bytes of `system` on the wire of Chat Completions, made by `encode` unless they are those that
    /// were asked for last.
    pub(crate) fn chat_system(&self, system: &Arc<str>, encode: impl FnOnce(&str) -> Bytes) -> Bytes {
        let last = self.chat_system.read().unwrap_or_else(PoisonError::into_inner);
        // The `Arc` that is kept here keeps its address from being used again.
        if let Some((known, bytes)) = &*last
            && Arc::ptr_eq(known, system)
        {
            return bytes.clone();
        }
        drop(last);
        let bytes = encode(system);
        let mut last = self.chat_system.write().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Arc::clone(system), bytes.clone()));
        bytes
    }

    /// The bytes of the history on the wire of Chat Completions, as far as they were sent last.
    pub(crate) fn chat_messages(&self) -> MutexGuard<'_, ChatMessages> {
        self.chat_messages.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// What was said, oldest first: a closed transcript that ends with a user message or results. Shared with the
    /// transcript it comes from, which copies it if it grows while the request is still kept.
    pub history: Arc<Vec<Arc<Entry>>>,
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

    /// What its limits are counted against: providers of the same account are told to wait together, and are
    /// taken for dead together. Not secret; never shown. By default the provider's name: an account of its own.
    fn account(&self) -> String {
        format!("provider {}", self.id())
    }

    /// The body in which [`stream`](Self::stream) sends `request`, byte for byte; none if it sends nothing. By default none.
    fn body(&self, request: &ModelRequest) -> Option<Bytes> {
        let _ = request;
        None
    }

    /// Calls a model. Nothing is sent before the stream is polled; dropping it ends the call.
    fn stream(&self, request: ModelRequest) -> ReplyStream;
}

#[cfg(test)]
mod tests {
    use super::ToolSet;
    use bytes::Bytes;
    use std::cell::Cell;
    use std::sync::Arc;

    #[test]
    fn a_system_prompt_is_encoded_when_it_is_another_one() {
        let (tools, encoded) = (ToolSet::default(), Cell::new(0));
        let ask = |system: &Arc<str>| {
            tools.chat_system(system, |text| {
                encoded.set(encoded.get() + 1);
                Bytes::copy_from_slice(text.as_bytes())
            })
        };
        let first: Arc<str> = "one".into();
        for (system, bytes, times) in [
            (Arc::clone(&first), "one", 1),
            (Arc::clone(&first), "one", 1),
            ("two".into(), "two", 2),
            (first, "one", 3),
            // Equal text somewhere else may be another prompt tomorrow: it is encoded.
            ("one".into(), "one", 4),
        ] {
            assert_eq!(ask(&system), bytes);
            assert_eq!(encoded.get(), times);
        }
    }
}
