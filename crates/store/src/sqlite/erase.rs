//! Erasing what a session said and read, and keeping what it did.
//!
//! What content the events that stay could tell is hashed, with a key of this file.

use super::failure::Failure;
use super::memory_apply;
use super::rows::{Lenient, taint, to_json};
use super::session::OpenSession;
use crate::content_hash::ContentHash;
use crate::{RecordWrite, SessionState};
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;
use std::collections::BTreeSet;
use tidegate_message::{ToolSpec, Usage};
use tidegate_policy::{SessionId, Taint, UserId};

/// Up to which size (256 MiB) a file is written anew by way of memory, not of a temporary file.
const MOST_PAGES_IN_MEMORY: i64 = 65_536;

/// Erases the session's content. Its row is written by the caller.
pub(crate) fn erase(connection: &Connection, session: &mut OpenSession) -> Result<(), Failure> {
    let hashes = ContentHash::new(key(connection)?, tool_names(connection, session.number)?);
    for statement in [
        "DELETE FROM entries WHERE session = ?1",
        "DELETE FROM checkpoints WHERE session = ?1",
        "DELETE FROM calls WHERE session = ?1",
        "DELETE FROM sources WHERE session = ?1",
        "DELETE FROM notes WHERE session = ?1",
        "DELETE FROM segments WHERE session = ?1",
        "DELETE FROM compaction_rests WHERE session = ?1",
        "DELETE FROM message_words WHERE session = ?1",
        "DELETE FROM indexed_messages WHERE session = ?1",
        // A hash of content without a key tells of it.
        "UPDATE approvals SET shown = '', digest = randomblob(32), \
         state = CASE WHEN state IN ('waiting', 'granted') THEN 'expired' ELSE state END WHERE session = ?1",
        "INSERT INTO setups (session, workspace, system_prompt, tools) VALUES (?1, '', '', '[]') \
         ON CONFLICT (session) DO UPDATE SET workspace = '', system_prompt = '', tools = '[]'",
        "UPDATE sessions SET name = NULL WHERE number = ?1",
    ] {
        connection.execute(statement, [session.number])?;
    }
    purge_context(connection, session.number)?;
    hash_events(connection, session.number, &hashes)?;
    session.state = SessionState::Erased;
    session.entries = 0;
    session.title = None;
    // The lineage names files and hosts.
    session.taint = Some(to_json(
        "a taint",
        &Taint::new(taint(session.taint.as_deref()).label()),
    )?);
    mark(connection)
}

/// Marks the file as one that may still hold bytes of what was erased.
pub(crate) fn mark(connection: &Connection) -> Result<(), Failure> {
    connection.execute(
        "INSERT OR REPLACE INTO meta (name, value) VALUES ('erased', 1)",
        [],
    )?;
    Ok(())
}

/// Erases what was saved to be searched in the session.
pub(crate) fn purge_context(connection: &Connection, session: i64) -> Result<(), Failure> {
    let mut select = connection.prepare_cached("SELECT id, user FROM sessions WHERE number = ?1")?;
    let (chat, user): (String, String) = select.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let purge = RecordWrite::PurgeChat {
        user: UserId::new(user),
        chat: chat.into(),
    };
    memory_apply::apply(connection, &[purge])?;
    Ok(())
}

/// Removes from the disk what was erased. Whether that is done; it is not while another connection still
/// reads an older state.
///
/// SQLite overwrites what is deleted (`secure_delete`), and yet leaves bytes of rows that it once moved from
/// one page to another. Only writing the whole file anew removes them all; emptying the log then removes the
/// older pages.
pub(crate) fn overwrite(connection: &Connection) -> Result<bool, Failure> {
    if let Some(erasures) = erasures(connection)?.filter(|erasures| *erasures > 0) {
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        if pages > MOST_PAGES_IN_MEMORY {
            connection.pragma_update(None, "temp_store", "FILE")?;
        }
        let written = connection.execute_batch("VACUUM");
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        written?;
        // Unless another process erased more meanwhile.
        connection.execute(
            "UPDATE meta SET value = 0 WHERE name = 'erased' AND value = ?1",
            [erasures],
        )?;
    }
    let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        return Ok(false);
    }
    connection.execute("DELETE FROM meta WHERE name = 'erased' AND value = 0", [])?;
    Ok(erasures(connection)?.is_none())
}

/// How often something was erased since the file was written anew; none if no byte of it is left anywhere.
pub(crate) fn erasures(connection: &Connection) -> Result<Option<i64>, Failure> {
    let mut select = connection.prepare_cached("SELECT value FROM meta WHERE name = 'erased'")?;
    Ok(select.query_row([], |row| row.get(0)).optional()?)
}

/// Makes a session's row readable whose damage would be in the way of erasing it.
pub(crate) fn make_readable(connection: &Connection, id: SessionId) -> Result<(), Failure> {
    let usage = to_json("usage", &Usage::default())?;
    connection.execute(
        "UPDATE sessions SET name = NULL, state = 'idle', turn = NULL, turns = max(0, min(turns, \
         4294967295)), \
         model_policy = 'auto', title = NULL, usage = ?2, entries = max(0, entries), \
         events = coalesce((SELECT max(0, max(sequence)) FROM events WHERE session = number), 0) \
         WHERE id = ?1",
        (id.to_string(), usage),
    )?;
    Ok(())
}

fn key(connection: &Connection) -> Result<[u8; 32], Failure> {
    // A key that was lost must not keep anything from being erased.
    connection.execute(
        "INSERT INTO meta (name, value) VALUES ('hash_key', randomblob(32)) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value \
         WHERE typeof(value) <> 'blob' OR length(value) <> 32",
        [],
    )?;
    Ok(
        connection.query_row("SELECT value FROM meta WHERE name = 'hash_key'", [], |row| {
            row.get(0)
        })?,
    )
}

/// The tools the session really had. A model may also have asked for one that it made up: its name is
/// content.
fn tool_names(connection: &Connection, session: i64) -> Result<BTreeSet<String>, Failure> {
    let json: Option<Lenient> = connection
        .query_row("SELECT tools FROM setups WHERE session = ?1", [session], |row| {
            row.get(0)
        })
        .optional()?;
    let tools: Option<Vec<ToolSpec>> = json.and_then(|Lenient(json)| serde_json::from_str(&json?).ok());
    Ok(tools
        .unwrap_or_default()
        .iter()
        .map(|tool| tool.name.as_str().to_owned())
        .collect())
}

fn hash_events(connection: &Connection, session: i64, hashes: &ContentHash) -> Result<(), Failure> {
    let mut select = connection.prepare("SELECT position, kind, body FROM events WHERE session = ?1")?;
    let mut update = connection.prepare("UPDATE events SET body = ?2 WHERE position = ?1")?;
    let mut changed = Vec::new();
    let mut events = select.query([session])?;
    while let Some(row) = events.next()? {
        let position: i64 = row.get(0)?;
        let Lenient(kind) = row.get(1)?;
        let Lenient(body) = row.get(2)?;
        let mut body = body
            .and_then(|body| serde_json::from_str(&body).ok())
            .unwrap_or(Value::Null);
        hashes.replace_in(&mut body, kind.as_deref().unwrap_or_default(), "");
        changed.push((position, to_json("an event", &body)?));
    }
    for (position, body) in changed {
        update.execute((position, body))?;
    }
    Ok(())
}
