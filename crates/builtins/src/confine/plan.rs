//! What program and launcher tell each other: one line of JSON each.

use super::limits::CommandLimits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the launcher is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// For `sh -c`.
    pub(crate) command: String,
    /// Where it starts: absolute.
    pub(crate) folder: PathBuf,
    /// Its standard input; none for an empty one.
    pub(crate) stdin: Option<String>,
    /// Its whole environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// How much of the machine it may use.
    pub(crate) limits: CommandLimits,
    /// How it is confined; none for not at all.
    pub(crate) confinement: Option<Confinement>,
}

/// What a confined command can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Whether everything outside is readable, or the system's software alone.
    pub(crate) whole_system: bool,
    /// Further paths that are readable like the system's software, where they exist.
    pub(crate) software: Vec<PathBuf>,
    /// The parts of the file system that are otherwise than what surrounds them; a folder before what is in it.
    pub(crate) views: Vec<View>,
}

/// One part of the file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// Where it is: absolute and canonical.
    pub(crate) path: PathBuf,
    /// What can be done with it.
    pub(crate) access: Access,
    /// Whether it has to be there.
    pub(crate) required: bool,
    /// Whether it is the program's own: the command must not be able to put something in its place.
    pub(crate) own: bool,
}

/// What can be done with a part of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Access {
    /// Read and write.
    Write,
    /// Read only.
    Read,
    /// Nothing: in its place is an empty file or folder.
    Hidden,
}

/// What the launcher tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command was not run.
    Refused {
        /// What could not be done.
        step: String,
        /// Why.
        cause: String,
    },
    /// The command runs.
    Started,
    /// It ended, and all it had started with it.
    Ended(Ended),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The exit code of the shell, if it ended by itself.
    pub(crate) code: Option<i32>,
    /// The signal that killed it.
    pub(crate) signal: Option<i32>,
    /// Whether other processes of the command were still there and were stopped.
    pub(crate) left_behind: bool,
    /// Whether it was stopped because there were too many of its processes.
    pub(crate) too_many_processes: bool,
}
