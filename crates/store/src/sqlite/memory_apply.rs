//! The writes of one commit of memory records, inside the transaction that the writer opened.

use super::failure::Failure;
use super::memory_queries as queries;
use super::memory_rows::{dense_bytes, number, sparse_bytes};
use super::rows::to_json;
use crate::{
    ChunkRecord, Collection, Expected, MemoryPatch, MemoryQuery, MemoryRecord, PointId, RecordWrite,
    RecordsCommit, ResourceRecord, SourceKey, SourceRecord, SparseVector, Vectors,
};
use rusqlite::{Connection, OptionalExtension, named_params};
use tidegate_policy::Label;

/// Why a commit does not happen.
enum Stop {
    Failure(Failure),
    Conflict(PointId),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

/// Applies `writes` in order. After an error or a conflict the caller takes back what happened.
pub(crate) fn apply(connection: &Connection, writes: &[RecordWrite]) -> Result<RecordsCommit, Failure> {
    let mut counts = Vec::with_capacity(writes.len());
    for write in writes {
        match one(connection, write, &counts) {
            Ok(count) => counts.push(count),
            Err(Stop::Conflict(id)) => return Ok(RecordsCommit::Conflict { id }),
            Err(Stop::Failure(failure)) => return Err(failure),
        }
    }
    let sequence = queries::last_sequence(connection)?;
    Ok(RecordsCommit::Done { sequence, counts })
}

/// `before` is how much each write before this one has changed.
fn one(connection: &Connection, write: &RecordWrite, before: &[usize]) -> Result<usize, Stop> {
    match write {
        RecordWrite::PutMemory { record, expected } => put_memory(connection, record, *expected),
        RecordWrite::PatchMemory { id, expected, patch } => patch_memory(connection, *id, *expected, *patch),
        RecordWrite::DeleteMemory { id, expected } => {
            expect(connection, *id, *expected)?;
            let bytes = id.as_bytes().as_slice();
            let count = connection.execute("DELETE FROM memories WHERE id = ?1", [bytes])?;
            connection.execute("DELETE FROM memory_versions WHERE memory = ?1", [bytes])?;
            forget_vectors(connection, Collection::MetaArtifacts, *id)?;
            if count > 0 {
                changed(connection, Collection::MetaArtifacts, *id)?;
            }
            Ok(count)
        }
        RecordWrite::ReplaceSource { source, chunks } => Ok(replace_source(connection, source, chunks)?),
        RecordWrite::DeleteSource(key) => Ok(delete_source(connection, key)?),
        RecordWrite::PurgeChat { user, chat } => Ok(purge(connection, user.as_str(), chat)?),
        RecordWrite::AddResource(resource) => Ok(put_resource(connection, "INSERT OR IGNORE", resource)?),
        RecordWrite::PutResource(resource) => Ok(put_resource(connection, "INSERT OR REPLACE", resource)?),
        RecordWrite::StageVectors {
            collection,
            id,
            sequence,
            vectors,
        } => {
            let found: Option<i64> = sequence_of(connection, *collection, *id)?;
            let is_current = found.is_some_and(|found| u64::try_from(found) == Ok(*sequence))
                && exists(connection, *collection, *id)?;
            if is_current {
                put_vectors(connection, *collection, *id, vectors)?;
            }
            Ok(usize::from(is_current))
        }
        RecordWrite::KeepWords {
            collection,
            id,
            sequence,
            form,
            words,
        } => Ok(keep_words(connection, *collection, *id, *sequence, *form, words)?),
        RecordWrite::SetModel(model) => {
            connection.execute(
                "INSERT INTO memory_model (one, id, dimension, prefixes) VALUES (1, ?1, ?2, ?3) ON CONFLICT (one) \
                 DO UPDATE SET id = excluded.id, dimension = excluded.dimension, prefixes = excluded.prefixes",
                (&model.id, model.dimension, &model.prefixes),
            )?;
            connection.execute("DELETE FROM memory_vectors WHERE model <> ?1", [&model.id])?;
            let memories = connection.execute(
                "INSERT OR REPLACE INTO memory_journal (collection, id) SELECT 0, id FROM memories ORDER BY id",
                [],
            )?;
            let chunks = connection.execute(
                "INSERT OR REPLACE INTO memory_journal (collection, id) SELECT 1, c.id FROM memory_chunks c \
                 JOIN memory_sources s ON s.number = c.source ORDER BY s.user, s.chat, s.source, s.number, c.ordinal",
                [],
            )?;
            Ok(memories.saturating_add(chunks))
        }
        RecordWrite::Erase => {
            if before.iter().any(|count| *count > 0) {
                super::erase::mark(connection)?;
            }
            Ok(0)
        }
        RecordWrite::SetMark { name, value } => {
            let value = i64::try_from(*value).unwrap_or(i64::MAX);
            connection.execute(
                "INSERT INTO memory_marks (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
                (name, value),
            )?;
            Ok(1)
        }
    }
}

/// Numbers a change.
fn changed(connection: &Connection, collection: Collection, id: PointId) -> Result<(), Failure> {
    let sql = "INSERT OR REPLACE INTO memory_journal (collection, id) VALUES (?1, ?2)";
    connection
        .prepare_cached(sql)?
        .execute((number(collection), id.as_bytes().as_slice()))?;
    Ok(())
}

fn sequence_of(connection: &Connection, collection: Collection, id: PointId) -> Result<Option<i64>, Failure> {
    let sql = "SELECT sequence FROM memory_journal WHERE collection = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row((number(collection), id.as_bytes().as_slice()), |row| row.get(0));
    Ok(found.optional()?)
}

fn exists(connection: &Connection, collection: Collection, id: PointId) -> Result<bool, Failure> {
    let sql = match collection {
        Collection::MetaArtifacts => "SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?1)",
        Collection::SessionRag => "SELECT EXISTS (SELECT 1 FROM memory_chunks WHERE id = ?1)",
    };
    Ok(connection
        .prepare_cached(sql)?
        .query_row([id.as_bytes().as_slice()], |row| row.get(0))?)
}

fn expect(connection: &Connection, id: PointId, expected: Expected) -> Result<(), Stop> {
    if expected == Expected::Anything {
        return Ok(());
    }
    let is_there = exists(connection, Collection::MetaArtifacts, id)?;
    let is_expected = match expected {
        Expected::Anything => true,
        Expected::Absent => !is_there,
        Expected::Sequence(wanted) => {
            let found = sequence_of(connection, Collection::MetaArtifacts, id)?;
            is_there && found.is_some_and(|found| u64::try_from(found) == Ok(wanted))
        }
    };
    if is_expected {
        Ok(())
    } else {
        Err(Stop::Conflict(id))
    }
}

fn found(connection: &Connection, id: PointId) -> Result<Option<MemoryRecord>, Failure> {
    let query = MemoryQuery {
        ids: Some(vec![id]),
        ..MemoryQuery::default()
    };
    Ok(queries::memories(connection, &query)?.pop())
}

fn put_memory(connection: &Connection, record: &MemoryRecord, expected: Expected) -> Result<usize, Stop> {
    let id = record.id;
    expect(connection, id, expected)?;
    let (mut version, mut created_ms) = (1, record.created_ms);
    if let Some(earlier) = found(connection, id)? {
        if (earlier.label, &earlier.user, &earlier.memory_id)
            != (record.label, &record.user, &record.memory_id)
        {
            return Err(Stop::Conflict(id));
        }
        version = earlier.version.saturating_add(1);
        created_ms = earlier.created_ms;
        connection
            .prepare_cached(
                "INSERT INTO memory_versions (memory, version, artifact_name, fact, importance, tags, updated_ms, \
                 provenance) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                id.as_bytes().as_slice(),
                earlier.version,
                &earlier.artifact_name,
                &earlier.fact,
                earlier.importance,
                to_json("tags", &earlier.tags)?,
                earlier.updated_ms,
                to_json("a provenance", &earlier.provenance)?,
            ))?;
    }
    let params = named_params! {
        ":id": id.as_bytes().as_slice(),
        ":user": record.user.as_str(),
        ":chat": &*record.chat,
        ":memory_id": record.memory_id.as_str(),
        ":classification": record.label.classification.as_str(),
        ":integrity": record.label.integrity.as_str(),
        ":artifact_name": record.artifact_name,
        ":fact": record.fact,
        ":importance": record.importance,
        ":tags": to_json("tags", &record.tags)?,
        ":language": record.language,
        ":created_ms": created_ms,
        ":updated_ms": record.updated_ms,
        ":expires_ms": record.expires_ms,
        ":provenance": to_json("a provenance", &record.provenance)?,
        ":supersedes": to_json("ids", &record.supersedes)?,
        ":state": to_json("a state", &record.state)?,
        ":version": version,
    };
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO memories (id, user, chat, memory_id, classification, integrity, artifact_name, fact, \
             importance, tags, language, created_ms, updated_ms, expires_ms, provenance, supersedes, state, version) \
             VALUES (:id, :user, :chat, :memory_id, :classification, :integrity, :artifact_name, :fact, :importance, \
             :tags, :language, :created_ms, :updated_ms, :expires_ms, :provenance, :supersedes, :state, :version)",
        )?
        .execute(params)?;
    // Whatever was made of the earlier text is no longer true.
    forget_vectors(connection, Collection::MetaArtifacts, id)?;
    if let Some(vectors) = &record.vectors {
        put_vectors(connection, Collection::MetaArtifacts, id, vectors)?;
    }
    changed(connection, Collection::MetaArtifacts, id)?;
    Ok(1)
}

fn patch_memory(
    connection: &Connection,
    id: PointId,
    expected: Expected,
    patch: MemoryPatch,
) -> Result<usize, Stop> {
    expect(connection, id, expected)?;
    let state = patch.state.map(|state| to_json("a state", &state)).transpose()?;
    let count = connection
        .prepare_cached(
            "UPDATE memories SET updated_ms = max(updated_ms, coalesce(?2, updated_ms)), \
             expires_ms = max(expires_ms, coalesce(?3, expires_ms)), \
             importance = max(importance, coalesce(?4, importance)), state = coalesce(?5, state) WHERE id = ?1",
        )?
        .execute((
            id.as_bytes().as_slice(),
            patch.updated_ms,
            patch.expires_ms,
            patch.importance,
            state,
        ))?;
    if count > 0 {
        changed(connection, Collection::MetaArtifacts, id)?;
    }
    Ok(count)
}

fn put_vectors(
    connection: &Connection,
    collection: Collection,
    id: PointId,
    vectors: &Vectors,
) -> Result<(), Failure> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO memory_vectors (collection, id, model, dense, sparse) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            number(collection),
            id.as_bytes().as_slice(),
            &*vectors.model,
            dense_bytes(&vectors.dense),
            vectors.sparse.as_deref().map(sparse_bytes),
        ))?;
    Ok(())
}

fn keep_words(
    connection: &Connection,
    collection: Collection,
    id: PointId,
    sequence: Option<u64>,
    form: u32,
    words: &SparseVector,
) -> Result<usize, Failure> {
    if let Some(wanted) = sequence {
        let found = sequence_of(connection, collection, id)?;
        if found.is_none_or(|found| u64::try_from(found) != Ok(wanted)) {
            return Ok(0);
        }
    }
    let sql = match collection {
        Collection::MetaArtifacts => "UPDATE memories SET words_form = ?2, words = ?3 WHERE id = ?1",
        Collection::SessionRag => "UPDATE memory_chunks SET words_form = ?2, words = ?3 WHERE id = ?1",
    };
    Ok(connection
        .prepare_cached(sql)?
        .execute((id.as_bytes().as_slice(), form, sparse_bytes(words)))?)
}

fn forget_vectors(connection: &Connection, collection: Collection, id: PointId) -> Result<(), Failure> {
    connection
        .prepare_cached("DELETE FROM memory_vectors WHERE collection = ?1 AND id = ?2")?
        .execute((number(collection), id.as_bytes().as_slice()))?;
    Ok(())
}

fn replace_source(
    connection: &Connection,
    source: &SourceRecord,
    chunks: &[ChunkRecord],
) -> Result<usize, Failure> {
    delete_chunks(connection, &source.key)?;
    let source_number: i64 = connection.query_row(
        "INSERT INTO memory_sources (user, chat, source, classification, integrity, saved_ms, characters, chunks, tags, \
         preview) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING number",
        (
            source.key.user.as_str(),
            &*source.key.chat,
            source.key.source.as_str(),
            source.key.label.classification.as_str(),
            source.key.label.integrity.as_str(),
            source.saved_ms,
            source.characters,
            chunks.len(),
            to_json("tags", &source.tags)?,
            &source.preview,
        ),
        |row| row.get(0),
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO memory_chunks (id, source, ordinal, text, context, language, first_line, last_line, \
         first_character, end_character, time_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for chunk in chunks {
        insert.execute((
            chunk.id.as_bytes().as_slice(),
            source_number,
            chunk.ordinal,
            &chunk.text,
            &chunk.context,
            &chunk.language,
            chunk.lines.0,
            chunk.lines.1,
            chunk.characters.0,
            chunk.characters.1,
            chunk.time_ms,
        ))?;
        if let Some(vectors) = &chunk.vectors {
            put_vectors(connection, Collection::SessionRag, chunk.id, vectors)?;
        }
        changed(connection, Collection::SessionRag, chunk.id)?;
    }
    Ok(chunks.len())
}

/// The condition that a row is of a key.
macro_rules! of_key {
    () => {
        "WHERE user = ?1 AND chat = ?2 AND source = ?3 AND classification = ?4 AND integrity = ?5"
    };
}

/// What the condition compares with.
fn columns(key: &SourceKey) -> (&str, &str, &str, &str, &str) {
    let Label {
        classification,
        integrity,
    } = key.label;
    (
        key.user.as_str(),
        &key.chat,
        key.source.as_str(),
        classification.as_str(),
        integrity.as_str(),
    )
}

/// Deletes a source with its chunks; whether it was there.
fn delete_chunks(connection: &Connection, key: &SourceKey) -> Result<usize, Failure> {
    let source: Option<i64> = connection
        .prepare_cached(concat!("SELECT number FROM memory_sources ", of_key!()))?
        .query_row(columns(key), |row| row.get(0))
        .optional()?;
    let Some(source) = source else { return Ok(0) };
    delete_numbered(connection, source)?;
    Ok(1)
}

/// Deletes a source of this number with its chunks.
fn delete_numbered(connection: &Connection, source: i64) -> Result<(), Failure> {
    for statement in [
        "INSERT OR REPLACE INTO memory_journal (collection, id) SELECT 1, id FROM memory_chunks WHERE source = ?1 \
         ORDER BY ordinal",
        "DELETE FROM memory_vectors WHERE collection = 1 AND id IN (SELECT id FROM memory_chunks WHERE source = ?1)",
        "DELETE FROM memory_chunks WHERE source = ?1",
        "DELETE FROM memory_sources WHERE number = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([source])?;
    }
    Ok(())
}

/// Deletes everything of a conversation, of whatever label, also of one that cannot be read; how many keys there were.
fn purge(connection: &Connection, user: &str, chat: &str) -> Result<usize, Failure> {
    let count = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT source, classification, integrity FROM memory_sources WHERE user = ?1 AND \
             chat = ?2 UNION SELECT source, classification, integrity FROM memory_resources WHERE user = ?1 AND chat = ?2)",
        )?
        .query_row((user, chat), |row| row.get(0))?;
    let sources: Vec<i64> = connection
        .prepare_cached("SELECT number FROM memory_sources WHERE user = ?1 AND chat = ?2")?
        .query_map((user, chat), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for source in sources {
        delete_numbered(connection, source)?;
    }
    connection
        .prepare_cached("DELETE FROM memory_resources WHERE user = ?1 AND chat = ?2")?
        .execute((user, chat))?;
    Ok(count)
}

fn delete_source(connection: &Connection, key: &SourceKey) -> Result<usize, Failure> {
    let resources = connection
        .prepare_cached(concat!("DELETE FROM memory_resources ", of_key!()))?
        .execute(columns(key))?;
    Ok(delete_chunks(connection, key)?.max(resources))
}

fn put_resource(
    connection: &Connection,
    insert: &'static str,
    resource: &ResourceRecord,
) -> Result<usize, Failure> {
    let params = named_params! {
        ":user": resource.key.user.as_str(),
        ":chat": &*resource.key.chat,
        ":source": resource.key.source.as_str(),
        ":filename": resource.filename,
        ":mime_type": resource.mime_type,
        ":bytes": i64::try_from(resource.bytes).unwrap_or(i64::MAX),
        ":classification": resource.key.label.classification.as_str(),
        ":integrity": resource.key.label.integrity.as_str(),
        ":state": to_json("a state", &resource.state)?,
        ":summary": resource.summary,
        ":created_ms": resource.created_ms,
        ":changed_ms": resource.changed_ms,
    };
    Ok(connection
        .prepare_cached(&format!(
            "{insert} INTO memory_resources (user, chat, source, filename, mime_type, bytes, classification, integrity, \
             state, summary, created_ms, changed_ms) VALUES (:user, :chat, :source, :filename, :mime_type, :bytes, \
             :classification, :integrity, :state, :summary, :created_ms, :changed_ms)",
        ))?
        .execute(params)?)
}
