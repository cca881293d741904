//! What can be set.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of an [`EmbeddedIndex`](crate::EmbeddedIndex).
#[derive(Clone)]
pub struct EmbeddedSettings {
    /// Where it is kept; nothing else may be in there. It is made if it is not there.
    pub folder: PathBuf,
    /// After so much time without a change, what was applied is made durable, and a graph is built of it where there is
    /// enough. None: only when it is asked for. Default: two seconds.
    pub rest: Option<Duration>,
    /// From so many kilobytes (1,024 bytes) of dense vectors on a graph is built of them; fewer are compared one by one. At
    /// least 1. Default: 10,000, the engine's own, about 6,600 vectors of 384 values.
    pub graph_from_kilobytes: usize,
    /// Called at each step of a change that a crash can come between. Default: nobody.
    pub on_step: Option<Arc<dyn Fn(Step) + Send + Sync>>,
}

impl EmbeddedSettings {
    /// The defaults, in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            rest: Some(Duration::from_secs(2)),
            graph_from_kilobytes: 10_000,
            on_step: None,
        }
    }
}

impl fmt::Debug for EmbeddedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedSettings")
            .field("folder", &self.folder)
            .field("rest", &self.rest)
            .field("graph_from_kilobytes", &self.graph_from_kilobytes)
            .finish_non_exhaustive()
    }
}

/// A step of the thread that writes. Each is told when it has just been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A new index begins: what was there counts no more.
    Forgotten,
    /// The empty collections are there.
    Created,
    /// A part of a change is in the memory of the engine.
    Applied,
    /// One collection is on the disk.
    Flushed,
    /// The new position is on the disk, beside the old one.
    PositionWritten,
    /// The new position counts.
    PositionKept,
    /// What the engine logged before that position is deleted.
    LogTrimmed,
    /// A graph is about to be built.
    Building,
    /// The graph was built, and is not flushed yet.
    Optimised,
}
