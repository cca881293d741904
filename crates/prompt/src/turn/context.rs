//! What a turn is run with.

use crate::{CompactionOutcome, Note, Recalled, RequestSize, SystemPrompt, TooLarge};
use std::sync::Arc;
use tidegate_message::{Content, Entry, Transcript};
use tidegate_policy::{Label, TurnId};

/// What became of compaction before the turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionReport {
    /// The threshold is not reached.
    NotNeeded,
    /// It is reached, but compaction rests after failures.
    CoolingDown,
    /// It came to nothing; the request still fits in the window.
    Failed(Box<TooLarge>),
    /// The transcript was compacted. The outcome without its transcript, which is the context's.
    Done(Box<CompactionOutcome>),
}

/// All that a turn's first request is made of.
#[derive(Clone, Debug)]
pub struct TurnContext {
    /// The turn.
    pub turn_id: TurnId,
    /// What the user wrote, sanitised.
    pub user_message: Vec<Content>,
    /// Its text, for memory, search and logs: without notes, nudges and recalled memory.
    pub original_user_message: String,
    /// The messages, with the user's composed.
    pub transcript: Transcript,
    /// The messages before the user's; `None` if compaction has begun a new segment.
    pub conversation_history: Option<Vec<Arc<Entry>>>,
    /// The system prompt.
    pub active_system_prompt: SystemPrompt,
    /// Where the user's message is among the messages.
    pub current_turn_user_idx: usize,
    /// The notes it carries: those of the gateway, reminders, those of hooks.
    pub notes: Vec<Note>,
    /// The recalled memory it carries.
    pub recalled: Vec<Recalled>,
    /// The join of the labels of everything in the request.
    pub label: Label,
    /// What became of compaction.
    pub compaction: CompactionReport,
    /// How large the request is.
    pub size: RequestSize,
}

impl TurnContext {
    /// The messages.
    pub fn messages(&self) -> &[Arc<Entry>] {
        self.transcript.entries()
    }
}
