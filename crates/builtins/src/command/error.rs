//! What can go wrong with commands, told to models and people.

use crate::causes::causes;
use crate::path::shown;
use std::io;
use std::path::PathBuf;
use tidegate_policy::Label;
use tidegate_tools::{FileLabelsError, ToolError};

/// A command that cannot be run as asked, or was stopped.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command holds a zero byte or nothing.
    #[error("the command {problem}; write a command line for sh, as in \"ls -l\"")]
    Command {
        /// `is empty` and the like.
        problem: &'static str,
    },
    /// The time limit is out of bounds.
    #[error("timeout_s is {given}; write a number of seconds from 1 to {most}")]
    Timeout {
        /// As given.
        given: u64,
        /// The most there can be.
        most: u64,
    },
    /// The launcher cannot be started.
    #[error("the launcher of commands, {}, cannot be started", shown(.program))]
    Launcher {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The launcher could not do as planned; nothing was run.
    #[error("the command was not run: the launcher could not {step} ({cause})")]
    Refused {
        /// What it could not do.
        step: String,
        /// Why.
        cause: String,
    },
    /// The launcher ended without a word.
    #[error("the launcher of commands ended unexpectedly; the command may have been run in part")]
    Lost,
    /// Talking to the launcher failed.
    #[error("the launcher of commands cannot be {action}")]
    Pipe {
        /// `talked to` and the like.
        action: &'static str,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The workspace cannot be looked through.
    #[error("cannot look through the workspace at {}", shown(.path))]
    Walk {
        /// Where, relative to the workspace.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The workspace is too large to know all levels in it.
    #[error(
        "the workspace has {what} than {limit}, so that it cannot be made sure what a command may reach; choose a \
         smaller workspace or fewer patterns in [policy.paths]"
    )]
    TooLarge {
        /// `more files and folders` or `more places of other levels`.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// A folder that holds the whole system cannot be its own small part.
    #[error(
        "the workspace is {}, in which a command cannot be confined; choose a folder of its own", shown(.root)
    )]
    Root {
        /// The workspace.
        root: PathBuf,
    },
    /// The labels of files cannot be read.
    #[error("the labels of what is in the workspace cannot be read, so that the command was not run")]
    LabelsUnread {
        /// Why.
        #[source]
        cause: FileLabelsError,
    },
    /// That a command will write cannot be recorded.
    #[error("the command was not run, because what it may write cannot be recorded")]
    NotBegun {
        /// Why.
        #[source]
        cause: FileLabelsError,
    },
    /// One of the program's own files could be made or replaced by a command.
    #[error(
        "the command was not run: {} {problem}, and a command could put its own in that place; {hint}",
        shown(.path)
    )]
    OwnFile {
        /// The file or folder of the program: absolute.
        path: PathBuf,
        /// `is not there yet` and the like.
        problem: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// What a command wrote cannot be labelled.
    #[error(
        "the command ended, but the labels of what it wrote cannot be recorded; until they are, all it could write in \
         the workspace counts as {label}"
    )]
    Labels {
        /// What they would have been labelled.
        label: Label,
        /// Why.
        #[source]
        cause: FileLabelsError,
    },
    /// It ran too long. With what it had said until then.
    #[error("stopped after {seconds} s, the time limit; timeout_s sets another, up to {most}\n{output}")]
    TimedOut {
        /// The limit.
        seconds: u64,
        /// The most there can be.
        most: u64,
        /// What it said.
        output: String,
    },
    /// It said too much.
    #[error("stopped, because it wrote more than {limit} bytes; write to a file, or less\n{output}")]
    TooMuchOutput {
        /// How much it may write.
        limit: u64,
        /// The beginning and the end of what it said.
        output: String,
    },
    /// The call was cancelled.
    #[error("cancelled; the command and all it had started were stopped\n{output}")]
    Cancelled {
        /// What it said until then.
        output: String,
    },
    /// What is there is not for this session. The gate refuses such a call; this is said if nobody asked it.
    #[error("{} is not for this session", shown(.path))]
    AboveClearance {
        /// The folder, as given.
        path: PathBuf,
    },
}

impl CommandError {
    /// As models are told it, with the label of what it tells of.
    pub(crate) fn told(&self, label: Label) -> ToolError {
        ToolError::new(causes(self)).with_label(label)
    }
}
