//! Where things lie on disk.

use std::path::{Path, PathBuf};

/// The program's data folder.
///
/// ```text
/// tidegate.db            the store (and its -wal and -shm), unless [store] path says otherwise
/// trusted-files.json     files of working folders the owner trusts
/// chat-history           lines typed in `tidegate chat`
/// locks/SESSION.lock     held while a session is in use
/// workspaces/            workspaces that lie here are the sessions' to write, unlike all else in the folder
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder {
    root: PathBuf,
}

impl DataFolder {
    /// The data folder at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The platform's data folder for this program; none where the platform knows no home.
    pub fn of_platform() -> Option<Self> {
        directories::ProjectDirs::from("", "", "tidegate").map(|folders| Self::new(folders.data_dir()))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The store's file.
    pub fn database(&self) -> PathBuf {
        self.root.join("tidegate.db")
    }

    /// The folder of workspaces that the program makes for sessions.
    pub fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }

    /// The lines that were typed in `tidegate chat`, so that they can be found again.
    pub fn chat_history(&self) -> PathBuf {
        self.root.join("chat-history")
    }

    /// The folder of the session locks.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }
}

/// The user's configuration folder of the platform; none where the platform knows no home.
pub fn user_config_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "tidegate").map(|folders| folders.config_dir().to_path_buf())
}
