//! What the runtime needs of a store.

use crate::{
    ApprovalFilter, ApprovalRecord, CallRecord, Checkpoint, Committed, CompactionRest, EventFilter,
    FileLabel, FileLabelRange, NewApproval, NewEvent, NewNote, NewSegment, NewSession, PendingWrites,
    Segment, SessionList, SessionPatch, SessionRecord, SessionSummary, SourceText, StoreError, StoredEvent,
    StoredNote,
};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tidegate_message::{Entry, ToolResult};
use tidegate_policy::{ApprovalId, CallId, EventId, SessionId, SessionName, SourceId, ToolName, TurnId};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a commit survives. `[store] durability` in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// `power`: loss of power. Each commit waits until the disk has it.
    #[default]
    Power,
    /// `process`: the end of the process, however sudden. Commits wait for the operating system alone; loss
    /// of power may lose the last ones, whole, and never damages the file.
    Process,
}

/// A store of sessions. All methods may be called from many tasks at once, on any runtime.
///
/// A session that does not exist reads as one without content: `None`, or an empty list.
pub trait Store: Send + Sync {
    /// Makes all `writes` happen in order, or none. Durable when it returns.
    ///
    /// Gives the events it recorded, complete with sequence and time, in order. Dropping the future does not
    /// take the commit back: once polled, it may still happen.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was written then.
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>>;

    /// A session by id.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if its row cannot be read.
    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>>;

    /// A session by the name a person gave it.
    ///
    /// # Errors
    /// Those of [`session`](Self::session).
    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>>;

    /// A session with its totals, by id.
    ///
    /// # Errors
    /// Those of [`session`](Self::session).
    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>>;

    /// All sessions, tombstones included: the one changed last first, then by id.
    ///
    /// # Errors
    /// [`StoreError`] if none can be read; single damaged rows are listed in the result.
    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>>;

    /// The entries of a session, in order and without a gap.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read or is missing.
    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>>;

    /// The checkpoint written last, which may be of an earlier turn: compare its `turn` with the session's
    /// state.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if it cannot be read.
    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>>;

    /// The journal rows of a turn, in the order the calls were first journalled.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>>;

    /// A request for approval.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if it cannot be read.
    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>>;

    /// The requests for approval that pass `filter`, in the order they were made.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>>;

    /// A full text.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if it cannot be read.
    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>>;

    /// All full texts of a session, in the order they were kept.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>>;

    /// Events that pass `filter`, oldest first. To follow, ask again with `after` set to the last position.
    ///
    /// Events that this program cannot read, of a kind a newer one recorded say, are left out, and a warning
    /// with their number is logged.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>>;

    /// One event.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if it cannot be read, or is of a kind that this program does not know.
    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>>;

    /// The label of a file or folder that a tool made, by canonical path.
    ///
    /// # Errors
    /// [`StoreError`] if the file of the store cannot be read.
    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>>;

    /// Labels of many files and folders, with their paths, in the order of the paths' bytes.
    ///
    /// # Errors
    /// [`StoreError`] if the file of the store cannot be read.
    fn file_labels(
        &self,
        range: FileLabelRange,
    ) -> BoxFuture<'_, Result<Vec<(String, FileLabel)>, StoreError>>;

    /// All that may be writing files, or was when its program was killed, in the order of the ids' bytes.
    ///
    /// # Errors
    /// [`StoreError`] if the file of the store cannot be read.
    fn pending_writes(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, StoreError>>;

    /// The notes that wait for the session's next turn, in the order in which they were left.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn notes(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredNote>, StoreError>>;

    /// The segments of a session after its first, in order.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if one cannot be read.
    fn segments(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Segment>, StoreError>>;

    /// How often compaction of the session has failed in a row.
    ///
    /// # Errors
    /// [`StoreError`] if the file of the store cannot be read.
    fn compaction_rest(&self, session: SessionId) -> BoxFuture<'_, Result<CompactionRest, StoreError>>;

    /// The entries of a session, compacted ones too, that hold everything in `text`, oldest first: each part between
    /// spaces as a row of words, the last of which may go on. Case does not matter; scripts without spaces are searched
    /// character by character. Nothing to look for finds nothing.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if an entry cannot be read.
    fn search<'a>(
        &'a self,
        session: SessionId,
        text: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<Entry>>, StoreError>>;
}

/// One write of a commit. Those that name a session fail with [`StoreError::UnknownSession`] if there is
/// none, and with [`StoreError::Erased`] if it was erased.
#[derive(Clone, Debug)]
pub enum Write {
    /// Creates a session. Fails if its name is taken, or its id.
    CreateSession(Box<NewSession>),
    /// Changes a session's row.
    PatchSession(SessionId, SessionPatch),
    /// Moves a session's name on to another session: the first then has none, and the second loses the one it had.
    /// A session without a name has none to give, and nothing changes.
    MoveName {
        /// Whose name it is.
        from: SessionId,
        /// Whose it will be.
        to: SessionId,
    },
    /// Appends entries; each `seq` must be the next one, from 1.
    Append(SessionId, Vec<Arc<Entry>>),
    /// Replaces the session's checkpoint.
    Checkpoint(SessionId, Checkpoint),
    /// Journals that a call is about to run. A second start of the same call counts up `attempts`; a call
    /// that has its result cannot be started again.
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
    /// Journals a call's result (also of one that never started). A later result replaces an earlier one. The
    /// call stays with the turn in which it was first journalled.
    CallFinished {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// The result as the model will see it.
        result: Box<ToolResult>,
    },
    /// Asks for the owner's approval. If there is a request for the same call with the same digest, in whatever
    /// state, nothing changes: identical requests are one. Fails if the id belongs to another.
    AskApproval(Box<NewApproval>),
    /// Answers a request. Fails with [`StoreError::ApprovalSettled`] unless it waits and its time is not up.
    DecideApproval {
        /// The request.
        approval: ApprovalId,
        /// Whether it is granted; else it is refused.
        grant: bool,
    },
    /// Uses a grant up. Fails with [`StoreError::ApprovalSettled`] unless it is granted, not used and its time is
    /// not up: of several that try, one succeeds. Belongs into the same commit as [`Write::CallStarted`].
    UseApproval {
        /// The request.
        approval: ApprovalId,
    },
    /// Gives a request up, waiting or granted: nobody can grant or use it any more. What is settled stays as it is.
    ExpireApproval {
        /// The request.
        approval: ApprovalId,
    },
    /// Keeps a full text. The same one again changes nothing; another text under the same id fails.
    Source(SessionId, SourceText),
    /// Records events, in order.
    Events(SessionId, Vec<NewEvent>),
    /// Remembers the label of a file, in place of an earlier one.
    FileLabel(String, FileLabel),
    /// Records that something may write files from now on, in place of an earlier record of the same id.
    PendingWrites(PendingWrites),
    /// Takes such a record away, if there is one of this id. Belongs into the same commit as the labels of what was
    /// written.
    WritesSettled(String),
    /// Leaves a note for the session's next turn.
    LeaveNote(SessionId, NewNote),
    /// Takes these notes, by position. Fails with [`StoreError::NoteTaken`] if one is not there any more. Belongs into the
    /// same commit as the entry that carries them.
    TakeNotes(SessionId, Vec<u64>),
    /// Begins a segment: what the session's transcript consists of from now on. Fails with
    /// [`StoreError::UnknownEntry`] if one of its entries is not stored.
    BeginSegment(SessionId, Box<NewSegment>),
    /// Notes how often compaction has failed, in place of what was noted before.
    CompactionRest(SessionId, CompactionRest),
    /// Brings the search index of a session up to date; [`Store::search`] does by itself. A store without an index, or
    /// without the session, does nothing.
    IndexMessages(SessionId),
    /// Erases what was saved to be searched in the session (its sources, chunks and resources among the records of
    /// memories), whatever its label. A store without such records does nothing.
    PurgeContext(SessionId),
    /// Erases a session's content: name, title, prompt, tools, workspace, entries, checkpoint, journal,
    /// texts, notes, segments, what was shown of approvals, lineage of the taint, and as [`Write::PurgeContext`] does. Its events stay, each with every text in it that could be content
    /// replaced by a keyed hash; the row stays as a tombstone with label and counts. Erasing again changes
    /// nothing.
    ///
    /// Labels of files that the session wrote stay, with the files' paths: the files are still there.
    EraseSession(SessionId),
}
