//! Search in messages: an index of the sessions that were searched, brought up to date before each search.

use super::failure::Failure;
use super::rows::{self, ENTRY};
use crate::words;
use rusqlite::{Connection, OptionalExtension};
use std::sync::Arc;
use tidegate_message::Entry;
use tidegate_policy::SessionId;

/// Takes the messages of a session into the index that are not in it yet.
pub(crate) fn bring_up_to_date(connection: &Connection, session: SessionId) -> Result<(), Failure> {
    let known: Option<(i64, u64)> = connection
        .prepare_cached(
            "SELECT number, coalesce((SELECT through FROM indexed_messages WHERE session = number), 0) \
             FROM sessions WHERE id = ?1 AND state <> 'erased'",
        )?
        .query_row([session.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((number, through)) = known else {
        return Ok(());
    };
    let sql = format!("{ENTRY} WHERE session = ?1 AND seq > ?2 ORDER BY seq");
    let mut select = connection.prepare_cached(&sql)?;
    let mut insert =
        connection.prepare_cached("INSERT INTO message_words (words, session, seq) VALUES (?1, ?2, ?3)")?;
    let mut found = select.query((number, through))?;
    let mut last = None;
    while let Some(row) = found.next()? {
        let entry = rows::entry(session, row)?;
        let text = words::words(&words::text_of(&entry)).join(" ");
        insert.execute((text, number, entry.seq.0))?;
        last = Some(entry.seq.0);
    }
    if let Some(last) = last {
        connection
            .prepare_cached(
                "INSERT INTO indexed_messages (session, through) VALUES (?1, ?2) \
                 ON CONFLICT (session) DO UPDATE SET through = ?2",
            )?
            .execute((number, last))?;
    }
    Ok(())
}

/// The messages of a session with all that is asked for, oldest first, as far as they are in the index.
pub(crate) fn search(
    connection: &Connection,
    session: SessionId,
    text: &str,
) -> Result<Vec<Arc<Entry>>, Failure> {
    let asked = words::rows(text);
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    // Words have no quotes in them, so nothing of what is asked is read as the index's own language.
    let phrases: Vec<String> = asked
        .iter()
        .map(|row| format!("\"{}\" *", row.join(" ")))
        .collect();
    let sql = format!(
        "{ENTRY} WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND seq IN (SELECT seq FROM \
         message_words WHERE message_words MATCH ?2 AND session = (SELECT number FROM sessions WHERE id = ?1)) \
         ORDER BY seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query((session.to_string(), phrases.join(" AND ")))?;
    let mut entries = Vec::new();
    while let Some(row) = found.next()? {
        entries.push(Arc::new(rows::entry(session, row)?));
    }
    Ok(entries)
}
