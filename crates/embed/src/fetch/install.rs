//! Putting a folder into place, whole or not at all.

use crate::EmbedError;
use crate::manifest::Manifest;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What is being made begins with this; what is left of it after a kill is removed by the next fetch.
const STAGING: &str = ".fetch-";

/// What is being replaced begins with this, until the new is in place.
const REPLACED: &str = ".replaced-";

/// A folder that is being made. Unless it is [put into place](Self::finish) it disappears.
pub(super) struct Installation {
    models: PathBuf,
    staging: TempDir,
    /// Held until the end: one fetch at a time.
    _lock: File,
}

impl Installation {
    /// Begins one in `models`, which is made if it is not there.
    ///
    /// # Errors
    /// [`EmbedError::Busy`]; or the folder cannot be written into.
    pub(super) fn begin(models: &Path) -> Result<Self, EmbedError> {
        std::fs::create_dir_all(models).map_err(EmbedError::file("make the folder", models))?;
        let path = models.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(EmbedError::file("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(EmbedError::Busy {
                    models: models.to_owned(),
                });
            }
            Err(TryLockError::Error(cause)) => return Err(EmbedError::file("lock", path)(cause)),
        }
        tidy(models)?;
        let staging = tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(models)
            .map_err(EmbedError::file("write into", models))?;
        Ok(Self {
            models: models.to_owned(),
            staging,
            _lock: lock,
        })
    }

    /// Where the files go.
    pub(super) fn folder(&self) -> &Path {
        self.staging.path()
    }

    /// Writes the manifest and renames the folder to its name, in place of what was there.
    ///
    /// # Errors
    /// Something cannot be written or renamed. What was there before is there still.
    pub(super) fn finish(self, manifest: &Manifest) -> Result<PathBuf, EmbedError> {
        manifest.write(self.folder())?;
        let (target, replaced) = (
            self.models.join(&manifest.name),
            self.models.join(format!("{REPLACED}{}", manifest.name)),
        );
        let is_replacing = target.exists();
        if is_replacing {
            std::fs::rename(&target, &replaced).map_err(EmbedError::file("replace", &target))?;
        }
        let staging = self.staging.keep();
        if let Err(cause) = std::fs::rename(&staging, &target) {
            if is_replacing {
                // If this fails too the next fetch does it.
                let _put_back = std::fs::rename(&replaced, &target);
            }
            let _removed = std::fs::remove_dir_all(&staging);
            return Err(EmbedError::file("write", &target)(cause));
        }
        if is_replacing {
            std::fs::remove_dir_all(&replaced).map_err(EmbedError::file("remove", &replaced))?;
        }
        // The renames are durable once the folder is.
        #[cfg(unix)]
        File::open(&self.models)
            .and_then(|folder| folder.sync_all())
            .map_err(EmbedError::file("write", &self.models))?;
        Ok(target)
    }
}

/// Ends what a killed fetch had begun: half-made folders go, a replaced one comes back if the new one did not make it.
fn tidy(models: &Path) -> Result<(), EmbedError> {
    for entry in std::fs::read_dir(models).map_err(EmbedError::file("list", models))? {
        let entry = entry.map_err(EmbedError::file("list", models))?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let replaced = name.strip_prefix(REPLACED).map(|name| models.join(name));
        match replaced {
            Some(target) if !target.exists() => {
                std::fs::rename(&path, &target).map_err(EmbedError::file("put back", &target))?;
            }
            Some(_) => std::fs::remove_dir_all(&path).map_err(EmbedError::file("remove", &path))?,
            None if name.starts_with(STAGING) => {
                std::fs::remove_dir_all(&path).map_err(EmbedError::file("remove", &path))?;
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManifestKind;

    fn manifest() -> Manifest {
        Manifest::new(
            "minilm",
            ManifestKind::Text,
            "all-MiniLM-L6-v2",
            vec!["a test".to_owned()],
        )
    }

    fn names(models: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(models).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_not_finished_leaves_nothing_and_what_is_replaces_the_old() {
        let models = tempfile::tempdir().unwrap();
        let models = models.path();
        drop(Installation::begin(models).unwrap());
        assert_eq!(names(models), [".lock"]);
        for content in ["old", "new"] {
            let installation = Installation::begin(models).unwrap();
            std::fs::write(installation.folder().join("model.onnx"), content).unwrap();
            let folder = installation.finish(&manifest()).unwrap();
            assert_eq!(
                std::fs::read_to_string(folder.join("model.onnx")).unwrap(),
                content
            );
            assert_eq!(names(models), [".lock", "minilm"]);
        }
    }

    #[test]
    fn one_fetch_at_a_time() {
        let models = tempfile::tempdir().unwrap();
        let first = Installation::begin(models.path()).unwrap();
        assert!(matches!(
            Installation::begin(models.path()),
            Err(EmbedError::Busy { .. })
        ));
        drop(first);
        assert!(Installation::begin(models.path()).is_ok());
    }

    #[test]
    fn what_a_kill_left_is_tidied_and_the_old_comes_back() {
        // Folders there were at the kill; what there is after the next fetch began.
        for (left, expected) in [
            (vec![".fetch-1", "minilm"], vec![".lock", "minilm"]),
            (vec![".fetch-1", ".replaced-minilm"], vec![".lock", "minilm"]),
            (vec![".replaced-minilm", "minilm"], vec![".lock", "minilm"]),
            (vec![".partial"], vec![".lock", ".partial"]),
        ] {
            let models = tempfile::tempdir().unwrap();
            for name in &left {
                std::fs::create_dir(models.path().join(name)).unwrap();
            }
            drop(Installation::begin(models.path()).unwrap());
            assert_eq!(names(models.path()), expected, "{left:?}");
        }
    }
}
