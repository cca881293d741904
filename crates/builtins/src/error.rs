//! What can go wrong with files, told to models and people.

use crate::path::shown;
use std::io;
use std::path::{Path, PathBuf};
use tidegate_policy::Label;
use tidegate_tools::{FileLabelsError, ToolError};

/// A file, folder or workspace that cannot be used as asked. Paths are relative to the workspace unless said
/// otherwise.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The workspace cannot be opened.
    #[error("cannot open the workspace {}; it has to be a folder this program may read and write", shown(.root))]
    Workspace {
        /// Its path, as given.
        root: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The path rules are those of another folder.
    #[error(
        "the workspace is {}, but the path rules are for {}; both have to be the same canonical path",
        shown(.root),
        shown(.rules)
    )]
    OtherRules {
        /// The canonical path of the workspace.
        root: PathBuf,
        /// The workspace the rules were built for.
        rules: PathBuf,
    },
    /// The system cannot open files safely.
    #[error(
        "this system cannot open files beneath a folder: it needs Linux 5.6 or later with /proc, and a sandbox that allows openat2"
    )]
    Unsupported {
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// No path was given.
    #[error("the path is empty; write one relative to the workspace, as in notes/today.md")]
    EmptyPath,
    /// A path with a zero byte.
    #[error("the path holds a zero byte; no file can have such a name")]
    ZeroByte,
    /// A path that leads out of the workspace.
    #[error("{} lies outside the workspace; write a path relative to the workspace, as in notes/today.md", shown(.path))]
    Outside {
        /// The path, as given.
        path: PathBuf,
    },
    /// A link that leads out of the workspace.
    #[error("{} cannot be used: the link {} leads out of the workspace", shown(.path), shown(.link))]
    LinkOut {
        /// The path, as given.
        path: PathBuf,
        /// The link in it.
        link: PathBuf,
    },
    /// Links that go in a circle, or very many of them.
    #[error("{} cannot be used: it leads through more than 40 links", shown(.path))]
    TooManyLinks {
        /// The path, as given.
        path: PathBuf,
    },
    /// A file was wanted and the path ends with a slash.
    #[error("{}/ ends with a slash and so names a folder; leave the slash out to name a file", shown(.path))]
    FolderName {
        /// The path, without the slash.
        path: PathBuf,
    },
    /// A name the program uses for its own unfinished files.
    #[error("names like {} are for this program's own unfinished files; choose another name", shown(.path))]
    TemporaryName {
        /// The path.
        path: PathBuf,
    },
    /// A file was wanted.
    #[error("{} is a folder; use list_files to see what is in it", shown(.path))]
    IsFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder was wanted.
    #[error("{} is not a folder", shown(.path))]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A pipe, socket or device.
    #[error("{} is no regular file but {kind}; only regular files can be used", shown(.path))]
    Special {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// There is nothing.
    #[error("there is no {}{}", shown(.path), suggestion(.nearest.as_deref()))]
    Missing {
        /// The path.
        path: PathBuf,
        /// Something similar that is there.
        nearest: Option<PathBuf>,
    },
    /// Something else changed the file meanwhile.
    #[error("{} changed while it was being used; look at it again and repeat the call", shown(.path))]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The file may not be written to.
    #[error("{} is read-only; write to another path", shown(.path))]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// The file is too long to be read.
    #[error("{} has {size} bytes, more than the {limit} that can be {action}", shown(.path))]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// How long it is, in bytes.
        size: u64,
        /// How long it may be, in bytes.
        limit: u64,
        /// `read at once; give offset and limit to read a part` and the like.
        action: &'static str,
    },
    /// The file holds no text.
    #[error("{} is no UTF-8 text but binary ({size} bytes)", shown(.path))]
    Binary {
        /// The path.
        path: PathBuf,
        /// How long it is, in bytes.
        size: u64,
    },
    /// The first line asked for is behind the last.
    #[error("{} has {lines} lines; offset {offset} is behind the last", shown(.path))]
    PastTheEnd {
        /// The path.
        path: PathBuf,
        /// How many lines there are.
        lines: u64,
        /// The line asked for, from 1.
        offset: u64,
    },
    /// An edit that would change nothing, or everything.
    #[error("nothing to replace in {}: old_text has to be some text of the file, and new_text another", shown(.path))]
    NothingToReplace {
        /// The path.
        path: PathBuf,
    },
    /// A glob that is none.
    #[error("{glob:?} is not a glob: {}; use * for any part of a name, ** for any folders, [ab] for a choice", cause.kind())]
    Glob {
        /// As written.
        glob: String,
        /// What is wrong with it.
        cause: globset::Error,
    },
    /// A regular expression that is none, or too large.
    #[error("the pattern is not a regular expression this tool can use")]
    Expression {
        /// What is wrong with it, where.
        #[source]
        cause: Box<regex::Error>,
    },
    /// The medium is full.
    #[error("{} was not written: no space is left on the device; the old content, if any, is unchanged", shown(.path))]
    NoSpace {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The label of what is written cannot be recorded, so it is not written.
    #[error("{} was not written, because its label cannot be recorded", shown(.path))]
    Labels {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: FileLabelsError,
    },
    /// The labels of what is in a folder cannot be read, so it is not told what is in it.
    #[error("cannot list {}, because the labels of what is in it cannot be read", shown(.path))]
    LabelsUnread {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        cause: FileLabelsError,
    },
    /// The system refuses.
    #[error("cannot {action} {}", shown(.path))]
    System {
        /// `open`, `write` and the like.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The call was cancelled.
    #[error("cancelled; {left}")]
    Cancelled {
        /// How things were left.
        left: &'static str,
    },
    /// What is there is not for this session. The gate refuses such a call; this is said if nobody asked it.
    #[error("{} is not for this session", shown(.path))]
    AboveClearance {
        /// The path, as given.
        path: PathBuf,
    },
    /// Blocking work did not come to an end.
    #[error("the work on files stopped unexpectedly")]
    Stopped {
        /// Why.
        #[source]
        cause: tokio::task::JoinError,
    },
}

fn suggestion(nearest: Option<&Path>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean {}?", shown(nearest)),
        None => "; list_files shows what there is".into(),
    }
}

impl FileError {
    /// A system error while doing `action` to `path`, told as what it means where that is known.
    pub(crate) fn system(action: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        let (cause, path) = (cause.into(), path.to_owned());
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path, cause },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            _ => Self::System { action, path, cause },
        }
    }

    /// The failure with the label of what it tells about.
    pub(crate) fn labelled(self, label: Label) -> Failure {
        Failure { error: self, label }
    }
}

/// An error and the label of everything looked at before it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: FileError,
    pub(crate) label: Label,
}

impl Failure {
    pub(crate) fn joined(mut self, label: Label) -> Self {
        self.label = self.label.join(label);
        self
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        let mut message = failure.error.to_string();
        let mut cause = std::error::Error::source(&failure.error);
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self::new(message).with_label(failure.label)
    }
}
