//! One user of a session at a time, over processes.

use crate::RuntimeError;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_policy::SessionId;

/// Where locks are kept.
#[derive(Debug)]
pub(crate) enum Locks {
    /// Lock files in this folder: for stores that several processes can open.
    Folder(PathBuf),
    /// In this process: for stores that nobody else can reach.
    Process(Arc<Mutex<BTreeSet<SessionId>>>),
}

/// Held while a session is in use; the system gives a lock file back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) enum SessionLock {
    Folder(#[expect(dead_code, reason = "holding it open is its use")] File),
    Process(SessionId, Arc<Mutex<BTreeSet<SessionId>>>),
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        match self {
            Self::Folder(_) => {}
            Self::Process(session, held) => {
                held.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(session);
            }
        }
    }
}

impl Locks {
    /// Locks for this process alone.
    pub(crate) fn in_process() -> Self {
        Self::Process(Arc::default())
    }

    /// Takes the lock, or says that somebody else has it.
    pub(crate) fn take(&self, session: SessionId) -> Result<SessionLock, RuntimeError> {
        match self {
            Self::Process(held) => {
                if held
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(session)
                {
                    Ok(SessionLock::Process(session, Arc::clone(held)))
                } else {
                    Err(RuntimeError::SessionBusy { session })
                }
            }
            Self::Folder(folder) => {
                let path = folder.join(file_name(session));
                let io = |cause| RuntimeError::Folder {
                    what: "lock file",
                    path: path.clone(),
                    hint: "it has to be a file that may be written; or choose another data folder",
                    cause,
                };
                std::fs::create_dir_all(folder).map_err(|cause| RuntimeError::Folder {
                    what: "folder of the session locks",
                    path: folder.clone(),
                    hint: "it has to be a folder that may be written; or choose another data folder",
                    cause,
                })?;
                let mut options = OpenOptions::new();
                let file = options
                    .create(true)
                    .truncate(false)
                    .read(true)
                    .write(true)
                    .open(&path)
                    .map_err(io)?;
                match file.try_lock() {
                    Ok(()) => Ok(SessionLock::Folder(file)),
                    Err(TryLockError::WouldBlock) => Err(RuntimeError::SessionBusy { session }),
                    Err(TryLockError::Error(cause)) => Err(io(cause)),
                }
            }
        }
    }

    /// Removes what is left of the lock of a session that is gone for good.
    pub(crate) fn forget(&self, session: SessionId) {
        if let Self::Folder(folder) = self {
            // A file left behind is harmless: the lock is on the open file, not on its existence.
            let _ = std::fs::remove_file(folder.join(file_name(session)));
        }
    }
}

fn file_name(session: SessionId) -> String {
    format!("{session}.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_user_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        for locks in [Locks::in_process(), Locks::Folder(folder.path().join("locks"))] {
            let (one, two) = (SessionId::from_bits(1), SessionId::from_bits(2));
            let first = locks.take(one).unwrap();
            assert!(
                matches!(locks.take(one), Err(RuntimeError::SessionBusy { .. })),
                "{locks:?}"
            );
            let _other = locks.take(two).unwrap();
            drop(first);
            locks.take(one).unwrap();
        }
    }
}
