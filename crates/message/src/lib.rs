//! Messages, transcripts that cannot be wrong, events and usage.
//!
//! A [`Transcript`] holds what was said in a session as [`Entry`]s and accepts valid sequences alone:
//! after a model message with calls come exactly their results, same ids, same order. It grows, is cut
//! and is repaired by whole units (a call message with its results is one unit).
//!
//! Every model message keeps the provider's own JSON beside the neutral form ([`Verbatim`]); going back
//! to the same provider, those bytes are sent. Every entry is encoded for a provider once and keeps the
//! bytes ([`Entry::encoded`]).
//!
//! **Not here:** how a provider's wire looks (`tidegate-providers`), where entries are stored
//! (`tidegate-store`), what happens next in a conversation (`tidegate-core`).

mod arguments;
mod content;
mod entry;
mod event;
mod model;
mod reply;
mod spec;
mod synthetic;
mod transcript;
mod usage;

pub use arguments::{ArgumentsProblem, parse_arguments};
pub use content::{Content, Data, joined_text};
pub use entry::{
    AssistantMessage, AssistantPart, Author, Body, Entry, EntrySeq, ResultStatus, ToolCall, ToolResult,
    ToolResults, UserMessage, Verbatim,
};
pub use event::{
    ApprovalDecision, BreakCause, BrokenPart, CompactionTrigger, Event, EventKind, Limit, MemoryTrouble,
    RecalledItem, SummaryBy, TurnStatus, Unavailable, Warning,
};
pub use model::{ModelId, ModelPolicy, ParseModelError, ProviderId, Tier};
pub use reply::{FinishReason, Reply, ReplyPart};
pub use spec::ToolSpec;
pub use synthetic::INTERRUPTED_RESULT;
pub use transcript::{Replacement, ResultsMismatch, Rewrite, Transcript, TranscriptError, WaitingMessage};
pub use usage::Usage;
