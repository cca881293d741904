//! Remembering the labels of files and folders that tools made.

use crate::BoxFuture;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tidegate_policy::Label;

/// SHA-256 of a file's whole content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// What stands for no content: that of a folder, of a link, or of what could not be read.
    pub const NONE: Self = Self([0; 32]);
}

/// What is known about a file or folder that a tool made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// The hash of the content that was written last; [`ContentHash::NONE`] of what has none.
    pub hash: ContentHash,
    /// The label of what was written, and of the name the tool gave it.
    pub label: Label,
}

/// The store of file labels could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the labels of files cannot be {action}")]
pub struct FileLabelsError {
    /// `read` or `written`.
    pub action: &'static str,
    /// Why.
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Which recorded labels are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelQuery {
    /// Those of what lies in this folder, however deep; not its own.
    pub folder: PathBuf,
    /// Where to go on.
    pub start: LabelStart,
    /// Only labels that are not within this one: see [`Label::is_within`].
    pub not_within: Label,
    /// At most so many, the first in the order of the paths' bytes.
    pub limit: usize,
}

/// Where a [`LabelQuery`] begins, in the order of the paths' bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelStart {
    /// At the first.
    First,
    /// Behind this path, perhaps with what is in it.
    After(PathBuf),
    /// Behind all that lies in this folder.
    Behind(PathBuf),
}

impl LabelQuery {
    /// The bytes of the first path that is asked for, and those of the first behind the last.
    pub fn range(&self) -> (Vec<u8>, Vec<u8>) {
        let end = ending(&self.folder, b'/' + 1);
        let start = match &self.start {
            LabelStart::First => ending(&self.folder, b'/'),
            LabelStart::After(path) => ending(path, b'\0'),
            LabelStart::Behind(folder) => ending(folder, b'/' + 1),
        };
        (start, end)
    }

    /// Whether it asks for the label of this path.
    pub fn asks_for(&self, path: &Path, label: Label) -> bool {
        let (start, end) = self.range();
        let path = path.as_os_str().as_bytes();
        start.as_slice() <= path && path < end.as_slice() && !label.is_within(self.not_within)
    }
}

/// The path with one more byte; the root, which ends with a slash, is as if it did not.
fn ending(path: &Path, byte: u8) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if bytes == b"/" {
        bytes.clear();
    }
    bytes.push(byte);
    bytes
}

/// Work that may be writing files, such as a command: recorded before it begins, so that it outlives a
/// program that is killed meanwhile. Until it is settled all it can write counts as having its label, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingWrites {
    /// Its name, unlike any other.
    pub id: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub since_ms: i64,
    /// The label of what it writes.
    pub label: Label,
    /// Places, and whether it can write in them. Of those a path lies in the innermost decides.
    pub places: Vec<(PathBuf, bool)>,
}

impl PendingWrites {
    /// Whether the work can write the file or folder at canonical `path`.
    pub fn can_write(&self, path: &Path) -> bool {
        self.places
            .iter()
            .filter(|(place, _)| path.starts_with(place))
            .max_by_key(|(place, _)| place.as_os_str().len())
            .is_some_and(|(_, writable)| *writable)
    }
}

/// Labels by canonical path. The runtime implements it over the store.
pub trait FileLabels: Send + Sync {
    /// What is known about the file or folder at canonical `path`.
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>>;

    /// What is known about many, in the order of their paths' bytes.
    fn find(&self, query: LabelQuery) -> BoxFuture<'_, Result<Vec<(PathBuf, KnownFile)>, FileLabelsError>>;

    /// Records that content with `known.hash` and `known.label`, or a folder, is about to appear at each canonical
    /// path. All or nothing, durable when it returns; called before anything becomes visible.
    fn put(&self, files: Vec<(PathBuf, KnownFile)>) -> BoxFuture<'_, Result<(), FileLabelsError>>;

    /// Work that may be writing files, or was when its program was killed.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, FileLabelsError>>;

    /// Records work that is about to begin. Durable when it returns.
    fn begin(&self, work: PendingWrites) -> BoxFuture<'_, Result<(), FileLabelsError>>;

    /// Records what the work of this id wrote, and that it is over: both or neither.
    fn settle(
        &self,
        id: String,
        files: Vec<(PathBuf, KnownFile)>,
    ) -> BoxFuture<'_, Result<(), FileLabelsError>>;
}
