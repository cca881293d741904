//! What the tool has to be told.

use crate::Workspace;
use crate::confine::{CommandLimits, Launcher};
use std::path::PathBuf;
use std::sync::Arc;

/// What `run_command` needs to know of the program it is a tool of.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    pub(super) workspace: Arc<Workspace>,
    pub(super) launcher: Launcher,
    pub(super) own_files: Vec<PathBuf>,
    pub(super) software: Vec<PathBuf>,
    pub(super) confined: bool,
    pub(super) limits: CommandLimits,
}

impl CommandSettings {
    /// Commands in `workspace`, started by `launcher`.
    pub fn new(workspace: &Arc<Workspace>, launcher: Launcher) -> Self {
        Self {
            workspace: Arc::clone(workspace),
            launcher,
            own_files: Vec::new(),
            software: Vec::new(),
            confined: true,
            limits: CommandLimits::default(),
        }
    }

    /// Adds the program's own files and folders: configuration, data, keys. A confined command cannot read them,
    /// wherever they lie. The path rules of the workspace should name the same.
    #[must_use]
    pub fn own_files(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_files.extend(files);
        self
    }

    /// Adds files and folders outside the workspace that every command may read, as it may read the system's
    /// software: tool chains in a home folder, say. What is in them counts as no higher than what the command works
    /// at, so nothing secret may lie there.
    #[must_use]
    pub fn software(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.software.extend(paths);
        self
    }

    /// Sets how much of the machine a command may use.
    #[must_use]
    pub fn limits(mut self, limits: CommandLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs commands without confining them, even where that could be done: their level as a source is then the
    /// highest and as a sink PUBLIC.
    #[must_use]
    pub fn unconfined(mut self) -> Self {
        self.confined = false;
        self
    }
}
