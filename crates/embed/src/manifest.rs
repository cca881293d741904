//! What was installed, as it is written beside it.

use crate::{EmbedError, Pooling};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The file's name in each folder that was fetched.
pub(crate) const MANIFEST: &str = "tidegate-model.json";

/// The form of the file. A later one is refused, since it may mean something else.
const FORMAT: u32 = 1;

/// What a folder holds that was fetched, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// The name it is fetched by, which is the folder's.
    pub name: String,
    /// What it is.
    pub kind: ManifestKind,
    /// The model's own name, as in `all-MiniLM-L6-v2`, or the library's with its version.
    pub model: String,
    /// Where it comes from, in words: packages with versions, or the hub's repository with its commit.
    pub sources: Vec<String>,
    /// How its vectors are pooled, where that is known from elsewhere than its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Its files by path in the folder, with `/`.
    pub files: BTreeMap<String, ManifestFile>,
}

/// What is in a folder that was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestKind {
    /// A text model.
    Text,
    /// bge-m3, with its three outputs.
    BgeM3,
    /// The library all of them need.
    OnnxRuntime,
}

/// A file as it was when it was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    pub(crate) fn new(name: &str, kind: ManifestKind, model: &str, sources: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            kind,
            model: model.to_owned(),
            sources,
            pooling: None,
            files: BTreeMap::new(),
        }
    }

    /// The manifest of `folder`; none if it has none.
    ///
    /// # Errors
    /// It cannot be read, or is none of this version.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, EmbedError> {
        let path = folder.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(EmbedError::file("read", path)(cause)),
        };
        let bad = |problem: String, cause| EmbedError::BadFolder {
            folder: folder.to_owned(),
            problem,
            cause,
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|cause| {
            let problem = format!("its {MANIFEST} cannot be read; fetch the model again");
            bad(problem, Some(Box::new(cause)))
        })?;
        if manifest.format != FORMAT {
            let problem = format!(
                "its {MANIFEST} has format {}, and this version knows {FORMAT}; fetch the model again",
                manifest.format
            );
            return Err(bad(problem, None));
        }
        Ok(Some(manifest))
    }

    /// Writes it into `folder`, durably.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), EmbedError> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_vec_pretty(self).map_err(|cause| EmbedError::Stopped {
            cause: Box::new(cause),
        })?;
        let written = std::fs::File::create(&path).and_then(|mut file| {
            std::io::Write::write_all(&mut file, &text)?;
            file.sync_all()
        });
        written.map_err(EmbedError::file("write", path))
    }
}
