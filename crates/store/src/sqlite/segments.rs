//! Segments of a session, and how long compaction rests.

use super::failure::Failure;
use super::rows::{Rows, to_json};
use super::session::OpenSession;
use crate::{CompactionRest, NewSegment, Segment, SegmentSizes, StoreError};
use rusqlite::{Connection, OptionalExtension, Row};
use tidegate_message::EntrySeq;
use tidegate_policy::SessionId;

/// Begins a segment.
pub(crate) fn begin(connection: &Connection, session: &OpenSession, new: &NewSegment) -> Result<(), Failure> {
    if let Some(unknown) = new
        .entries
        .iter()
        .find(|seq| seq.0 == 0 || seq.0 > session.entries)
    {
        return Err(StoreError::UnknownEntry {
            session: session.id,
            entry: unknown.0,
        }
        .into());
    }
    let sizes = new.sizes;
    connection
        .prepare_cached(
            "INSERT INTO segments (session, number, turn, at_ms, through, entries, messages_before, \
             messages_after, tokens_before, tokens_after) \
             VALUES (?1, (SELECT coalesce(max(number), 1) + 1 FROM segments WHERE session = ?1), ?2, ?3, ?4, \
             ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            session.number,
            new.turn.to_string(),
            session.changed_ms,
            session.entries,
            to_json("a segment", &new.entries)?,
            sizes.messages_before,
            sizes.messages_after,
            sizes.tokens_before,
            sizes.tokens_after,
        ))?;
    Ok(())
}

/// All segments after the first, in order.
pub(crate) fn segments(connection: &Connection, session: SessionId) -> Result<Vec<Segment>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT number, turn, at_ms, through, entries, messages_before, messages_after, tokens_before, \
         tokens_after FROM segments WHERE session = (SELECT number FROM sessions WHERE id = ?1) ORDER BY number",
    )?;
    let mut found = statement.query([session.to_string()])?;
    let mut segments = Vec::new();
    while let Some(row) = found.next()? {
        segments.push(segment(session, row)?);
    }
    Ok(segments)
}

fn segment(session: SessionId, row: &Row<'_>) -> Result<Segment, Failure> {
    let number: u64 = row.get(0)?;
    let rows = Rows {
        table: "segments",
        row: &|| format!("segment {number} of session {session}"),
    };
    Ok(Segment {
        number,
        at_ms: rows.column(row, 2)?,
        through: EntrySeq(rows.column(row, 3)?),
        made: NewSegment {
            turn: rows.parsed(row, 1)?,
            entries: rows.json(row, 4)?,
            sizes: SegmentSizes {
                messages_before: rows.column(row, 5)?,
                messages_after: rows.column(row, 6)?,
                tokens_before: rows.column(row, 7)?,
                tokens_after: rows.column(row, 8)?,
            },
        },
    })
}

/// Notes how long compaction rests.
pub(crate) fn rest(connection: &Connection, number: i64, rest: CompactionRest) -> Result<(), Failure> {
    connection
        .prepare_cached(
            "INSERT INTO compaction_rests (session, failures, failed_ms) VALUES (?1, ?2, ?3) \
             ON CONFLICT (session) DO UPDATE SET failures = ?2, failed_ms = ?3",
        )?
        .execute((number, rest.failures, rest.failed_at_ms))?;
    Ok(())
}

/// How long compaction rests; not at all if nothing is known.
pub(crate) fn known_rest(connection: &Connection, session: SessionId) -> Result<CompactionRest, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT failures, failed_ms FROM compaction_rests \
         WHERE session = (SELECT number FROM sessions WHERE id = ?1)",
    )?;
    let found = statement
        .query_row([session.to_string()], |row| {
            Ok(CompactionRest {
                failures: row.get(0)?,
                failed_at_ms: row.get(1)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}
