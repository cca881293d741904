//! All items in the order in which they lie in the file: nothing is looked up, and nothing is copied that is not kept.

use super::failure::Failure;
use super::memory_queries::last_sequence;
use super::memory_rows::{BadBytes, collection, id, read_dense, read_sparse, sparse_of};
use super::rows::{Rows, label};
use crate::{Collection, ItemVisitor, MemoryState, ScannedItem, ScannedVectors, VectorsVisitor};
use rusqlite::{Connection, Row};

const MEMORIES: &str = "SELECT id, user, chat, classification, integrity, updated_ms, language, \
     CASE WHEN words_form = ?1 THEN words END, memory_id, artifact_name, importance, expires_ms, state FROM memories";

// SQLite keeps the order of what is crossed; sources are few.
const CHUNKS: &str = "SELECT c.id, s.user, s.chat, s.classification, s.integrity, c.time_ms, c.language, \
     CASE WHEN c.words_form = ?1 THEN c.words END, s.source, c.ordinal \
     FROM memory_chunks c CROSS JOIN memory_sources s ON s.number = c.source";

// The plus sign keeps SQLite from going by the index, whose order is not that of the file.
const VECTORS: &str = "SELECT id, collection, dense, sparse FROM memory_vectors WHERE +model = ?1";

/// All items that count; none if the words of one are not kept in this form.
pub(crate) fn items(
    connection: &Connection,
    form: u32,
    mut visit: ItemVisitor,
) -> Result<Option<u64>, Failure> {
    let view = connection.unchecked_transaction()?;
    let sequence = last_sequence(&view)?;
    let (mut words, mut counts) = (Vec::new(), Vec::new());
    for (collection, sql) in [
        (Collection::MetaArtifacts, MEMORIES),
        (Collection::SessionRag, CHUNKS),
    ] {
        let mut statement = view.prepare_cached(sql)?;
        let mut found = statement.query([form])?;
        while let Some(row) = found.next()? {
            let rows = rows_of(collection, row);
            let rows = Rows {
                table: rows.0,
                row: &rows.1,
            };
            let state = || rows.json::<MemoryState>(row, 12);
            if collection == Collection::MetaArtifacts && state()? != MemoryState::Active {
                continue;
            }
            if !read_words(&rows, row, &mut words, &mut counts)? {
                return Ok(None);
            }
            let mut item = ScannedItem {
                collection,
                id: id(&rows, row, 0)?,
                user: rows.text(row, 1)?,
                chat: rows.text(row, 2)?,
                label: label(row, 3)?,
                source: None,
                ordinal: None,
                memory_id: None,
                artifact_name: None,
                importance: None,
                time_ms: rows.column(row, 5)?,
                expires_ms: None,
                language: rows.text(row, 6)?,
                words: &words,
                counts: &counts,
            };
            match collection {
                Collection::MetaArtifacts => {
                    item.memory_id = Some(rows.text(row, 8)?);
                    item.artifact_name = Some(rows.text(row, 9)?);
                    item.importance = Some(rows.column(row, 10)?);
                    item.expires_ms = Some(rows.column(row, 11)?);
                }
                Collection::SessionRag => {
                    item.source = Some(rows.text(row, 8)?);
                    item.ordinal = Some(rows.column(row, 9)?);
                }
            }
            visit(item);
        }
    }
    Ok(Some(sequence))
}

/// The table, and what to call a row in an error.
fn rows_of<'r>(collection: Collection, row: &'r Row<'_>) -> (&'static str, impl Fn() -> String + 'r) {
    let (table, what) = match collection {
        Collection::MetaArtifacts => ("memories", "memory"),
        Collection::SessionRag => ("memory_chunks", "a chunk of source"),
    };
    let name = move || format!("{what} {:?}", row.get::<_, String>(8).unwrap_or_default());
    (table, name)
}

/// Whether words are kept, which are in `words` and `counts` then.
fn read_words(
    rows: &Rows<'_>,
    row: &Row<'_>,
    words: &mut Vec<u32>,
    counts: &mut Vec<f32>,
) -> Result<bool, Failure> {
    let bytes = row.get_ref(7).map_err(|error| rows.damaged(error))?;
    let bytes = bytes.as_blob_or_null().map_err(|error| rows.damaged(error))?;
    let Some(bytes) = bytes else { return Ok(false) };
    if read_sparse(bytes, words, counts) {
        return Ok(true);
    }
    Err(rows.damaged(BadBytes {
        column: "words",
        length: bytes.len(),
        what: "words",
    }))
}

/// All vectors of a model.
pub(crate) fn vectors(
    connection: &Connection,
    model: &str,
    mut visit: VectorsVisitor,
) -> Result<Option<u64>, Failure> {
    let view = connection.unchecked_transaction()?;
    let sequence = last_sequence(&view)?;
    let mut statement = view.prepare_cached(VECTORS)?;
    let mut found = statement.query([model])?;
    let mut values = Vec::new();
    while let Some(row) = found.next()? {
        let rows = Rows {
            table: "memory_vectors",
            row: &|| "a vector".to_owned(),
        };
        let bytes = rows.blob(row, 2)?;
        let damaged = |column, length| {
            rows.damaged(BadBytes {
                column,
                length,
                what: "a vector",
            })
        };
        if !read_dense(bytes, &mut values) {
            return Err(damaged("dense", bytes.len()));
        }
        let sparse = row.get_ref(3).map_err(|error| rows.damaged(error))?;
        let sparse = match sparse.as_blob_or_null().map_err(|error| rows.damaged(error))? {
            None => None,
            Some(bytes) => Some(sparse_of(bytes).ok_or_else(|| damaged("sparse", bytes.len()))?),
        };
        visit(ScannedVectors {
            collection: collection(&rows, row, 1)?,
            id: id(&rows, row, 0)?,
            dense: &values,
            sparse,
        });
    }
    Ok(Some(sequence))
}
