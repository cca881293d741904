//! Files the owner has looked at: by path and content.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The files in working folders that the owner trusts, each by canonical path and SHA-256 of its content.
///
/// Kept in `trusted-files.json` in the data folder, which no tool can write.
#[derive(Clone, Debug)]
pub struct TrustedFiles {
    list: PathBuf,
}

/// The list of trusted files cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file to be trusted cannot be read.
    #[error("cannot read {file}, so it cannot be trusted")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The list cannot be read or written.
    #[error(
        "cannot use {file}, the list of trusted files; make it and its folder readable and writable, or choose another data folder with --data-dir DIR"
    )]
    Io {
        /// The list.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The list is damaged.
    #[error("{file} is damaged; delete it and trust the files anew with `tidegate config trust FILE`")]
    Damaged {
        /// The list.
        file: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

impl TrustedFiles {
    /// The list in `data_folder`.
    pub fn in_folder(data_folder: &Path) -> Self {
        Self {
            list: data_folder.join("trusted-files.json"),
        }
    }

    /// Whether the file at canonical `path` is trusted with exactly this content.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn is_trusted(&self, path: &Path, content: &[u8]) -> Result<bool, TrustError> {
        Ok(self
            .read()?
            .get(&key(path))
            .is_some_and(|hash| *hash == hash_of(content)))
    }

    /// Trusts the file at `path` as it is now. Gives the canonical path.
    ///
    /// # Errors
    /// If the file cannot be read, or the list not written.
    pub fn trust(&self, path: &Path) -> Result<PathBuf, TrustError> {
        let unreadable = |cause| TrustError::Unreadable {
            file: path.to_path_buf(),
            cause,
        };
        let canonical = path.canonicalize().map_err(unreadable)?;
        let content = std::fs::read(&canonical).map_err(unreadable)?;
        self.trust_content(&canonical, &content)?;
        Ok(canonical)
    }

    /// Trusts the file at `path` as it is now and, if it is a `tidegate.toml`, the files it names that lie where it says:
    /// scenarios, and the templates in its `templates_dir`. Gives their canonical paths.
    ///
    /// # Errors
    /// If a file cannot be read, or the list not written.
    pub fn trust_with_named(&self, path: &Path) -> Result<Vec<PathBuf>, TrustError> {
        let canonical = self.trust(path)?;
        let folder = canonical.parent().unwrap_or_else(|| Path::new("/")).to_path_buf();
        let text = std::fs::read_to_string(&canonical).unwrap_or_default();
        let mut trusted = vec![canonical];
        for named in named_in(&text) {
            let files = match named {
                Named::Scenario(file) => vec![folder.join(file)],
                Named::Templates(dir) => {
                    let dir = folder.join(dir);
                    if !dir.is_dir() {
                        continue;
                    }
                    let unreadable = |cause| TrustError::Unreadable {
                        file: dir.clone(),
                        cause,
                    };
                    crate::prompt::template_files(&dir).map_err(unreadable)?
                }
            };
            for file in files.into_iter().filter(|file| file.is_file()) {
                trusted.push(self.trust(&file)?);
            }
        }
        Ok(trusted)
    }

    /// Trusts the file at canonical `path` with this content: what the owner was shown, whatever is there now.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn trust_content(&self, path: &Path, content: &[u8]) -> Result<(), TrustError> {
        let mut known = self.read()?;
        known.insert(key(path), hash_of(content));
        let io = |cause| TrustError::Io {
            file: self.list.clone(),
            cause,
        };
        let folder = self.list.parent().unwrap_or_else(|| Path::new("."));
        std::fs::create_dir_all(folder).map_err(io)?;
        let text = serde_json::to_string_pretty(&known).map_err(|cause| TrustError::Damaged {
            file: self.list.clone(),
            cause,
        })?;
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
        new.write_all(text.as_bytes())
            .and_then(|()| new.as_file().sync_all())
            .map_err(io)?;
        new.persist(&self.list).map_err(|error| io(error.error))?;
        Ok(())
    }

    fn read(&self) -> Result<BTreeMap<String, String>, TrustError> {
        match std::fs::read(&self.list) {
            Ok(text) => serde_json::from_slice(&text).map_err(|cause| TrustError::Damaged {
                file: self.list.clone(),
                cause,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(cause) => Err(TrustError::Io {
                file: self.list.clone(),
                cause,
            }),
        }
    }
}

/// What a configuration names.
enum Named {
    Scenario(String),
    Templates(String),
}

/// What a configuration names; nothing of a text that is no configuration.
fn named_in(text: &str) -> Vec<Named> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let providers = table.get("providers").and_then(toml::Value::as_table);
    let scenarios = providers
        .into_iter()
        .flatten()
        .filter_map(|(_, provider)| provider.get("scenario")?.as_str())
        .map(|file| Named::Scenario(file.to_owned()));
    let templates = table
        .get("prompt")
        .and_then(|prompt| prompt.get("templates_dir")?.as_str())
        .map(|dir| Named::Templates(dir.to_owned()));
    scenarios
        .chain(templates)
        .filter(|named| match named {
            Named::Scenario(path) | Named::Templates(path) => !path.is_empty(),
        })
        .collect()
}

/// The path in a form that keeps every byte apart: paths that are not UTF-8 are written in Debug form.
fn key(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned)
}

fn hash_of(content: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(content) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_by_path_and_content() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = TrustedFiles::in_folder(&folder.path().join("data"));
        let file = folder.path().join("tidegate.toml");
        std::fs::write(&file, "a").unwrap();
        assert!(!trusted.is_trusted(&file, b"a").unwrap());

        let canonical = trusted.trust(&file).unwrap();

        assert!(trusted.is_trusted(&canonical, b"a").unwrap());
        assert!(!trusted.is_trusted(&canonical, b"b").unwrap());
        assert!(
            !trusted
                .is_trusted(&folder.path().join("other.toml"), b"a")
                .unwrap()
        );
    }

    #[test]
    fn a_damaged_list_is_an_error_and_trusts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("trusted-files.json"), "[1").unwrap();
        let error = TrustedFiles::in_folder(folder.path())
            .is_trusted(Path::new("/a"), b"")
            .unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error}");
    }
}
