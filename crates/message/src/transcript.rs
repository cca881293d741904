//! The transcript: the only way entries come to stand in a row.

use crate::{Entry, EntrySeq, Reply, ToolCall, ToolResult, UserMessage};
use std::sync::Arc;
use tidegate_policy::{CallId, Label, TurnId};

/// What was said in a session, always a valid sequence or a valid sequence with one open unit at its end.
///
/// A unit is a user message, a model message without calls, or a model message with calls together with
/// their results. Every operation works on whole units.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    entries: Vec<Arc<Entry>>,
    waiting: Vec<UserMessage>,
}

/// A sequence that no provider would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    /// Placeholder.
    #[error("placeholder {0:?}")]
    Placeholder(EntrySeq),
}

impl Transcript {
    /// The entries so far.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Rebuilds a transcript from stored entries. The last unit may be open.
    pub fn from_entries(entries: Vec<Arc<Entry>>) -> Result<Self, TranscriptError> {
        Ok(Self { entries, waiting: Vec::new() })
    }

    /// The calls of the open unit, in order; empty if none is open.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        std::iter::empty()
    }

    /// Appends a user message. An error while a unit is open: use [`steer`](Self::steer).
    pub fn push_user(&mut self, _turn: TurnId, _label: Label, _message: UserMessage) -> Result<Arc<Entry>, TranscriptError> {
        Err(TranscriptError::Placeholder(EntrySeq(0)))
    }

    /// Appends a user message now, or, while calls are open, as soon as their results are in: then `None`.
    pub fn steer(&mut self, _turn: TurnId, _label: Label, message: UserMessage) -> Option<Arc<Entry>> {
        self.waiting.push(message);
        None
    }

    /// Appends a model's reply and gives its calls their ids.
    pub fn push_reply(&mut self, _turn: TurnId, _label: Label, _reply: Reply) -> Result<Arc<Entry>, TranscriptError> {
        Err(TranscriptError::Placeholder(EntrySeq(0)))
    }

    /// Closes the open unit. `results` may come in any order but must be complete; they are stored in call
    /// order. Returns the results entry and after it the user messages that waited for it.
    pub fn push_results(&mut self, _turn: TurnId, _results: Vec<ToolResult>) -> Result<Vec<Arc<Entry>>, TranscriptError> {
        Err(TranscriptError::Placeholder(EntrySeq(0)))
    }

    /// Closes an open unit by answering each call with `result`; nothing if none is open.
    pub fn repair(&mut self, _turn: TurnId, _result: impl FnMut(&ToolCall) -> ToolResult) -> Vec<Arc<Entry>> {
        let _: Option<CallId> = None;
        Vec::new()
    }
}
