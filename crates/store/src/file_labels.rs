//! Labels of files and folders, by canonical path.

use serde::{Deserialize, Serialize};
use tidegate_policy::Label;

/// The label of a file or folder that a tool made or wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLabel {
    /// SHA-256 of the content; all zero for a folder. Of a damaged row all zero, with [`Label::UNREADABLE`].
    pub hash: [u8; 32],
    /// The label of what was written, and of the name if the tool gave it.
    pub label: Label,
}

/// Which file labels are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLabelRange {
    /// The first path, included. Paths are ordered by their bytes.
    pub from: String,
    /// The path behind the last, excluded.
    pub until: String,
    /// Only labels that are not within this one: see [`Label::is_within`].
    pub not_within: Label,
    /// At most so many, the first ones.
    pub limit: usize,
}

impl FileLabelRange {
    /// Whether a path lies in it.
    pub fn contains(&self, path: &str) -> bool {
        self.from.as_str() <= path && path < self.until.as_str()
    }
}

/// A piece of work that may be writing files. It is recorded before the work begins and removed in the commit that
/// records what was written. So it outlives a program that is killed meanwhile: nobody knows then what the
/// work wrote, and all it could write goes on counting as having its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingWrites {
    /// Its name; another under the same name takes its place.
    pub id: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub since_ms: i64,
    /// The label of what it writes. Of a damaged row [`Label::UNREADABLE`].
    pub label: Label,
    /// What it can write: of the places a path lies in, the innermost decides. Of a damaged row everything.
    pub places: Vec<PendingPlace>,
}

/// A place of a [`PendingWrites`], and all in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingPlace {
    /// Its canonical path.
    pub path: String,
    /// Whether the work can write there.
    pub writable: bool,
}
