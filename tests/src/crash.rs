//! What the program `crash_child` is told by the test that kills it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The name of the session in which the child works.
pub const SESSION: &str = "crash";

/// One run of the child: its only argument, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Errand {
    /// The data folder.
    pub data: PathBuf,
    /// The workspace folder.
    pub workspace: PathBuf,
    /// The file to which the tool `append` adds a line for each call it runs.
    pub ledger: PathBuf,
    /// The address of the model server, up to and including `/v1`.
    pub base_url: String,
    /// The task.
    pub task: String,
    /// Whether an interrupted turn is finished first, and the task only given if nothing is stored of it.
    pub resume: bool,
    /// Whether each call of `append` has to be approved. Somebody is there who always does.
    pub approve: bool,
    /// What it does.
    pub work: Work,
    /// How many tokens fit in its model; as many as usual if not given.
    pub window: Option<u64>,
    /// When the child kills itself; never if not given.
    pub kill: Option<Kill>,
}

/// What a child does in its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// The task.
    #[default]
    Task,
    /// It leaves this reminder for the next turn.
    LeaveNote(String),
    /// It makes the conversation shorter.
    Compact,
}

/// A moment at a commit, which is the one thing a child's life can be counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    /// At which commit of the process, from 1.
    pub commit: usize,
    /// On which side of it.
    pub side: Side,
}

/// A side of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// It has not begun.
    Before,
    /// It is durable, and nobody was told yet.
    After,
}

/// What a child that was not killed prints, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// The answer.
    pub answer: String,
    /// How the turn ended, as in `tidegate run --json`.
    pub status: String,
    /// What went wrong.
    pub error: Option<String>,
    /// How many commits it made.
    pub commits: usize,
}
