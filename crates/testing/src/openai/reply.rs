//! What the fake answers.

use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;
use tidegate_message::FinishReason;
use tidegate_providers::ScriptedReply;
use tokio::sync::Notify;

/// One answer of a [`FakeOpenAi`](crate::FakeOpenAi): what it says, and how it reaches the client.
#[derive(Clone, Debug)]
pub struct FakeReply {
    /// What is said.
    pub body: FakeBody,
    /// The body is sent in pieces of so many bytes, each flushed by itself; in one piece if not given.
    pub chunk_bytes: Option<usize>,
    /// The connection is broken after so many bytes of the body.
    pub cut_after: Option<usize>,
    /// The answer begins only when this was notified.
    pub hold: Option<Arc<Notify>>,
    /// After so many bytes of the body, the rest waits until this was notified.
    pub hold_after: Option<(usize, Arc<Notify>)>,
    /// More headers.
    pub headers: Vec<(String, String)>,
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub enum FakeBody {
    /// A model's message, in the form of Chat Completions: streamed if the request asks for it.
    Message {
        /// What the model says. Its `expect`, `errors` and `chunk_chars` are of no account here, save that
        /// each delta holds `chunk_chars` characters.
        reply: Box<ScriptedReply>,
        /// One object even if the request asks for a stream, as servers do that know no streaming.
        whole: bool,
        /// No `[DONE]` at the end.
        without_done: bool,
    },
    /// Exactly these bytes.
    Raw {
        /// The HTTP status.
        status: u16,
        /// The content type; none is sent if it is empty.
        content_type: String,
        /// The body.
        body: Bytes,
    },
}

impl FakeReply {
    fn of(body: FakeBody) -> Self {
        Self {
            body,
            chunk_bytes: None,
            cut_after: None,
            hold: None,
            hold_after: None,
            headers: Vec::new(),
        }
    }

    /// A message of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        ScriptedReply::text(text).into()
    }

    /// A message of tool calls alone: names and arguments.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        ScriptedReply::calls(calls).into()
    }

    /// Exactly these bytes.
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::of(FakeBody::Raw {
            status,
            content_type: content_type.into(),
            body: body.into(),
        })
    }

    /// A stream of exactly these bytes.
    pub fn stream(body: impl Into<Bytes>) -> Self {
        Self::raw(200, "text/event-stream", body)
    }

    /// A stream of these `data:` events.
    pub fn events<E: AsRef<str>>(events: impl IntoIterator<Item = E>) -> Self {
        let body: String = events
            .into_iter()
            .map(|event| format!("data: {}\n\n", event.as_ref()))
            .collect();
        Self::stream(body)
    }

    /// An error in OpenAI's form.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let error =
            serde_json::json!({"error": {"message": message, "type": code, "code": code, "param": null}});
        Self::raw(status, "application/json", error.to_string())
    }

    /// With this header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sent in pieces of `bytes` bytes.
    #[must_use]
    pub fn in_pieces_of(self, bytes: usize) -> Self {
        Self {
            chunk_bytes: Some(bytes),
            ..self
        }
    }

    /// Broken off after `bytes` bytes of the body.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        Self {
            cut_after: Some(bytes),
            ..self
        }
    }

    /// Begins only when `gate` was notified.
    #[must_use]
    pub fn hold(self, gate: Arc<Notify>) -> Self {
        Self {
            hold: Some(gate),
            ..self
        }
    }

    /// Stops after `bytes` bytes of the body until `gate` was notified.
    #[must_use]
    pub fn hold_after(self, bytes: usize, gate: Arc<Notify>) -> Self {
        Self {
            hold_after: Some((bytes, gate)),
            ..self
        }
    }

    /// One object even if the request asks for a stream. Of no account for raw bytes.
    #[must_use]
    pub fn whole(mut self) -> Self {
        if let FakeBody::Message { whole, .. } = &mut self.body {
            *whole = true;
        }
        self
    }

    /// A stream without `[DONE]`. Of no account for raw bytes.
    #[must_use]
    pub fn without_done(mut self) -> Self {
        if let FakeBody::Message { without_done, .. } = &mut self.body {
            *without_done = true;
        }
        self
    }
}

impl From<ScriptedReply> for FakeReply {
    fn from(reply: ScriptedReply) -> Self {
        Self::of(FakeBody::Message {
            reply: Box::new(reply),
            whole: false,
            without_done: false,
        })
    }
}

/// The finish reason in the words of the wire.
pub(super) fn finish_reason(reply: &ScriptedReply) -> &'static str {
    match reply.finish {
        Some(FinishReason::Stop) => "stop",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::Length) => "length",
        Some(FinishReason::ContentFilter) => "content_filter",
        None if reply.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}
