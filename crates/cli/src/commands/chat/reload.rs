//! Taking up a changed configuration while the chat goes on.

use std::path::PathBuf;
use tidegate_runtime::config::Loaded;

/// The configuration file in use, as it was when it was read.
pub(super) struct Watched {
    path: Option<PathBuf>,
    content: Option<Vec<u8>>,
}

impl Watched {
    /// Remembers the file behind `loaded`.
    pub(super) fn new(loaded: &Loaded) -> Self {
        let path = loaded.file.as_ref().map(|file| file.path.clone());
        let content = path.as_ref().and_then(|path| std::fs::read(path).ok());
        Self { path, content }
    }

    /// Whether the file is another one since this was asked last. A change is told of once, so that a bad file
    /// is not complained about at every message.
    pub(super) fn has_changed(&mut self) -> bool {
        let Some(path) = &self.path else { return false };
        let now = std::fs::read(path).ok();
        let changed = now != self.content;
        self.content = now;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_of_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tidegate.toml");
        std::fs::write(&path, "a").unwrap();
        let mut watched = Watched {
            path: Some(path.clone()),
            content: Some(b"a".to_vec()),
        };
        assert!(!watched.has_changed());
        std::fs::write(&path, "b").unwrap();
        assert!(watched.has_changed());
        assert!(!watched.has_changed());
        std::fs::remove_file(&path).unwrap();
        assert!(watched.has_changed());
        assert!(!watched.has_changed());
        assert!(
            !Watched {
                path: None,
                content: None
            }
            .has_changed()
        );
    }
}
