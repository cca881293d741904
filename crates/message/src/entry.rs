//! The entries of a transcript.

use crate::{Content, FinishReason, ModelId, ProviderId, Usage};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use tidegate_policy::{CallId, Label, SourceId, ToolName, TurnId};

/// An entry's place in its session, counted from 1 and never reused, also over compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntrySeq(pub u64);

impl fmt::Display for EntrySeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One entry: who said what in which turn, and its label. Entries never change once they are made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the session.
    pub seq: EntrySeq,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The label of its content.
    pub label: Label,
    /// What was said.
    pub body: Body,
    #[serde(skip)]
    encoded: EncodingCache,
}

/// The bytes of an entry for each wire it was sent on.
#[derive(Debug, Default)]
struct EncodingCache(RwLock<Vec<(Arc<str>, Bytes)>>);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.seq, self.turn, self.label, &self.body) == (other.seq, other.turn, other.label, &other.body)
    }
}

impl Eq for Entry {}

impl Entry {
    /// An entry that has not been encoded yet.
    pub fn new(seq: EntrySeq, turn: TurnId, label: Label, body: Body) -> Self {
        Self {
            seq,
            turn,
            label,
            body,
            encoded: EncodingCache::default(),
        }
    }

    /// The entry's bytes on `wire`, made by `encode` the first time and kept.
    ///
    /// `wire` names everything the bytes depend on besides the entry: the provider and the form.
    ///
    /// # Errors
    /// Those of `encode`; nothing is kept then.
    pub fn encoded<E>(&self, wire: &Arc<str>, encode: impl FnOnce() -> Result<Bytes, E>) -> Result<Bytes, E> {
        let known = |cache: &[(Arc<str>, Bytes)]| {
            cache
                .iter()
                .find(|(known, _)| known == wire)
                .map(|(_, bytes)| bytes.clone())
        };
        if let Some(bytes) = known(&self.encoded.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(bytes);
        }
        let bytes = encode()?;
        let mut cache = self.encoded.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = known(&cache) {
            return Ok(bytes);
        }
        cache.push((Arc::clone(wire), bytes.clone()));
        Ok(bytes)
    }
}

/// What an entry says. In JSON: `{"user": …}`, `{"assistant": …}` or `{"results": …}`.
// Not `#[serde(tag)]`: that reads through a buffer, which the raw JSON of `Verbatim` does not survive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A user message.
    User(UserMessage),
    /// A model's message.
    Assistant(AssistantMessage),
    /// The results of all calls of the model message before it.
    Results(ToolResults),
}

/// Who wrote a user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person.
    Person,
    /// The program: a notice about limits, say.
    Program,
    /// The program, summing up or handing over earlier work: reference only. It is never what a turn is about.
    Summary,
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Who wrote it.
    pub author: Author,
    /// Its parts; never empty.
    pub content: Vec<Content>,
    /// What models are sent in place of `content`: the same with recalled memory and notes of its turn. Composed
    /// once, before it is first sent, and stored, so that later requests repeat the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<Vec<Content>>,
}

impl UserMessage {
    /// A message of these parts, without a sidecar.
    pub fn new(author: Author, content: Vec<Content>) -> Self {
        Self {
            author,
            content,
            sidecar: None,
        }
    }

    /// A person's text.
    pub fn person(text: impl Into<String>) -> Self {
        Self::new(Author::Person, vec![Content::text(text)])
    }

    /// The program's text.
    pub fn program(text: impl Into<String>) -> Self {
        Self::new(Author::Program, vec![Content::text(text)])
    }

    /// A summary of earlier messages.
    pub fn summary(text: impl Into<String>) -> Self {
        Self::new(Author::Summary, vec![Content::text(text)])
    }

    /// The message with other content: redacted, say. It has no sidecar, since that holds the old content; the next
    /// request therefore does not go on where the one before ended.
    #[must_use]
    pub fn rewritten(&self, content: Vec<Content>) -> Self {
        Self::new(self.author, content)
    }

    /// What models are sent: the sidecar if there is one, else the content.
    pub fn api_content(&self) -> &[Content] {
        self.sidecar.as_deref().unwrap_or(&self.content)
    }
}

/// A model's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Which model said it.
    pub model: ModelId,
    /// The neutral form.
    pub parts: Vec<AssistantPart>,
    /// The provider's own form.
    pub verbatim: Option<Verbatim>,
    /// What the call cost.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish: FinishReason,
}

impl AssistantMessage {
    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
        })
    }

    /// The visible text.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text { text } => Some(text.as_str()),
                AssistantPart::Reasoning { .. } | AssistantPart::Call(_) => None,
            })
            .collect()
    }
}

/// One part of a model's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Visible text.
    Text {
        /// The text.
        text: String,
    },
    /// Thinking. Never shown, never edited, sent back to its own provider alone (by [`Verbatim`]).
    Reasoning {
        /// What can be read of it, perhaps nothing.
        text: String,
    },
    /// A tool call.
    Call(ToolCall),
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id in the session: `call_SEQ_INDEX`.
    pub id: CallId,
    /// The id the provider gave, which its own wire needs again.
    pub provider_id: String,
    /// The tool the model named; perhaps one it invented.
    pub name: ToolName,
    /// The arguments as the model wrote them: JSON, if it did it right. Empty means no arguments.
    pub arguments: String,
}

/// The results of all calls of one model message, in call order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResults {
    /// The results; never empty.
    pub results: Vec<ToolResult>,
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call: CallId,
    /// The provider's id of that call.
    pub provider_id: String,
    /// The tool.
    pub name: ToolName,
    /// How it ended.
    pub status: ResultStatus,
    /// What the model is told. Empty is shown to models as "(empty result)".
    pub content: Vec<Content>,
    /// Its label.
    pub label: Label,
    /// Where the full text is, if `content` was cut.
    pub source: Option<SourceId>,
}

impl ToolResult {
    /// A result of `call` with one text part.
    pub fn text(call: &ToolCall, status: ResultStatus, label: Label, text: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            status,
            content: vec![Content::text(text)],
            label,
            source: None,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// The tool ran and gave a result.
    Ok,
    /// The tool ran, or was about to, and failed.
    Error,
    /// The gate refused the call; the tool did not run.
    Refused,
    /// The tool ran; what came of it is above what the session may read, and was withheld.
    Withheld,
    /// The call was not run: unknown tool, arguments that do not parse, no budget left, cancelled before it began, or
    /// one that would change something failed before it began.
    NotRun,
    /// Whether it happened is not known: the process ended, or the call was cancelled, while it ran.
    Unknown,
}

/// A provider's own form of a model message: exactly the JSON it accepts back, whatever else it sent.
///
/// Kept byte for byte through serde, provided the entry is written and read as JSON text
/// (`serde_json::to_string`, `from_str`); a detour over `serde_json::Value` would sort its keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verbatim {
    /// The provider that may get it back.
    pub provider: ProviderId,
    /// The message object.
    pub json: Box<RawValue>,
}

impl PartialEq for Verbatim {
    fn eq(&self, other: &Self) -> bool {
        (&self.provider, self.json.get()) == (&other.provider, other.json.get())
    }
}

impl Eq for Verbatim {}
