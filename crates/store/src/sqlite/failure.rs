//! From what SQLite says to what a person is told.

use super::connection::BUSY_TIMEOUT;
use crate::{Cause, ForeignFile, StoreError};
use rusqlite::ErrorCode;
use rusqlite::ffi;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// An error inside the store, before it is known of which file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite's.
    Sqlite(rusqlite::Error),
    /// A row that cannot be read.
    Damaged {
        /// The table.
        table: &'static str,
        /// Which row.
        row: String,
        /// Why.
        cause: Cause,
    },
    /// One that says everything already.
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// A row that cannot be read because of `cause`.
    pub(crate) fn damaged(
        table: &'static str,
        row: impl Into<String>,
        cause: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self::Damaged {
            table,
            row: row.into(),
            cause: Arc::new(cause),
        }
    }

    /// Whether another connection holds the lock that is wanted.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
                )
            }
            Self::Damaged { .. } | Self::Store(_) => false,
        }
    }

    /// The error for people, of the store in `path`.
    pub(crate) fn of(self, path: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Damaged { table, row, cause } => StoreError::DamagedRow {
                path: path.into(),
                table,
                row,
                cause,
            },
            Self::Sqlite(error) => of_sqlite(error, path),
        }
    }
}

fn of_sqlite(error: rusqlite::Error, path: &Path) -> StoreError {
    let path = path.to_path_buf();
    let (code, extended) = match &error {
        rusqlite::Error::SqliteFailure(failure, _) => (failure.code, failure.extended_code),
        _ => {
            return StoreError::Failed {
                path,
                cause: Arc::new(error),
            };
        }
    };
    let cause: Cause = Arc::new(error);
    match code {
        ErrorCode::NotADatabase => StoreError::Foreign {
            path,
            found: ForeignFile::NoDatabase,
        },
        ErrorCode::DatabaseCorrupt => StoreError::Corrupt { path, cause },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::Unwritable { path, cause },
        ErrorCode::CannotOpen => StoreError::Unopenable { path, cause },
        ErrorCode::DiskFull => StoreError::Full { path, cause },
        // The file shared by all connections cannot grow: SQLite reports a full disk so.
        ErrorCode::SystemIoFailure if extended == ffi::SQLITE_IOERR_SHMSIZE => {
            StoreError::Full { path, cause }
        }
        // The file is shorter than it says it is.
        ErrorCode::SystemIoFailure if extended == ffi::SQLITE_IOERR_SHORT_READ => {
            StoreError::Corrupt { path, cause }
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy {
            path,
            waited: BUSY_TIMEOUT,
        },
        ErrorCode::TooBig => StoreError::TooLarge { path, cause },
        _ => StoreError::Failed { path, cause },
    }
}
