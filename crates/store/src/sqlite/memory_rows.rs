//! Between columns and the records of memories.

use super::failure::Failure;
use super::rows::{Rows, label};
use crate::{
    ChunkRecord, Collection, MemoryRecord, MemoryVersion, PointId, ResourceRecord, SourceKey, SourceRecord,
    SparseVector, Vectors,
};
use rusqlite::Row;
use std::sync::Arc;
use tidegate_policy::{MemoryId, SourceId, UserId};

macro_rules! memory_columns {
    () => {
        "SELECT m.id, m.user, m.chat, m.memory_id, m.classification, m.integrity, m.artifact_name, m.fact, m.importance, \
         m.tags, m.language, m.created_ms, m.updated_ms, m.expires_ms, m.provenance, m.supersedes, m.state, m.version, \
         j.sequence, v.model, v.dense, v.sparse "
    };
}

macro_rules! chunk_columns {
    () => {
        "SELECT c.id, s.user, s.chat, s.source, s.classification, s.integrity, c.ordinal, c.text, c.context, c.language, \
         c.first_line, c.last_line, c.first_character, c.end_character, c.time_ms, j.sequence, v.model, v.dense, v.sparse "
    };
}

// The model in use decides which vectors are given.
macro_rules! vectors_of {
    ($collection:literal, $id:literal) => {
        concat!(
            " LEFT JOIN memory_vectors v ON :vectors AND v.collection = ",
            $collection,
            " AND v.id = ",
            $id,
            " AND v.model = (SELECT id FROM memory_model) "
        )
    };
}

/// Before a condition on memories. SQLite keeps the order of what is crossed: without, it goes through all changes of a
/// collection.
pub(crate) const MEMORY: &str = concat!(
    memory_columns!(),
    "FROM memories m CROSS JOIN memory_journal j ON j.collection = 0 AND j.id = m.id",
    vectors_of!("0", "m.id")
);

/// Before a condition on the numbers of their changes.
pub(crate) const CHANGED_MEMORY: &str = concat!(
    memory_columns!(),
    "FROM memory_journal j CROSS JOIN memories m ON +j.collection = 0 AND m.id = j.id",
    vectors_of!("0", "m.id")
);

/// Before a condition on chunks or sources.
pub(crate) const CHUNK: &str = concat!(
    chunk_columns!(),
    "FROM memory_chunks c JOIN memory_sources s ON s.number = c.source \
     CROSS JOIN memory_journal j ON j.collection = 1 AND j.id = c.id",
    vectors_of!("1", "c.id")
);

/// Before a condition on the numbers of their changes.
pub(crate) const CHANGED_CHUNK: &str = concat!(
    chunk_columns!(),
    "FROM memory_journal j CROSS JOIN memory_chunks c ON +j.collection = 1 AND c.id = j.id \
     CROSS JOIN memory_sources s ON s.number = c.source",
    vectors_of!("1", "c.id")
);

/// Bytes that are no id or vector.
#[derive(Debug, thiserror::Error)]
#[error("column `{column}` holds {length} bytes, which are none of {what}")]
pub(crate) struct BadBytes {
    pub(crate) column: &'static str,
    pub(crate) length: usize,
    pub(crate) what: &'static str,
}

/// A number that is none of a collection.
#[derive(Debug, thiserror::Error)]
#[error("column `collection` holds {0}, which is no collection")]
struct BadCollection(i64);

/// The number of a collection in the file.
pub(crate) fn number(collection: Collection) -> i64 {
    match collection {
        Collection::MetaArtifacts => 0,
        Collection::SessionRag => 1,
    }
}

/// The collection in a column.
pub(crate) fn collection(rows: &Rows<'_>, row: &Row<'_>, index: usize) -> Result<Collection, Failure> {
    let found: i64 = rows.column(row, index)?;
    let known = [Collection::MetaArtifacts, Collection::SessionRag];
    let known = known.into_iter().find(|collection| number(*collection) == found);
    known.ok_or_else(|| rows.damaged(BadCollection(found)))
}

/// The id in a column.
pub(crate) fn id(rows: &Rows<'_>, row: &Row<'_>, index: usize) -> Result<PointId, Failure> {
    let bytes = rows.blob(row, index)?;
    PointId::from_slice(bytes).map_err(|_| {
        rows.damaged(BadBytes {
            column: "id",
            length: bytes.len(),
            what: "an id",
        })
    })
}

pub(crate) fn memory(row: &Row<'_>) -> Result<MemoryRecord, Failure> {
    let name: Option<String> = row.get(3).ok();
    let rows = Rows {
        table: "memories",
        row: &|| format!("memory {:?}", name.as_deref().unwrap_or("?")),
    };
    Ok(MemoryRecord {
        id: id(&rows, row, 0)?,
        user: UserId::new(rows.column::<String>(row, 1)?),
        chat: rows.column::<String>(row, 2)?.into(),
        memory_id: MemoryId::new(rows.column::<String>(row, 3)?),
        label: label(row, 4)?,
        artifact_name: rows.column(row, 6)?,
        fact: rows.column(row, 7)?,
        importance: rows.column(row, 8)?,
        tags: rows.json(row, 9)?,
        language: rows.column(row, 10)?,
        created_ms: rows.column(row, 11)?,
        updated_ms: rows.column(row, 12)?,
        expires_ms: rows.column(row, 13)?,
        provenance: rows.json(row, 14)?,
        supersedes: rows.json(row, 15)?,
        state: rows.json(row, 16)?,
        version: rows.column(row, 17)?,
        sequence: rows.column(row, 18)?,
        vectors: vectors(&rows, row, 19)?,
    })
}

pub(crate) fn version(row: &Row<'_>) -> Result<MemoryVersion, Failure> {
    let rows = Rows {
        table: "memory_versions",
        row: &|| "an earlier version".to_owned(),
    };
    Ok(MemoryVersion {
        version: rows.column(row, 0)?,
        artifact_name: rows.column(row, 1)?,
        fact: rows.column(row, 2)?,
        importance: rows.column(row, 3)?,
        tags: rows.json(row, 4)?,
        updated_ms: rows.column(row, 5)?,
        provenance: rows.json(row, 6)?,
    })
}

/// The key in five columns: user, chat, source, classification and integrity.
pub(crate) fn key(rows: &Rows<'_>, row: &Row<'_>, index: usize) -> Result<SourceKey, Failure> {
    Ok(SourceKey {
        user: UserId::new(rows.column::<String>(row, index)?),
        chat: rows.column::<String>(row, index + 1)?.into(),
        source: SourceId::new(rows.column::<String>(row, index + 2)?),
        label: label(row, index + 3)?,
    })
}

pub(crate) fn chunk(row: &Row<'_>) -> Result<ChunkRecord, Failure> {
    let source: Option<String> = row.get(3).ok();
    let rows = Rows {
        table: "memory_chunks",
        row: &|| format!("a chunk of source {:?}", source.as_deref().unwrap_or("?")),
    };
    Ok(ChunkRecord {
        id: id(&rows, row, 0)?,
        key: key(&rows, row, 1)?,
        ordinal: rows.column(row, 6)?,
        text: rows.column(row, 7)?,
        context: rows.column(row, 8)?,
        language: rows.column(row, 9)?,
        lines: (rows.column(row, 10)?, rows.column(row, 11)?),
        characters: (rows.column(row, 12)?, rows.column(row, 13)?),
        time_ms: rows.column(row, 14)?,
        sequence: rows.column(row, 15)?,
        vectors: vectors(&rows, row, 16)?,
    })
}

pub(crate) fn source(row: &Row<'_>) -> Result<SourceRecord, Failure> {
    let name: Option<String> = row.get(2).ok();
    let rows = Rows {
        table: "memory_sources",
        row: &|| format!("source {:?}", name.as_deref().unwrap_or("?")),
    };
    Ok(SourceRecord {
        key: key(&rows, row, 0)?,
        saved_ms: rows.column(row, 5)?,
        characters: rows.column(row, 6)?,
        chunks: rows.column(row, 7)?,
        tags: rows.json(row, 8)?,
        preview: rows.column(row, 9)?,
    })
}

pub(crate) fn resource(row: &Row<'_>) -> Result<ResourceRecord, Failure> {
    let name: Option<String> = row.get(2).ok();
    let rows = Rows {
        table: "memory_resources",
        row: &|| format!("resource {:?}", name.as_deref().unwrap_or("?")),
    };
    Ok(ResourceRecord {
        key: key(&rows, row, 0)?,
        filename: rows.column(row, 5)?,
        mime_type: rows.column(row, 6)?,
        bytes: rows.column(row, 7)?,
        state: rows.json(row, 8)?,
        summary: rows.column(row, 9)?,
        created_ms: rows.column(row, 10)?,
        changed_ms: rows.column(row, 11)?,
    })
}

pub(crate) fn vectors(rows: &Rows<'_>, row: &Row<'_>, index: usize) -> Result<Option<Vectors>, Failure> {
    let Some(model) = rows.column::<Option<String>>(row, index)? else {
        return Ok(None);
    };
    let dense = rows.blob(row, index + 1)?;
    let sparse: Option<Vec<u8>> = rows.column(row, index + 2)?;
    let damaged = |column, length| {
        rows.damaged(BadBytes {
            column,
            length,
            what: "a vector",
        })
    };
    let sparse = match sparse {
        None => None,
        Some(bytes) => {
            let length = bytes.len();
            Some(Arc::new(
                sparse_of(&bytes).ok_or_else(|| damaged("sparse", length))?,
            ))
        }
    };
    Ok(Some(Vectors {
        model: model.into(),
        dense: dense_of(dense).ok_or_else(|| damaged("dense", dense.len()))?,
        sparse,
    }))
}

/// The bytes of a dense vector.
pub(crate) fn dense_bytes(dense: &[f32]) -> Vec<u8> {
    dense.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of a sparse vector.
pub(crate) fn sparse_bytes(sparse: &SparseVector) -> Vec<u8> {
    let pairs = sparse.indices.iter().zip(&sparse.values);
    pairs
        .flat_map(|(index, value)| index.to_le_bytes().into_iter().chain(value.to_le_bytes()))
        .collect()
}

fn dense_of(bytes: &[u8]) -> Option<Arc<[f32]>> {
    let mut values = Vec::new();
    read_dense(bytes, &mut values).then(|| values.into())
}

/// Puts the values of a dense vector into `values`, in place of what it held. Whether they are a vector.
pub(crate) fn read_dense(bytes: &[u8], values: &mut Vec<f32>) -> bool {
    values.clear();
    let (parts, rest) = bytes.as_chunks::<4>();
    values.extend(parts.iter().map(|value| f32::from_le_bytes(*value)));
    rest.is_empty()
}

/// The same for the indices and values of a sparse vector.
pub(crate) fn read_sparse(bytes: &[u8], indices: &mut Vec<u32>, values: &mut Vec<f32>) -> bool {
    indices.clear();
    values.clear();
    let (words, rest) = bytes.as_chunks::<4>();
    let (pairs, odd) = words.as_chunks::<2>();
    for [index, value] in pairs {
        indices.push(u32::from_le_bytes(*index));
        values.push(f32::from_le_bytes(*value));
    }
    rest.is_empty() && odd.is_empty()
}

pub(crate) fn sparse_of(bytes: &[u8]) -> Option<SparseVector> {
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    read_sparse(bytes, &mut indices, &mut values).then_some(SparseVector { indices, values })
}
