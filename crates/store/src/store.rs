//! What the runtime needs of a store.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use tidegate_message::{Entry, Event, EventKind, ModelPolicy, ToolResult, ToolSpec};
use tidegate_policy::{
    CallId, Classification, Label, SessionId, SessionName, SourceId, Taint, ToolName, TurnId, UserId,
};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power: each commit waits for the disk.
    #[default]
    Power,
    /// The end of the process: commits wait for the operating system alone.
    Process,
}

/// A store of sessions. All methods may be called from many tasks at once.
pub trait Store: Send + Sync {
    /// Makes all `writes` happen in order, or none. Durable when it returns.
    ///
    /// Gives the events it recorded, complete with sequence and time, in order.
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>>;

    /// A session by id.
    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>>;

    /// A session by the name a person gave it.
    fn session_named<'a>(&'a self, name: &'a SessionName) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>>;

    /// All sessions, the one changed last first.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>>;

    /// The entries of a session, in order.
    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>>;

    /// The latest checkpoint of a session's current turn.
    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>>;

    /// The journal rows of a turn, in the order the calls were started.
    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>>;

    /// A full text.
    fn source<'a>(&'a self, session: SessionId, id: &'a SourceId) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>>;

    /// Events that pass `filter`, oldest first.
    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<Event>, StoreError>>;

    /// The label of a file a tool wrote, by canonical path.
    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>>;
}

/// One write of a commit.
#[derive(Clone, Debug)]
pub enum Write {
    /// Creates a session. Fails if its name is taken.
    CreateSession(Box<NewSession>),
    /// Changes a session's row.
    PatchSession(SessionId, SessionPatch),
    /// Appends entries; each `seq` must be the next one.
    Append(SessionId, Vec<Arc<Entry>>),
    /// Replaces the session's checkpoint.
    Checkpoint(SessionId, Checkpoint),
    /// Journals that a call is about to run. A second start of the same call counts up `attempts`.
    CallStarted {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// Journals a call's result (also of one that never started).
    CallFinished {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// The result as the model will see it.
        result: Box<ToolResult>,
    },
    /// Keeps a full text.
    Source(SessionId, SourceText),
    /// Records events, in order.
    Events(SessionId, Vec<NewEvent>),
    /// Remembers the label of a file.
    FileLabel(String, FileLabel),
    /// Erases a session's content: name, entries, checkpoint, journal, texts. Its events stay, each with every
    /// text in it that could be content replaced by a keyed hash; the row stays as a tombstone.
    EraseSession(SessionId),
}

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
    /// Milliseconds since 1970-01-01 UTC.
    pub created_ms: i64,
    /// Milliseconds since 1970-01-01 UTC.
    pub changed_ms: i64,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// The record without prompt and tools would do; it is small enough to be whole.
    pub record: SessionRecord,
    /// How many entries it has.
    pub entries: u64,
    /// The first words of its first user message, at most 80 characters.
    pub title: String,
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
    /// What it is doing. Entering a turn that is not the current one counts up `turns`.
    pub state: Option<SessionState>,
    /// The taint. Refused if it would fall: the store checks that the stored label is within the new one.
    pub taint: Option<Taint>,
    /// How its model is chosen.
    pub model_policy: Option<ModelPolicy>,
    /// Its clearance. It may change either way: it follows the configuration.
    pub clearance: Option<Classification>,
    /// Its tools, appended to.
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
    /// The events, complete.
    pub events: Vec<Event>,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this session only.
    pub session: Option<SessionId>,
    /// Of this kind only: a dotted name, or its first part (`tool` for all of `tool.…`).
    pub kind: Option<String>,
    /// After this position in the order of recording over all sessions (0 for all): the row id, for following.
    pub after: u64,
    /// At most so many; none for all.
    pub limit: Option<usize>,
}

/// The label of a file a tool wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLabel {
    /// SHA-256 of the content.
    pub hash: [u8; 32],
    /// The label of what was written.
    pub label: Label,
}

/// Placeholder.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Placeholder.
    #[error("placeholder")]
    Placeholder,
}
