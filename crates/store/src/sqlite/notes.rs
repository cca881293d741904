//! Notes for the next turn.

use super::failure::Failure;
use super::rows::{Rows, label};
use super::session::OpenSession;
use crate::{NewNote, StoreError, StoredNote};
use rusqlite::Connection;
use tidegate_policy::SessionId;

/// Leaves a note.
pub(crate) fn leave(connection: &Connection, session: &OpenSession, note: &NewNote) -> Result<(), Failure> {
    connection
        .prepare_cached(
            "INSERT INTO notes (session, left_ms, classification, integrity, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            session.number,
            session.changed_ms,
            note.label.classification.as_str(),
            note.label.integrity.as_str(),
            &note.body,
        ))?;
    Ok(())
}

/// Takes notes; each has to be there yet.
pub(crate) fn take(connection: &Connection, session: &OpenSession, positions: &[u64]) -> Result<(), Failure> {
    let mut delete = connection.prepare_cached("DELETE FROM notes WHERE session = ?1 AND position = ?2")?;
    for position in positions {
        if delete.execute((session.number, position))? == 0 {
            return Err(StoreError::NoteTaken {
                session: session.id,
                position: *position,
            }
            .into());
        }
    }
    Ok(())
}

/// The notes that wait, in the order in which they were left.
pub(crate) fn waiting(connection: &Connection, session: SessionId) -> Result<Vec<StoredNote>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT position, left_ms, classification, integrity, body FROM notes \
         WHERE session = (SELECT number FROM sessions WHERE id = ?1) ORDER BY position",
    )?;
    let mut found = statement.query([session.to_string()])?;
    let mut notes = Vec::new();
    while let Some(row) = found.next()? {
        let position: u64 = row.get(0)?;
        let rows = Rows {
            table: "notes",
            row: &|| format!("note {position} of session {session}"),
        };
        notes.push(StoredNote {
            position,
            left_ms: rows.column(row, 1)?,
            note: NewNote {
                label: label(row, 2)?,
                body: rows.column(row, 4)?,
            },
        });
    }
    Ok(notes)
}
