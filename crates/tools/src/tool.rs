//! The trait.

use crate::Cancel;
use serde_json::{Map, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::{Content, ToolSpec};
use tidegate_policy::{CallId, Classification, Label, Resource, SessionId, ToolPolicy, TurnId};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool.
pub trait Tool: Send + Sync {
    /// What it is. Constant: the same at every call.
    fn definition(&self) -> &ToolDefinition;

    /// Resolves checked arguments to the things they name, and opens what can be opened without an effect.
    /// It must not change anything outside, and must not read content above `context.clearance`.
    ///
    /// # Errors
    /// A [`ToolError`] becomes the call's result.
    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>>;
}

/// A call whose arguments are resolved: the gate judges [`resources`](Self::resources), then it runs.
pub trait PreparedCall: Send {
    /// What the call touches, as known when it was prepared (check 3).
    fn resources(&self) -> &[Resource];

    /// What the arguments were resolved to, exactly, where [`resources`](Self::resources) name it as it was
    /// asked for: canonical paths behind links, pinned addresses, hashes of what is sent along. An owner's grant
    /// is bound to it, so that a grant for one thing is never used for another. Never shown and never stored in
    /// the clear. Default: nothing beside the resources.
    fn resolved(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reads the labels of those things again, just before the call runs (check 11).
    ///
    /// # Errors
    /// As for [`Tool::prepare`].
    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>>;

    /// Does it, on exactly the things that were judged.
    ///
    /// # Errors
    /// A [`ToolError`] is told to the model, with its label.
    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

/// What a tool is: told to models, and judged by the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// What models see.
    pub spec: ToolSpec,
    /// What the gate knows. `policy.name` equals `spec.name`.
    pub policy: ToolPolicy,
    /// How long a call may run; none for the configured default (`[agent] tool_timeout_s`).
    pub timeout: Option<Duration>,
}

/// The circumstances of a call. They come from the runtime, never from the model's arguments.
#[derive(Clone)]
pub struct CallContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// The label of the context that produced the arguments: what is written carries it.
    pub label: Label,
    /// The highest level the session may read. Listings and searches skip what is above it, without trace.
    pub clearance: Classification,
    /// Stop when it says so.
    pub cancel: Arc<dyn Cancel>,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model is told; may be empty. Not cut: the runtime does that.
    pub content: Vec<Content>,
    /// The join of the labels of everything looked at, matched or not. The tool's own source label is added
    /// by the gate.
    pub label: Label,
}

impl ToolOutput {
    /// A text that came from nothing but the call itself.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            label: Label::BOTTOM,
        }
    }

    /// The same with `label` joined.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label = self.label.join(label);
        self
    }
}

/// A failure the model is told about: what was wrong, what is valid, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The text.
    pub message: String,
    /// The join of the labels of everything looked at before it failed.
    pub label: Label,
    /// The call needs an answer of the owner, and nobody is there to give it. Who runs the call keeps the question and
    /// makes the answer the call's result; who cannot, tells the model the text.
    pub question: Option<Box<OpenQuestion>>,
}

/// A question to the owner that outlasts the process that asks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The question, as the model wrote it: to be escaped where it is shown.
    pub text: String,
    /// Answers to choose from, as the model wrote them; any other answer is possible too. Perhaps none.
    pub choices: Vec<String>,
    /// How long the answer is waited for, from when the question is stored; none for as long as a request for
    /// approval.
    pub valid_for: Option<Duration>,
}

impl ToolError {
    /// An error that tells nothing of what was read.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            label: Label::BOTTOM,
            question: None,
        }
    }

    /// The call waits for the owner's answer to `question`; `message` is for those who cannot wait.
    pub fn waits(message: impl Into<String>, question: OpenQuestion) -> Self {
        Self {
            question: Some(Box::new(question)),
            ..Self::new(message)
        }
    }

    /// The same with `label` joined.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label = self.label.join(label);
        self
    }
}
