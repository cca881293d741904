//! The journal as an index wants it: without texts.

use super::failure::Failure;
use super::memory_queries::journal;
use super::memory_rows::{self as rows, BadBytes, CHANGED_CHUNK, CHANGED_MEMORY};
use super::queries::all;
use super::rows::{Rows, label};
use crate::{Collection, Item, MemoryState, Outline, OutlineQuery, Outlined, OutlinedChange};
use rusqlite::{Connection, Row, named_params};
use std::collections::HashMap;
use tidegate_policy::{MemoryId, SourceId, UserId};

// The journal leads, by its numbers: its part behind one is what is wanted, and usually small. The plus sign keeps SQLite
// from going through all changes of a collection for it.
const MEMORY_OUTLINE: &str = "SELECT j.sequence, m.user, m.chat, m.classification, m.integrity, m.updated_ms, m.language, \
     CASE WHEN m.words_form = :form THEN m.words END, \
     v.model, v.dense, v.sparse, m.memory_id, m.artifact_name, m.importance, m.expires_ms, m.state \
     FROM memory_journal j CROSS JOIN memories m ON m.id = j.id \
     LEFT JOIN memory_vectors v ON j.sequence > :vectors_behind AND v.collection = 0 AND v.id = j.id \
     AND v.model = (SELECT id FROM memory_model) \
     WHERE j.sequence > :after AND j.sequence <= :last AND +j.collection = 0";

const CHUNK_OUTLINE: &str = "SELECT j.sequence, s.user, s.chat, s.classification, s.integrity, c.time_ms, c.language, \
     CASE WHEN c.words_form = :form THEN c.words END, \
     v.model, v.dense, v.sparse, s.source, c.ordinal \
     FROM memory_journal j CROSS JOIN memory_chunks c ON c.id = j.id \
     CROSS JOIN memory_sources s ON s.number = c.source \
     LEFT JOIN memory_vectors v ON j.sequence > :vectors_behind AND v.collection = 1 AND v.id = j.id \
     AND v.model = (SELECT id FROM memory_model) \
     WHERE j.sequence > :after AND j.sequence <= :last AND +j.collection = 1";

/// The journal behind a number.
pub(crate) fn outlines(connection: &Connection, query: OutlineQuery) -> Result<Vec<OutlinedChange>, Failure> {
    // One view: what the journal names is read as it was then.
    let view = connection.unchecked_transaction()?;
    let mut changes: Vec<OutlinedChange> = journal(&view, query.after, query.limit)?
        .into_iter()
        .map(OutlinedChange::from)
        .collect();
    let Some(last) = changes.last().map(|change| change.sequence) else {
        return Ok(changes);
    };
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let (after, last, behind) = (number(query.after), number(last), number(query.vectors_behind));
    let params =
        named_params! { ":after": after, ":last": last, ":form": query.form, ":vectors_behind": behind };
    let mut items: HashMap<u64, Outlined> = HashMap::with_capacity(changes.len());
    let mut unkept = false;
    let mut take = |found: Vec<(u64, Option<Outlined>)>| {
        for (sequence, item) in found {
            match item {
                Some(item) => {
                    items.insert(sequence, item);
                }
                None => unkept = true,
            }
        }
    };
    let has = |collection| changes.iter().any(|change| change.collection == collection);
    if has(Collection::MetaArtifacts) {
        take(all(&view, MEMORY_OUTLINE, params, memory)?);
    }
    if has(Collection::SessionRag) {
        take(all(&view, CHUNK_OUTLINE, params, chunk)?);
    }
    if unkept {
        let params = named_params! { ":after": after, ":last": last, ":form": query.form, ":vectors": true };
        let condition = |table: &str| {
            format!("WHERE j.sequence > :after AND j.sequence <= :last AND {table}.words_form IS NOT :form")
        };
        for memory in all(
            &view,
            &format!("{CHANGED_MEMORY} {}", condition("m")),
            params,
            rows::memory,
        )? {
            items.insert(memory.sequence, Outlined::Whole(Item::Memory(Box::new(memory))));
        }
        for chunk in all(
            &view,
            &format!("{CHANGED_CHUNK} {}", condition("c")),
            params,
            rows::chunk,
        )? {
            items.insert(chunk.sequence, Outlined::Whole(Item::Chunk(Box::new(chunk))));
        }
    }
    for change in &mut changes {
        if let Some(item) = items.remove(&change.sequence) {
            change.item = item;
        }
    }
    Ok(changes)
}

/// None if its words are not kept.
fn memory(row: &Row<'_>) -> Result<(u64, Option<Outlined>), Failure> {
    let rows = Rows {
        table: "memories",
        row: &|| format!("memory {:?}", row.get::<_, String>(11).unwrap_or_default()),
    };
    let sequence = rows.column(row, 0)?;
    let Some(mut outline) = common(&rows, row)? else {
        return Ok((sequence, None));
    };
    if rows.json::<MemoryState>(row, 15)? != MemoryState::Active {
        return Ok((sequence, Some(Outlined::Gone)));
    }
    outline.memory_id = Some(MemoryId::new(rows.column::<String>(row, 11)?));
    outline.artifact_name = Some(rows.column(row, 12)?);
    outline.importance = Some(rows.column(row, 13)?);
    outline.expires_ms = Some(rows.column(row, 14)?);
    Ok((sequence, Some(Outlined::Outline(Box::new(outline)))))
}

/// None if its words are not kept.
fn chunk(row: &Row<'_>) -> Result<(u64, Option<Outlined>), Failure> {
    let rows = Rows {
        table: "memory_chunks",
        row: &|| {
            format!(
                "a chunk of source {:?}",
                row.get::<_, String>(11).unwrap_or_default()
            )
        },
    };
    let sequence = rows.column(row, 0)?;
    let Some(mut outline) = common(&rows, row)? else {
        return Ok((sequence, None));
    };
    outline.source = Some(SourceId::new(rows.column::<String>(row, 11)?));
    outline.ordinal = Some(rows.column(row, 12)?);
    Ok((sequence, Some(Outlined::Outline(Box::new(outline)))))
}

/// What both have, in the same columns; none if the words are not kept.
fn common(rows: &Rows<'_>, row: &Row<'_>) -> Result<Option<Outline>, Failure> {
    let Some(bytes) = rows.column::<Option<Vec<u8>>>(row, 7)? else {
        return Ok(None);
    };
    let length = bytes.len();
    let words = rows::sparse_of(&bytes).ok_or_else(|| {
        rows.damaged(BadBytes {
            column: "words",
            length,
            what: "words",
        })
    })?;
    Ok(Some(Outline {
        user: UserId::new(rows.column::<String>(row, 1)?),
        chat: rows.column::<String>(row, 2)?.into(),
        label: label(row, 3)?,
        source: None,
        ordinal: None,
        memory_id: None,
        artifact_name: None,
        importance: None,
        time_ms: rows.column(row, 5)?,
        expires_ms: None,
        language: rows.column(row, 6)?,
        words,
        vectors: rows::vectors(rows, row, 8)?,
    }))
}
