//! The folder of an index: who has it, and up to which position it is whole.

use crate::QdrantError;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tidegate_memory::IndexError;
use tidegate_store::{Collection, ModelRecord};

/// The layout of what is stored. Raised when the engine or the schema changes in a way that older folders do not meet.
const FORMAT: u32 = 1;

const LOCK: &str = "lock";
const STATE: &str = "position.json";
const NEW_STATE: &str = "position.json.new";
const BUILDING: &str = "building";

/// What is known about an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    format: u32,
    pub(crate) position: u64,
    pub(crate) model: ModelRecord,
}

impl State {
    pub(crate) fn new(model: &ModelRecord, position: u64) -> Self {
        Self {
            format: FORMAT,
            position,
            model: model.clone(),
        }
    }
}

/// A folder that nobody else has. It is given up when this is dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Takes it, and makes it if it is not there.
    pub(crate) fn take(path: &Path, index: &str) -> Result<Self, IndexError> {
        let failed = |action, cause| folder_error(path, action, cause).of(index);
        fs::create_dir_all(path).map_err(|cause| failed("it cannot be made", cause))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK));
        let lock = lock.map_err(|cause| failed("its lock cannot be opened", cause))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(IndexError::InUse {
                index: index.to_owned(),
            }),
            Err(TryLockError::Error(cause)) => Err(failed("it cannot be locked", cause)),
        }
    }

    pub(crate) fn shard(&self, collection: Collection) -> PathBuf {
        self.path.join(collection.as_str())
    }

    /// None in a new folder, and in one that a crash left while the index was made or parts of it were moved: what is in
    /// there may be the old and the new of the same thing.
    pub(crate) fn state(&self) -> Result<Option<State>, QdrantError> {
        if self.path.join(BUILDING).exists() {
            tracing::info!(
                folder = %self.path.display(),
                "the process ended while the index built a graph; it is filled anew from the records"
            );
            return Ok(None);
        }
        let text = match fs::read(self.path.join(STATE)) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(folder_error(&self.path, "its position cannot be read", cause)),
        };
        let state: State = serde_json::from_slice(&text)
            .map_err(|cause| self.damaged(&format!("{STATE} cannot be read: {cause}")))?;
        if state.format != FORMAT {
            let problem = format!("it has format {}, and this version reads {FORMAT}", state.format);
            return Err(self.damaged(&problem));
        }
        Ok(Some(state))
    }

    /// Writes beside the old one what [`Self::keep_state`] makes count.
    pub(crate) fn write_state(&self, state: &State) -> Result<(), QdrantError> {
        let failed = |cause| folder_error(&self.path, "its position cannot be written", cause);
        let text = serde_json::to_vec(state).map_err(|cause| failed(cause.into()))?;
        let mut file = File::create(self.path.join(NEW_STATE)).map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        file.sync_all().map_err(failed)
    }

    pub(crate) fn keep_state(&self) -> Result<(), QdrantError> {
        let failed = |cause| folder_error(&self.path, "its position cannot be written", cause);
        fs::rename(self.path.join(NEW_STATE), self.path.join(STATE)).map_err(failed)?;
        self.sync().map_err(failed)
    }

    /// From now on there is no index here.
    pub(crate) fn forget(&self) -> Result<(), QdrantError> {
        let failed = |cause| folder_error(&self.path, "what is in it cannot be deleted", cause);
        let gone = |done: io::Result<()>| match done {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(failed(cause)),
            _ => Ok(()),
        };
        gone(fs::remove_file(self.path.join(STATE)))?;
        self.sync().map_err(failed)?;
        gone(fs::remove_file(self.path.join(NEW_STATE)))?;
        for collection in Collection::ALL {
            gone(fs::remove_dir_all(self.shard(collection)))?;
            fs::create_dir(self.shard(collection)).map_err(failed)?;
        }
        gone(fs::remove_file(self.path.join(BUILDING)))
    }

    /// From now on files come and go, until [`Self::end_building`].
    pub(crate) fn begin_building(&self) -> Result<(), QdrantError> {
        let failed = |cause| folder_error(&self.path, "it cannot be written", cause);
        File::create(self.path.join(BUILDING)).map_err(failed)?;
        self.sync().map_err(failed)
    }

    pub(crate) fn end_building(&self) -> Result<(), QdrantError> {
        let failed = |cause| folder_error(&self.path, "it cannot be written", cause);
        fs::remove_file(self.path.join(BUILDING)).map_err(failed)?;
        self.sync().map_err(failed)
    }

    pub(crate) fn damaged(&self, problem: &str) -> QdrantError {
        QdrantError::Damaged {
            path: self.path.clone(),
            problem: crate::error::first_line(problem),
        }
    }

    /// Makes durable which files there are.
    fn sync(&self) -> io::Result<()> {
        if cfg!(unix) {
            File::open(&self.path)?.sync_all()?;
        }
        Ok(())
    }
}

fn folder_error(path: &Path, action: &'static str, cause: io::Error) -> QdrantError {
    QdrantError::Folder {
        path: path.to_owned(),
        action,
        cause,
    }
}
