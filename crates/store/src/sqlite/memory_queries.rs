//! What is asked of the records of memories.

use super::failure::Failure;
use super::memory_rows::{self as rows, CHANGED_CHUNK, CHANGED_MEMORY, CHUNK, MEMORY};
use super::queries::{all, first};
use super::rows::to_json;
use crate::{
    Change, ChunkQuery, ChunkRecord, Collection, Item, MemoryQuery, MemoryRecord, MemoryVersion, ModelRecord,
    PointId, RecordsStatistics, ResourceRecord, SourceQuery, SourceRecord, UnstagedQuery, Vectors,
};
use rusqlite::{Connection, named_params};

/// Ids as JSON, for a condition with any number of them. Blobs come back by `unhex`.
fn ids_json(ids: &[PointId]) -> Result<String, Failure> {
    let texts: Vec<String> = ids.iter().map(|id| id.simple().to_string()).collect();
    to_json("ids", &texts)
}

fn optional_ids(ids: Option<&Vec<PointId>>) -> Result<Option<String>, Failure> {
    ids.map(|ids| ids_json(ids)).transpose()
}

/// The condition that a column is what is asked for, if something is.
fn is(column: &str, parameter: &str, is_asked: bool) -> String {
    if is_asked {
        format!("{column} = {parameter}")
    } else {
        format!("{parameter} IS NULL")
    }
}

/// The rank of the level in a column, so that rows come in the order of their keys.
macro_rules! level {
    ($column:literal) => {
        concat!(
            "CASE ",
            $column,
            " WHEN 'PUBLIC' THEN 0 WHEN 'INTERNAL' THEN 1 WHEN 'CONFIDENTIAL' THEN 2 ELSE 3 END"
        )
    };
}

/// Memories.
pub(crate) fn memories(connection: &Connection, query: &MemoryQuery) -> Result<Vec<MemoryRecord>, Failure> {
    let params = named_params! {
        ":vectors": query.vectors,
        ":ids": optional_ids(query.ids.as_ref())?,
        ":user": query.user.as_ref().map(|user| user.as_str()),
        ":memory_id": query.memory_id.as_ref().map(|id| id.as_str()),
    };
    all(connection, &memories_sql(query), params, rows::memory)
}

/// Only what is asked for: with a choice in it, no condition could be looked up.
fn memories_sql(query: &MemoryQuery) -> String {
    let has_ids = query.ids.is_some();
    let by_id = if has_ids {
        "m.id IN (SELECT unhex(value) FROM json_each(:ids))"
    } else {
        ":ids IS NULL"
    };
    // A plus sign keeps SQLite from going through all memories of the user to find some ids.
    let (user, memory_id) = if has_ids {
        ("+m.user", "+m.memory_id")
    } else {
        ("m.user", "m.memory_id")
    };
    let by_user = is(user, ":user", query.user.is_some());
    let by_name = is(memory_id, ":memory_id", query.memory_id.is_some());
    format!("{MEMORY} WHERE {by_id} AND {by_user} AND {by_name} ORDER BY m.id")
}

/// The earlier versions of a memory.
pub(crate) fn history(connection: &Connection, id: PointId) -> Result<Vec<MemoryVersion>, Failure> {
    let sql = "SELECT version, artifact_name, fact, importance, tags, updated_ms, provenance FROM memory_versions \
               WHERE memory = ?1 ORDER BY version";
    all(connection, sql, [id.as_bytes().as_slice()], rows::version)
}

/// Chunks.
pub(crate) fn chunks(connection: &Connection, query: &ChunkQuery) -> Result<Vec<ChunkRecord>, Failure> {
    let sql = chunks_sql(query);
    let params = named_params! {
        ":vectors": query.vectors,
        ":ids": optional_ids(query.ids.as_ref())?,
        ":user": query.user.as_ref().map(|user| user.as_str()),
        ":chat": query.chat.as_deref(),
        ":source": query.source.as_ref().map(|source| source.as_str()),
        ":classification": query.label.map(|label| label.classification.as_str()),
        ":integrity": query.label.map(|label| label.integrity.as_str()),
        ":from": query.ordinals.as_ref().map(|range| range.start),
        ":to": query.ordinals.as_ref().map(|range| range.end),
    };
    all(connection, &sql, params, rows::chunk)
}

/// As with memories: some ids are looked up, and not all chunks of a user gone through for them.
fn chunks_sql(query: &ChunkQuery) -> String {
    let has_ids = query.ids.is_some();
    let by_id = if has_ids {
        "c.id IN (SELECT unhex(value) FROM json_each(:ids))"
    } else {
        ":ids IS NULL"
    };
    let (user, chat, source) = if has_ids {
        ("+s.user", "+s.chat", "+s.source")
    } else {
        ("s.user", "s.chat", "s.source")
    };
    let by_user = is(user, ":user", query.user.is_some());
    let by_chat = is(chat, ":chat", query.chat.is_some());
    let by_source = is(source, ":source", query.source.is_some());
    format!(
        "{CHUNK} WHERE {by_id} AND {by_user} AND {by_chat} AND {by_source} AND (:from IS NULL OR c.ordinal >= :from) \
         AND (:to IS NULL OR c.ordinal < :to) AND (:classification IS NULL OR s.classification = :classification) \
         AND (:integrity IS NULL OR s.integrity = :integrity) \
         ORDER BY s.user, s.chat, s.source, {LEVEL}, s.integrity, c.ordinal",
        LEVEL = level!("s.classification"),
    )
}

/// Vectors of the model in use.
pub(crate) fn vectors(
    connection: &Connection,
    collection: Collection,
    ids: &[PointId],
) -> Result<Vec<(PointId, Vectors)>, Failure> {
    let sql = "SELECT id, model, dense, sparse FROM memory_vectors WHERE collection = ?1 \
               AND id IN (SELECT unhex(value) FROM json_each(?2)) AND model = (SELECT id FROM memory_model)";
    let found = all(
        connection,
        sql,
        (rows::number(collection), ids_json(ids)?),
        |row| {
            let rows = super::rows::Rows {
                table: "memory_vectors",
                row: &|| "a vector".to_owned(),
            };
            Ok((rows::id(&rows, row, 0)?, rows::vectors(&rows, row, 1)?))
        },
    )?;
    Ok(found
        .into_iter()
        .filter_map(|(id, vectors)| Some((id, vectors?)))
        .collect())
}

const OF_SOURCE: &str = concat!(
    "WHERE (:user IS NULL OR user = :user) AND (:chat IS NULL OR chat = :chat) \
     AND (:source IS NULL OR source = :source) AND (:classification IS NULL OR classification = :classification) \
     AND (:integrity IS NULL OR integrity = :integrity) ORDER BY user, chat, source, ",
    level!("classification"),
    ", integrity"
);

/// Sources.
pub(crate) fn sources(connection: &Connection, query: &SourceQuery) -> Result<Vec<SourceRecord>, Failure> {
    let sql = format!(
        "SELECT user, chat, source, classification, integrity, saved_ms, characters, chunks, tags, preview \
         FROM memory_sources {OF_SOURCE}"
    );
    let params = named_params! {
        ":user": query.user.as_ref().map(|user| user.as_str()),
        ":chat": query.chat.as_deref(),
        ":source": query.source.as_ref().map(|source| source.as_str()),
        ":classification": query.label.map(|label| label.classification.as_str()),
        ":integrity": query.label.map(|label| label.integrity.as_str()),
    };
    all(connection, &sql, params, rows::source)
}

/// Rows of the registry.
pub(crate) fn resources(
    connection: &Connection,
    query: &SourceQuery,
) -> Result<Vec<ResourceRecord>, Failure> {
    let sql = format!(
        "SELECT user, chat, source, classification, integrity, filename, mime_type, bytes, state, summary, created_ms, \
         changed_ms FROM memory_resources {OF_SOURCE}"
    );
    let params = named_params! {
        ":user": query.user.as_ref().map(|user| user.as_str()),
        ":chat": query.chat.as_deref(),
        ":source": query.source.as_ref().map(|source| source.as_str()),
        ":classification": query.label.map(|label| label.classification.as_str()),
        ":integrity": query.label.map(|label| label.integrity.as_str()),
    };
    all(connection, &sql, params, rows::resource)
}

/// The model in use.
pub(crate) fn model(connection: &Connection) -> Result<Option<ModelRecord>, Failure> {
    first(
        connection,
        "SELECT id, dimension, prefixes FROM memory_model",
        [],
        |row| {
            let read = || {
                Ok(ModelRecord {
                    id: row.get(0)?,
                    dimension: row.get(1)?,
                    prefixes: row.get(2)?,
                })
            };
            read().map_err(|error: rusqlite::Error| Failure::damaged("memory_model", "the model", error))
        },
    )
}

/// Items without vectors of a model.
pub(crate) fn unstaged(connection: &Connection, query: &UnstagedQuery) -> Result<Vec<Item>, Failure> {
    let (select, table) = match query.collection {
        Collection::MetaArtifacts => (MEMORY, "m"),
        Collection::SessionRag => (CHUNK, "c"),
    };
    let sql = format!(
        "{select} WHERE (:after IS NULL OR {table}.id > :after) AND NOT EXISTS (SELECT 1 FROM memory_vectors w \
         WHERE w.collection = :collection AND w.id = {table}.id AND w.model = :model) ORDER BY {table}.id LIMIT :limit"
    );
    let after = query.after.map(|id| id.as_bytes().to_vec());
    let params = named_params! {
        ":vectors": false,
        ":after": after,
        ":collection": rows::number(query.collection),
        ":model": query.model,
        ":limit": i64::try_from(query.limit).unwrap_or(i64::MAX),
    };
    match query.collection {
        Collection::MetaArtifacts => all(connection, &sql, params, |row| {
            Ok(Item::Memory(Box::new(rows::memory(row)?)))
        }),
        Collection::SessionRag => all(connection, &sql, params, |row| {
            Ok(Item::Chunk(Box::new(rows::chunk(row)?)))
        }),
    }
}

/// A number by name.
pub(crate) fn mark(connection: &Connection, name: &str) -> Result<Option<u64>, Failure> {
    first(
        connection,
        "SELECT value FROM memory_marks WHERE name = ?1",
        [name],
        |row| Ok(row.get(0)?),
    )
}

/// The journal behind a number, without items.
pub(crate) fn journal(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Change>, Failure> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql =
        "SELECT sequence, collection, id FROM memory_journal WHERE sequence > ?1 ORDER BY sequence LIMIT ?2";
    all(connection, sql, (after, limit), |row| {
        let rows = super::rows::Rows {
            table: "memory_journal",
            row: &|| "a change".to_owned(),
        };
        let collection: i64 = rows.column(row, 1)?;
        Ok(Change {
            sequence: rows.column(row, 0)?,
            collection: if collection == 0 {
                Collection::MetaArtifacts
            } else {
                Collection::SessionRag
            },
            id: rows::id(&rows, row, 2)?,
            item: None,
        })
    })
}

/// The journal behind a number.
pub(crate) fn changes(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Change>, Failure> {
    // One view: what the journal names is read as it was then.
    let view = connection.unchecked_transaction()?;
    let mut changes = journal(&view, after, limit)?;
    let Some(last) = changes.last().map(|change| change.sequence) else {
        return Ok(changes);
    };
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let params = named_params! { ":vectors": true, ":after": after, ":last": last };
    // By the numbers of the journal, and not through all changes of a collection.
    let condition = "WHERE j.sequence > :after AND j.sequence <= :last";
    let mut items = std::collections::BTreeMap::new();
    for memory in all(
        &view,
        &format!("{CHANGED_MEMORY} {condition}"),
        params,
        rows::memory,
    )? {
        items.insert(memory.sequence, Item::Memory(Box::new(memory)));
    }
    for chunk in all(
        &view,
        &format!("{CHANGED_CHUNK} {condition}"),
        params,
        rows::chunk,
    )? {
        items.insert(chunk.sequence, Item::Chunk(Box::new(chunk)));
    }
    for change in &mut changes {
        change.item = items.remove(&change.sequence);
    }
    Ok(changes)
}

/// How much there is.
pub(crate) fn statistics(connection: &Connection) -> Result<RecordsStatistics, Failure> {
    let sql = "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM memory_chunks), \
               (SELECT count(*) FROM memory_sources), (SELECT coalesce(max(sequence), 0) FROM memory_journal)";
    let found = first(connection, sql, [], |row| {
        Ok(RecordsStatistics {
            memories: row.get(0)?,
            chunks: row.get(1)?,
            sources: row.get(2)?,
            sequence: row.get(3)?,
        })
    })?;
    Ok(found.unwrap_or_default())
}

/// The last number of the journal.
pub(crate) fn last_sequence(connection: &Connection) -> Result<u64, Failure> {
    let found = first(
        connection,
        "SELECT coalesce(max(sequence), 0) FROM memory_journal",
        [],
        |row| Ok(row.get(0)?),
    )?;
    Ok(found.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{ChunkQuery, MemoryQuery, PointId, chunks_sql, memories_sql};
    use crate::sqlite::connection::open_memory;
    use std::path::Path;

    /// How SQLite goes about it: one line for each step.
    fn plan(sql: &str) -> String {
        let connection = open_memory(Path::new("store.sqlite")).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        steps.join("\n")
    }

    #[test]
    fn ids_are_looked_up_whatever_else_is_asked() {
        let ids = Some(vec![PointId::nil()]);
        let memories = MemoryQuery {
            user: Some("ada".into()),
            memory_id: Some("m".into()),
            ids: ids.clone(),
            vectors: true,
        };
        let chunks = ChunkQuery {
            user: Some("ada".into()),
            chat: Some("c".into()),
            source: Some("s".into()),
            ids,
            ..ChunkQuery::default()
        };
        for (plan, looked_up) in [
            (
                plan(&memories_sql(&memories)),
                "SEARCH m USING INDEX sqlite_autoindex_memories_1 (id=?)",
            ),
            (
                plan(&chunks_sql(&chunks)),
                "SEARCH c USING INDEX sqlite_autoindex_memory_chunks_1 (id=?)",
            ),
        ] {
            assert!(plan.contains(looked_up), "{plan}");
            assert!(
                !plan
                    .lines()
                    .any(|step| ["SCAN m", "SCAN c", "SCAN s"].contains(&step)),
                "{plan}"
            );
        }
    }
}
