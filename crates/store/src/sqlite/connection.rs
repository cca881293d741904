//! Opening: what the file is, who may use it, how SQLite is set.

use super::failure::Failure;
use super::migrations::{identify, known_schema, migrate};
use crate::{Durability, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a lock that another process holds is waited for.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest path SQLite opens: 512 bytes with its terminator and `-journal`.
const LONGEST_PATH: usize = 503;

/// One program opens one file at a time. A file that is being made is closed once by the standard library,
/// and closing a file drops every lock that this process has on it, SQLite's own too.
static OPENING: Mutex<()> = Mutex::new(());

/// The path as SQLite will be given it: absolute, its folder there.
pub(crate) fn locate(path: &Path) -> Result<PathBuf, StoreError> {
    let refused = |cause| unopenable(path, cause);
    let absolute = std::path::absolute(path).map_err(refused)?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(refused(io::Error::from(io::ErrorKind::IsADirectory)));
    };
    make_folder(folder).map_err(refused)?;
    let located = folder.canonicalize().map_err(refused)?.join(name);
    let length = located.as_os_str().len();
    if length > LONGEST_PATH {
        let problem =
            format!("the path has {length} bytes, and SQLite opens paths of at most {LONGEST_PATH}");
        return Err(refused(io::Error::new(io::ErrorKind::InvalidFilename, problem)));
    }
    Ok(located)
}

/// Opens the writer's connection to the file, which [`locate`] gave, and makes or migrates the file.
pub(crate) fn open_writer(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    make_file(path).map_err(|cause| unopenable(path, cause))?;
    // Not `default()`: that would read a path that begins with `file:` as a URL.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(|error| Failure::from(error).of(path))?;
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match prepare(&mut connection, path, durability) {
            Ok(()) => return Ok(connection),
            // Turning to write-ahead logging needs the file alone, and SQLite does not wait for that by
            // itself.
            Err(failure) if failure.is_busy() && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(failure) => return Err(failure.of(path)),
        }
    }
}

/// A store without a file.
#[cfg(test)]
pub(crate) fn open_memory(path: &Path) -> Result<Connection, StoreError> {
    let prepared = || {
        let mut connection = Connection::open_in_memory()?;
        set_up(&connection)?;
        migrate(&mut connection, path)?;
        Ok(connection)
    };
    prepared().map_err(|failure: Failure| failure.of(path))
}

/// Opens a reader's connection.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let opened = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        set_up(&connection)?;
        // Kibibytes: room for the indexes by which a recall looks its memories up.
        connection.pragma_update(None, "cache_size", -8_192)?;
        Ok(connection)
    };
    opened().map_err(|failure: Failure| failure.of(path))
}

fn prepare(connection: &mut Connection, path: &Path, durability: Durability) -> Result<(), Failure> {
    set_up(connection)?;
    // Until the file is known to be ours, closing must not tidy it up.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // SQLite opens a file that may not be written all the same, and says so only when it is written to.
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        let cause = Arc::new(io::Error::from(io::ErrorKind::PermissionDenied));
        return Err(StoreError::Unwritable {
            path: path.into(),
            cause,
        }
        .into());
    }
    let found = {
        // One view of mark, schema and tables: another process may be making them at this moment.
        let view = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        identify(&view, path)?
    };
    let journal: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !journal.eq_ignore_ascii_case("wal") {
        let problem = "write-ahead logging does not work there (a network file system?)";
        return Err(unopenable(path, io::Error::new(io::ErrorKind::Unsupported, problem)).into());
    }
    match durability {
        Durability::Power => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            // Where fsync alone does not reach the disk (macOS).
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        }
        Durability::Process => connection.pragma_update(None, "synchronous", "NORMAL")?,
    }
    // After a burst or a long reader the log shrinks again.
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    if found < known_schema() {
        migrate(connection, path)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

fn set_up(connection: &Connection) -> Result<(), Failure> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is deleted is overwritten.
    connection.pragma_update(None, "secure_delete", true)?;
    // Pages that a savepoint keeps must not reach a temporary file: they hold content.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

fn unopenable(path: &Path, cause: io::Error) -> StoreError {
    let path = path.to_path_buf();
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::Unwritable {
            path,
            cause: Arc::new(cause),
        },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full {
            path,
            cause: Arc::new(cause),
        },
        _ => StoreError::Unopenable {
            path,
            cause: Arc::new(cause),
        },
    }
}

/// Makes the folder and those above it, for the owner alone; those that exist stay as they are.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the file, for the owner alone, if there is none. SQLite gives the files beside it the same rights.
fn make_file(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // A device or a pipe.
        Ok(metadata) if !metadata.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
