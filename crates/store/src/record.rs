//! What a store keeps and gives back.

use crate::StoreError;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_message::{Event, EventKind, ModelPolicy, ToolResult, ToolSpec, Usage};
use tidegate_policy::{
    CallId, Classification, Label, SessionId, SessionName, SourceId, Taint, ToolName, TurnId, UserId,
};

/// A session to be.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its name, if a person gave it one.
    pub name: Option<SessionName>,
    /// Whose it is.
    pub user: UserId,
    /// How its model is chosen.
    pub model_policy: ModelPolicy,
    /// The highest level it may read.
    pub clearance: Classification,
    /// What it starts with.
    pub taint: Taint,
    /// Its workspace folder, canonical.
    pub workspace: PathBuf,
    /// Its system prompt, built once.
    pub system_prompt: Arc<str>,
    /// Its tools, sorted by name, as they were first sent.
    pub tools: Vec<ToolSpec>,
}

/// A stored session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    /// What it was created with; `taint`, `model_policy`, `clearance`, `tools` as they are now.
    pub session: NewSession,
    /// What it is doing.
    pub state: SessionState,
    /// Turns begun so far.
    pub turns: u32,
    /// The highest level the owner let the session rise to when asked. PUBLIC if never; also if it cannot be read,
    /// so that the owner is asked again.
    pub acknowledged: Classification,
    /// Milliseconds since 1970-01-01 UTC.
    pub created_ms: i64,
    /// Milliseconds since 1970-01-01 UTC.
    pub changed_ms: i64,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Its record.
    pub record: SessionRecord,
    /// How many entries it has; none once it is erased.
    pub entries: u64,
    /// What its model calls cost so far.
    pub usage: Usage,
    /// The first words of the first message a person wrote: at most 80 characters, on one line, without
    /// control characters. Empty if there are none.
    pub title: String,
}

/// All sessions of a store.
#[derive(Clone, Debug, Default)]
pub struct SessionList {
    /// Those that can be read.
    pub sessions: Vec<SessionSummary>,
    /// One [`StoreError::DamagedRow`] for each that cannot.
    pub damaged: Vec<StoreError>,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// No turn is open.
    Idle,
    /// A turn is open: it runs now, or was interrupted.
    InTurn(TurnId),
    /// Its content was erased.
    Erased,
}

/// Changes to a session's row; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPatch {
    /// What it is doing. Entering a turn that is not the current one counts up `turns`. `Erased` is refused:
    /// only [`Write::EraseSession`](crate::Write::EraseSession) leads there.
    pub state: Option<SessionState>,
    /// The taint. Refused if it would fall: the stored label must be within the new one.
    pub taint: Option<Taint>,
    /// How its model is chosen.
    pub model_policy: Option<ModelPolicy>,
    /// Its clearance. It may change either way: it follows the configuration.
    pub clearance: Option<Classification>,
    /// The highest level the owner let it rise to. It only rises: a lower one changes nothing.
    pub acknowledged: Option<Classification>,
    /// Its tools: the whole list, with what was appended.
    pub tools: Option<Vec<ToolSpec>>,
}

/// A saved machine: opaque bytes with the version of their form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The version of `data`'s form.
    pub version: u32,
    /// The machine.
    pub data: Vec<u8>,
}

/// A journalled call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// How often it was started.
    pub attempts: u32,
    /// Where it is.
    pub state: CallState,
}

/// Where a journalled call is.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// It was about to run; nothing more is known.
    Started,
    /// It ended with this result.
    Finished(Box<ToolResult>),
}

/// A full text by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its id, unique in the session.
    pub id: SourceId,
    /// Its label.
    pub label: Label,
    /// The text.
    pub text: String,
}

/// An event to be recorded: the store adds session, sequence and time.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The turn.
    pub turn: Option<TurnId>,
    /// The label of what it tells.
    pub label: Label,
    /// What happened.
    pub kind: EventKind,
}

/// What a commit recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// The events, complete. Shared, so that a store in memory keeps what its caller tells of.
    pub events: Vec<Arc<Event>>,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this session only.
    pub session: Option<SessionId>,
    /// Of this kind only: a dotted name, or its first segments (`tool` for all of `tool.…`, not `toolx`).
    pub kind: Option<String>,
    /// After this [position](StoredEvent::position) (0 for all), for following.
    pub after: u64,
    /// At most so many; none for all.
    pub limit: Option<usize>,
}

/// An event and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its place in the order of recording over all sessions of the store: it grows, with gaps perhaps.
    pub position: u64,
    /// The event.
    pub event: Event,
}
