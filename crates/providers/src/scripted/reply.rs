//! What a scripted model says.

use super::Place;
use crate::ErrorClass;
use serde_json::Value;
use std::time::Duration;
use tidegate_message::{FinishReason, Usage};

/// One message of a scripted model.
///
/// ```
/// use serde_json::json;
/// use tidegate_providers::ScriptedReply;
///
/// let replies = [
///     ScriptedReply::calls([("read_file", json!({"path": "a.txt"}))]).expecting("a.txt"),
///     ScriptedReply::text("It says 42.").expecting("42").in_chunks_of(3),
/// ];
/// # let _ = replies;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    /// Thinking, before the text.
    pub reasoning: String,
    /// Visible text.
    pub text: String,
    /// Tool calls, after the text.
    pub calls: Vec<ScriptedCall>,
    /// Texts that have to occur in what was sent since the model's last message.
    pub expect: Vec<String>,
    /// Texts that must not occur there.
    pub expect_not: Vec<String>,
    /// What the call costs.
    pub usage: Usage,
    /// Why the model stops; if not given, for tool calls if there are any.
    pub finish: Option<FinishReason>,
    /// Thinking and text are streamed in pieces of so many characters; in one piece if not given.
    pub chunk_chars: Option<usize>,
    /// How long the model takes before it says anything.
    pub thinking: Duration,
    /// How the first tries at this message fail, one error a try. If there is nothing but errors, the last
    /// one is repeated.
    pub errors: Vec<ScriptedError>,
    /// Where it stands, if it comes from a file.
    pub place: Option<Place>,
}

/// One tool call of a scripted model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedCall {
    /// The tool.
    pub tool: String,
    /// The arguments as text: JSON, or whatever a model might write instead.
    pub arguments: String,
}

/// One failure of a scripted model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedError {
    /// Its class.
    pub class: ErrorClass,
    /// What it says.
    pub message: String,
    /// How long the model asks to wait.
    pub retry_after: Option<Duration>,
    /// So many characters of the reply's text are streamed before it.
    pub after_chars: usize,
}

impl ScriptedError {
    /// A failure of this class.
    pub fn new(class: ErrorClass) -> Self {
        Self {
            class,
            message: format!("scripted failure ({class})"),
            retry_after: None,
            after_chars: 0,
        }
    }
}

impl ScriptedReply {
    /// A message of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A message of tool calls alone: names and arguments.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let calls = calls
            .into_iter()
            .map(|(tool, arguments)| ScriptedCall {
                tool: tool.into(),
                arguments: arguments.to_string(),
            })
            .collect();
        Self {
            calls,
            ..Self::default()
        }
    }

    /// A call that can only fail.
    pub fn failing(error: ScriptedError) -> Self {
        Self {
            errors: vec![error],
            ..Self::default()
        }
    }

    /// Adds a call whose arguments are exactly this text.
    #[must_use]
    pub fn with_raw_call(mut self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.calls.push(ScriptedCall {
            tool: tool.into(),
            arguments: arguments.into(),
        });
        self
    }

    /// With this text before the calls.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..self
        }
    }

    /// With this thinking before the text.
    #[must_use]
    pub fn with_reasoning(self, reasoning: impl Into<String>) -> Self {
        Self {
            reasoning: reasoning.into(),
            ..self
        }
    }

    /// `text` has to occur in what was sent since the model's last message.
    #[must_use]
    pub fn expecting(mut self, text: impl Into<String>) -> Self {
        self.expect.push(text.into());
        self
    }

    /// `text` must not occur in what was sent since the model's last message.
    #[must_use]
    pub fn not_expecting(mut self, text: impl Into<String>) -> Self {
        self.expect_not.push(text.into());
        self
    }

    /// One more try fails like this before the message is played.
    #[must_use]
    pub fn failing_first(mut self, error: ScriptedError) -> Self {
        self.errors.push(error);
        self
    }

    /// Costs this much.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// Stops for this reason.
    #[must_use]
    pub fn with_finish(self, finish: FinishReason) -> Self {
        Self {
            finish: Some(finish),
            ..self
        }
    }

    /// Is streamed in pieces of `chars` characters.
    #[must_use]
    pub fn in_chunks_of(self, chars: usize) -> Self {
        Self {
            chunk_chars: Some(chars),
            ..self
        }
    }

    /// Whether there is nothing to say, so that the errors are all there is.
    pub(super) fn is_only_errors(&self) -> bool {
        !self.errors.is_empty() && self.reasoning.is_empty() && self.text.is_empty() && self.calls.is_empty()
    }
}
