//! What is in a models folder, and whether it is whole.

use crate::EmbedError;
use crate::folder::hexadecimal;
use crate::manifest::{MANIFEST, Manifest};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A folder of a models folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledModel {
    /// The folder's name.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// What was installed; none if that cannot be read.
    pub manifest: Option<Manifest>,
    /// How it is.
    pub state: ModelState,
}

/// How a folder that was fetched is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// All files are there with the length they had. [`verify`] looks at what is in them.
    Whole,
    /// Not all is as it was installed. The text says what, and what to do.
    Damaged {
        /// What is wrong.
        problem: String,
    },
}

/// What was fetched into `models`, sorted by name: models, and ONNX Runtime. Looks at names and lengths alone, and gives
/// nothing if there is no such folder. Folders that were not fetched, and what an unfinished fetch left, are left out.
///
/// # Errors
/// [`EmbedError::File`]: the folder cannot be listed.
pub fn installed(models: &Path) -> Result<Vec<InstalledModel>, EmbedError> {
    let entries = match std::fs::read_dir(models) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(EmbedError::file("list", models)(cause)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(EmbedError::file("list", models))?;
        let (folder, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') || !folder.join(MANIFEST).is_file() {
            continue;
        }
        let (manifest, state) = match Manifest::read(&folder) {
            Ok(Some(manifest)) => match check_sizes(&folder, &manifest) {
                Ok(()) => (Some(manifest), ModelState::Whole),
                Err(error) => (Some(manifest), damaged(&error)),
            },
            // It was there a moment ago.
            Ok(None) => continue,
            Err(error) => (None, damaged(&error)),
        };
        found.push(InstalledModel {
            name,
            folder,
            manifest,
            state,
        });
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}

fn damaged(error: &EmbedError) -> ModelState {
    ModelState::Damaged {
        problem: error.to_string(),
    }
}

/// Compares every file of a fetched folder with the checksum it had. Blocks: a second for half a gigabyte.
///
/// # Errors
/// [`EmbedError::Damaged`] names the first file that is missing or changed; [`EmbedError::BadFolder`] if it was not
/// fetched.
pub fn verify(folder: &Path) -> Result<Manifest, EmbedError> {
    let Some(manifest) = Manifest::read(folder)? else {
        return Err(EmbedError::BadFolder {
            folder: folder.to_owned(),
            problem: format!(
                "it has no {MANIFEST}: it was not fetched, and there is nothing to compare it with"
            ),
            cause: None,
        });
    };
    check_sizes(folder, &manifest)?;
    for (name, expected) in &manifest.files {
        let path = folder.join(name);
        if sha256_of(&path)? != expected.sha256 {
            return Err(damage(folder, &manifest, format!("{name} has been changed")));
        }
    }
    Ok(manifest)
}

/// Whether all files are there with their lengths.
pub(crate) fn check_sizes(folder: &Path, manifest: &Manifest) -> Result<(), EmbedError> {
    for (name, expected) in &manifest.files {
        let problem = match std::fs::metadata(folder.join(name)) {
            Ok(file) if file.len() == expected.bytes => continue,
            Ok(file) => format!("{name} has {} bytes instead of {}", file.len(), expected.bytes),
            Err(cause) => format!("{name} cannot be read ({cause})"),
        };
        return Err(damage(folder, manifest, problem));
    }
    Ok(())
}

fn damage(folder: &Path, manifest: &Manifest, problem: String) -> EmbedError {
    EmbedError::Damaged {
        name: manifest.name.clone(),
        folder: folder.to_owned(),
        problem,
    }
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn sha256_of(path: &Path) -> Result<String, EmbedError> {
    let mut hash = Sha256::new();
    read_all(path, |piece| hash.update(piece))?;
    Ok(hexadecimal(&hash.finalize()))
}

/// Gives all of a file to `take`, piece by piece.
pub(crate) fn read_all(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), EmbedError> {
    let mut file = File::open(path).map_err(EmbedError::file("open", path))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).map_err(EmbedError::file("read", path))?;
        match buffer.get(..read) {
            Some(piece) if !piece.is_empty() => take(piece),
            _ => return Ok(()),
        }
    }
}
