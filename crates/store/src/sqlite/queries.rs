//! What is asked of a connection.

use super::failure::Failure;
use super::rows::{self, ENTRY, EVENT, Missing, SUMMARY};
use crate::{
    CallRecord, Checkpoint, EventFilter, FileLabel, FileLabelRange, PendingWrites, SessionList,
    SessionSummary, SourceText, StoreError, StoredEvent,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, named_params};
use std::path::Path;
use std::sync::Arc;
use tidegate_message::Entry;
use tidegate_policy::{EventId, SessionId, SessionName, SourceId, TurnId};

/// The only row of a query, if there is one.
pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    found.next()?.map(read).transpose()
}

/// All rows of a query.
pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut records = Vec::new();
    while let Some(row) = found.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

/// A session.
pub(crate) fn summary(connection: &Connection, id: SessionId) -> Result<Option<SessionSummary>, Failure> {
    first(
        connection,
        &format!("{SUMMARY} WHERE id = ?1"),
        [id.to_string()],
        rows::summary,
    )
}

/// A session by its name.
pub(crate) fn summary_named(
    connection: &Connection,
    name: &SessionName,
) -> Result<Option<SessionSummary>, Failure> {
    first(
        connection,
        &format!("{SUMMARY} WHERE name = ?1"),
        [name.as_str()],
        rows::summary,
    )
}

/// All sessions of the store in `path`.
pub(crate) fn sessions(connection: &Connection, path: &Path) -> Result<SessionList, Failure> {
    let mut list = SessionList::default();
    let read = all(
        connection,
        &format!("{SUMMARY} ORDER BY changed_ms DESC, id"),
        [],
        |row| {
            match rows::summary(row) {
                Ok(summary) => list.sessions.push(summary),
                Err(failure @ Failure::Damaged { .. }) => list.damaged.push(failure.of(path)),
                Err(failure) => return Err(failure),
            }
            Ok(())
        },
    );
    read.map(|_| list)
}

/// A session's key in the other tables and the number of its last entry.
fn number(connection: &Connection, id: SessionId) -> Result<Option<(i64, u64)>, Failure> {
    let mut statement = connection.prepare_cached("SELECT number, entries FROM sessions WHERE id = ?1")?;
    let found = statement
        .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional();
    found.map_err(|error| match error {
        error @ rusqlite::Error::SqliteFailure(..) => error.into(),
        error => Failure::damaged("sessions", id.to_string(), error),
    })
}

/// The entries of a session.
pub(crate) fn entries(connection: &Connection, session: SessionId) -> Result<Vec<Arc<Entry>>, Failure> {
    // One view, so that number and rows belong together.
    let view = connection.unchecked_transaction()?;
    let Some((number, last)) = number(&view, session)? else {
        return Ok(Vec::new());
    };
    let entries = all(
        &view,
        &format!("{ENTRY} WHERE session = ?1 ORDER BY seq"),
        [number],
        |row| rows::entry(session, row).map(Arc::new),
    )?;
    let missing = (1..=last).find(|seq| {
        let index = usize::try_from(seq - 1).unwrap_or(usize::MAX);
        entries.get(index).is_none_or(|entry| entry.seq.0 != *seq)
    });
    match missing {
        Some(seq) => Err(Failure::damaged(
            "entries",
            format!("entry {seq} of session {session}"),
            Missing,
        )),
        None => Ok(entries),
    }
}

/// The last checkpoint of a session.
pub(crate) fn checkpoint(connection: &Connection, session: SessionId) -> Result<Option<Checkpoint>, Failure> {
    let sql = "SELECT turn, version, data FROM checkpoints \
               WHERE session = (SELECT number FROM sessions WHERE id = ?1)";
    first(connection, sql, [session.to_string()], |row| {
        rows::checkpoint(session, row)
    })
}

/// The journal of a turn.
pub(crate) fn calls(
    connection: &Connection,
    session: SessionId,
    turn: TurnId,
) -> Result<Vec<CallRecord>, Failure> {
    let sql = "SELECT call, tool, attempts, result FROM calls \
               WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND turn = ?2 ORDER BY position";
    all(connection, sql, (session.to_string(), turn.to_string()), |row| {
        rows::call(session, row)
    })
}

/// A full text.
pub(crate) fn source(
    connection: &Connection,
    session: SessionId,
    id: &SourceId,
) -> Result<Option<SourceText>, Failure> {
    let sql = "SELECT id, classification, integrity, text FROM sources \
               WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND id = ?2";
    first(connection, sql, (session.to_string(), id.as_str()), |row| {
        rows::source(session, row)
    })
}

/// All full texts of a session.
pub(crate) fn sources(connection: &Connection, session: SessionId) -> Result<Vec<SourceText>, Failure> {
    let sql = "SELECT id, classification, integrity, text FROM sources \
               WHERE session = (SELECT number FROM sessions WHERE id = ?1) ORDER BY position";
    all(connection, sql, [session.to_string()], |row| {
        rows::source(session, row)
    })
}

/// An event.
pub(crate) fn event(connection: &Connection, id: EventId) -> Result<Option<StoredEvent>, Failure> {
    let Ok(sequence) = i64::try_from(id.sequence) else {
        return Ok(None);
    };
    let sql = format!("{EVENT} WHERE sessions.id = ?1 AND events.sequence = ?2");
    first(connection, &sql, (id.session.to_string(), sequence), rows::event)
}

/// Events that could be read, and what was wrong with the others.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Those that can be read, oldest first.
    pub(crate) readable: Vec<StoredEvent>,
    /// Position and error of the others.
    pub(crate) unreadable: Vec<(u64, StoreError)>,
}

/// The events that pass `filter`, of the store in `path`.
pub(crate) fn events(connection: &Connection, path: &Path, filter: &EventFilter) -> Result<Events, Failure> {
    let mut sql = format!("{EVENT} WHERE events.position > :after");
    let session = filter.session.map(|id| id.to_string());
    let mut order = " ORDER BY events.position";
    if session.is_some() {
        sql.push_str(" AND sessions.id = :session");
        // The same order, and the one in which an index has them.
        order = " ORDER BY events.sequence";
    } else {
        sql.push_str(" AND :session IS NULL");
    }
    // The character after `.` ends the range of names that begin with `KIND.`.
    let (from, to) = match &filter.kind {
        Some(kind) => {
            sql.push_str(" AND (events.kind = :kind OR (events.kind >= :from AND events.kind < :to))");
            (Some(format!("{kind}.")), Some(format!("{kind}/")))
        }
        None => {
            sql.push_str(" AND :kind IS NULL AND :from IS NULL AND :to IS NULL");
            (None, None)
        }
    };
    sql.push_str(order);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(named_params! {
        ":after": i64::try_from(filter.after).unwrap_or(i64::MAX),
        ":session": session,
        ":kind": filter.kind,
        ":from": from,
        ":to": to,
    })?;
    let mut events = Events::default();
    // The limit counts what can be read: else a follower would not get past the rest.
    while filter.limit.is_none_or(|limit| events.readable.len() < limit) {
        let Some(row) = found.next()? else { break };
        match rows::event(row) {
            Ok(event) => events.readable.push(event),
            Err(failure @ Failure::Damaged { .. }) => events.unreadable.push((row.get(0)?, failure.of(path))),
            Err(failure) => return Err(failure),
        }
    }
    Ok(events)
}

/// The label of a file.
pub(crate) fn file_label(connection: &Connection, path: &str) -> Result<Option<FileLabel>, Failure> {
    let sql = "SELECT hash, classification, integrity FROM file_labels WHERE path = ?1";
    first(connection, sql, [path], |row| rows::file_label(row, 0))
}

/// Labels of files, with their paths.
pub(crate) fn file_labels(
    connection: &Connection,
    range: &FileLabelRange,
) -> Result<Vec<(String, FileLabel)>, Failure> {
    let sql = "SELECT path, hash, classification, integrity FROM file_labels \
               WHERE path >= ?1 AND path < ?2 ORDER BY path";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([&range.from, &range.until])?;
    let mut labels = Vec::new();
    while labels.len() < range.limit {
        let Some(row) = found.next()? else { break };
        let label = rows::file_label(row, 1)?;
        if !label.label.is_within(range.not_within) {
            labels.push((row.get(0)?, label));
        }
    }
    Ok(labels)
}

/// What may be writing files.
pub(crate) fn pending_writes(connection: &Connection) -> Result<Vec<PendingWrites>, Failure> {
    let sql = "SELECT id, since_ms, classification, integrity, places FROM pending_writes ORDER BY id";
    all(connection, sql, [], rows::pending_writes)
}
