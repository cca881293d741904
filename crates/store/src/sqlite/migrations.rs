//! How a file gets from one schema to the next.

use super::failure::Failure;
use super::rows::Lenient;
use crate::{ForeignFile, StoreError};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::path::Path;

/// Marks a file as a store: `Tdgt` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x5464_6774;

/// The steps, oldest first. Step n leads to schema n + 1. A step that was published never changes.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_sessions.sql"),
    include_str!("migrations/0002_approvals.sql"),
    include_str!("migrations/0003_pending_writes.sql"),
    include_str!("migrations/0004_memories.sql"),
    include_str!("migrations/0005_prompts.sql"),
    include_str!("migrations/0006_memory_words.sql"),
    include_str!("migrations/0007_source_labels.sql"),
];

/// The newest schema that this program knows.
pub(crate) fn known_schema() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// The file's schema, 0 of an empty file, if it may be used at all.
///
/// # Errors
/// [`StoreError::Foreign`], [`StoreError::Newer`], or SQLite's.
pub(crate) fn identify(connection: &Connection, path: &Path) -> Result<i64, Failure> {
    let application_id: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match application_id {
        APPLICATION_ID => {
            let found = schema(connection)?;
            if found > known_schema() {
                return Err(newer(connection, path, found)?.into());
            }
            Ok(found)
        }
        0 if objects == 0 => Ok(0),
        application_id => {
            let found = ForeignFile::OtherProgram { application_id };
            Err(StoreError::Foreign {
                path: path.into(),
                found,
            }
            .into())
        }
    }
}

/// The file's schema.
pub(crate) fn schema(connection: &Connection) -> Result<i64, Failure> {
    Ok(connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))?)
}

/// The error for a file of schema `found`, which is newer.
pub(crate) fn newer(connection: &Connection, path: &Path, found: i64) -> Result<StoreError, Failure> {
    // Even the table that says who wrote it may be another one by then.
    let written_by = connection
        .query_row("SELECT value FROM meta WHERE name = 'program'", [], |row| {
            row.get::<_, Lenient>(0)
        })
        .optional()
        .ok()
        .flatten()
        .and_then(|Lenient(text)| text)
        .unwrap_or_else(|| "of an unknown version".into());
    Ok(StoreError::Newer {
        path: path.into(),
        written_by,
        found,
        known: known_schema(),
    })
}

/// Brings the file to the newest schema, in one transaction. Two programs may do so at once: the second finds
/// it done.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = identify(&transaction, path)?;
    if found < known_schema() {
        for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", known_schema())?;
        transaction.execute(
            "INSERT INTO meta (name, value) VALUES ('program', ?1) ON CONFLICT (name) DO UPDATE SET value = \
             ?1",
            [env!("CARGO_PKG_VERSION")],
        )?;
    }
    Ok(transaction.commit()?)
}
