//! What can go wrong with a store.

use crate::ApprovalState;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tidegate_policy::{ApprovalId, CallId, Label, SessionId, SessionName, SourceId};

/// The error below a [`StoreError`]: of SQLite, of the operating system, of a parser.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why a store did not do what it was asked. Of a commit: nothing was written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is something else. It was not changed.
    #[error(
        "{path} is not a Tidegate store: {found}. Nothing was changed. \
         Choose another file with `[store] path`, or move this one away"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: ForeignFile,
    },
    /// A newer program wrote the file. It was not changed.
    #[error(
        "{path} was written by Tidegate {written_by} (schema {found}), which is newer; this program is \
         Tidegate {} and knows schemas up to {known}. Nothing was changed. Use the newer program, or choose \
         another file with `[store] path`",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the program that wrote it, or `of an unknown version`.
        written_by: String,
        /// The schema of the file.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// SQLite found the file damaged.
    #[error(
        "{path} is damaged. Stop every program that uses it, keep a copy of it together with the files \
         `…-wal` and `…-shm` beside it, then restore a backup or run `sqlite3 FILE .recover` on the copy"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        cause: Cause,
    },
    /// One row cannot be read. Everything else can.
    #[error(
        "{path}: {row} in table `{table}` cannot be read. Other sessions are not affected; \
         restore a backup, or delete the session"
    )]
    DamagedRow {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// Which row of it.
        row: String,
        /// What is wrong with it.
        #[source]
        cause: Cause,
    },
    /// The file or its folder may be read and not written.
    #[error(
        "{path} cannot be written: it or its folder is read-only. Make both writable, or choose another \
         file with `[store] path`"
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: Cause,
    },
    /// The file cannot be opened or made.
    #[error(
        "{path} cannot be opened as a store. It has to be a file, new or existing, that may be read and \
         written, in a folder of which the same is true; choose another with `[store] path`"
    )]
    Unopenable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: Cause,
    },
    /// No room is left.
    #[error(
        "{path}: the disk is full. Nothing of this was written, the store is as it was before; make \
         room and try again"
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        cause: Cause,
    },
    /// Another process held the file too long.
    #[error(
        "{path}: another process kept the file locked for {} s. Nothing was written; try again, or end \
         that process",
        .waited.as_secs()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited for it.
        waited: Duration,
    },
    /// A text is larger than SQLite can keep.
    #[error(
        "{path}: a text of this commit is too large to be stored (the most are 1,000,000,000 bytes). \
         Nothing was written; cut it"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        cause: Cause,
    },
    /// Something else that SQLite or the system reported.
    #[error("{path}: the store could not do this. Nothing was written")]
    Failed {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system said.
        #[source]
        cause: Cause,
    },
    /// The store was closed before it answered. A commit may have happened.
    #[error("{path}: the store is closed. Open it again; whether the last commit happened can be read there")]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A record cannot be put into words.
    #[error("{what} cannot be stored: it cannot be written as JSON. Nothing was written")]
    Unencodable {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// A folder's name cannot be kept on this platform.
    #[error(
        "the workspace {workspace} cannot be stored: its name is not Unicode. Nothing was written; rename it"
    )]
    UnencodableWorkspace {
        /// The folder.
        workspace: PathBuf,
    },
    /// A session of this name exists.
    #[error("the name {name} belongs to session {by}. Choose another name, or delete that session")]
    NameTaken {
        /// The name.
        name: SessionName,
        /// Whose it is.
        by: SessionId,
    },
    /// A session of this id exists.
    #[error("session {session} exists already; a new session needs a new id")]
    SessionExists {
        /// The id.
        session: SessionId,
    },
    /// There is no such session.
    #[error("there is no session {session}; `tidegate sessions list` shows those there are")]
    UnknownSession {
        /// The id.
        session: SessionId,
    },
    /// The session's content was erased; nothing can be added to it.
    #[error("session {session} was erased; nothing can be added to it. Begin a new one")]
    Erased {
        /// The session.
        session: SessionId,
    },
    /// [`SessionState::Erased`](crate::SessionState::Erased) was asked for by a patch, which erases nothing.
    #[error(
        "session {session} cannot be patched to be erased; that takes an erasing write, which also removes \
         its content"
    )]
    ErasedByPatch {
        /// The session.
        session: SessionId,
    },
    /// A write would have lowered a taint. A bug of the caller; nothing lowers a taint.
    #[error("the taint of session {session} is {stored} and cannot become {given}: a taint never falls")]
    TaintWouldFall {
        /// The session.
        session: SessionId,
        /// The label it has.
        stored: Label,
        /// The label it was to get.
        given: Label,
    },
    /// An entry does not follow the last one: the session was changed by somebody else, or the caller is
    /// wrong.
    #[error(
        "entry {given} of session {session} does not follow: the next one is {expected}. \
         Does another program continue this session? Read it again"
    )]
    OutOfOrder {
        /// The session.
        session: SessionId,
        /// The number the next entry has to have.
        expected: u64,
        /// The number it had.
        given: u64,
    },
    /// A full text of this id is there, and it is another one.
    #[error("session {session} keeps another text as {id}; a text does not change once it is kept")]
    SourceTaken {
        /// The session.
        session: SessionId,
        /// The id.
        id: SourceId,
    },
    /// A segment names an entry that is not stored.
    #[error("session {session} has no entry {entry}, so no segment can begin with it")]
    UnknownEntry {
        /// The session.
        session: SessionId,
        /// The number.
        entry: u64,
    },
    /// A note is not there any more.
    #[error("note {position} of session {session} is not there any more: another turn has taken it")]
    NoteTaken {
        /// The session.
        session: SessionId,
        /// The note's position.
        position: u64,
    },
    /// There is no such request for approval.
    #[error("there is no approval {approval}; `tidegate approvals list` shows those there are")]
    UnknownApproval {
        /// The id.
        approval: ApprovalId,
    },
    /// Another request has this id.
    #[error("approval {approval} exists already, for another call; a new request needs a new id")]
    ApprovalExists {
        /// The id.
        approval: ApprovalId,
    },
    /// A request for approval was settled already, or is not granted.
    #[error("approval {approval} is {state}: it cannot be {wanted}")]
    ApprovalSettled {
        /// The id.
        approval: ApprovalId,
        /// Where it is.
        state: ApprovalState,
        /// What was to become of it.
        wanted: ApprovalState,
    },
    /// A call that has its result was to be started.
    #[error("call {call} of session {session} has its result and cannot be started again")]
    CallFinished {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
    },
}

/// What a file is that is no store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFile {
    /// No SQLite database, or one that is damaged at its very beginning.
    NoDatabase,
    /// A SQLite database of another program.
    OtherProgram {
        /// The program's mark (`PRAGMA application_id`); 0 if it leaves none.
        application_id: i32,
    },
}

impl fmt::Display for ForeignFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDatabase => {
                f.write_str("it is no SQLite database, or one that is damaged at its very beginning")
            }
            Self::OtherProgram { application_id: 0 } => {
                f.write_str("it is a SQLite database of another program")
            }
            Self::OtherProgram { application_id } => {
                write!(
                    f,
                    "it is a SQLite database of another program (application id {application_id:#010x})"
                )
            }
        }
    }
}
