//! The engine itself. Everything that knows `qdrant-edge` is in this file: its API changes with every minor version.
//!
//! What was found out about 0.7.2, and what follows:
//! - It writes a log ahead and never reads it back. What was not flushed is gone after a crash; the journal of the records
//!   has it. The log's numbers must go on rising all the same, since a change with a smaller number than a point has is
//!   taken for an old one and left out without a word: the log is cut at its beginning, never emptied.
//! - It never deletes closed parts of its log: [`Shard::trim_log`] does.
//! - Flushing panics while another thread changes the shard or ends building a graph. One thread does both here, and
//!   nothing is flushed while a graph is built: what is flushed then is not all that was applied.
//! - Killed while a graph was built, the old parts can be there beside the new one, and points in two of them. Searches take
//!   the newer one; counting by number would count both.
//! - Its errors carry backtraces. Only their first line is kept.

use crate::QdrantError;
use crate::cut::Changed;
use crate::error::first_line;
use crate::schema::{Condition, DENSE, FIELDS, FieldKind, LEXICAL, SPARSE, conditions, payload};
use qdrant_edge as edge;
use std::fs;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tidegate_memory::{IndexFilter, IndexHit, IndexPoint, Leg};
use tidegate_store::SparseVector;

/// Of a part of the log. The default would make 190 MB of files before the first point.
const LOG_PART_BYTES: usize = 1024 * 1024;

/// Points that are given to the engine at once: one entry of its log.
const AT_ONCE: usize = 256;

/// Where graphs are built before they are moved to their place.
const UNFINISHED: &str = "temp_segments";

type Bounds = edge::Range<edge::external::ordered_float::OrderedFloat<f64>>;

/// What both collections are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Values of a dense vector.
    pub(crate) dimension: usize,
    /// From how much on a graph is built.
    pub(crate) graph_from_kilobytes: usize,
}

/// One collection.
pub(crate) struct Shard {
    /// Taken out when it is dropped alone.
    edge: Option<edge::EdgeShard>,
    path: PathBuf,
    dimension: usize,
}

impl Shard {
    /// Makes a new one in an empty folder.
    pub(crate) fn create(path: &Path, shape: Shape) -> Result<Self, QdrantError> {
        let shard = guarded("making a collection", || {
            edge::EdgeShard::new(path, configuration(shape))
        })?;
        let shard = Self::of(shard, path, shape);
        for (field, kind) in FIELDS {
            shard.index_field(field, kind)?;
        }
        shard.flush()?;
        Ok(shard)
    }

    /// Opens the one that is there.
    pub(crate) fn load(path: &Path, shape: Shape) -> Result<Self, QdrantError> {
        // What was being built when the process ended is of no use, and would be built again.
        let _nothing_there_is_fine = fs::remove_dir_all(path.join(UNFINISHED));
        let shard = guarded("opening a collection", || {
            edge::EdgeShard::load(path, Some(configuration(shape)))
        })?;
        Ok(Self::of(shard, path, shape))
    }

    fn of(edge: edge::EdgeShard, path: &Path, shape: Shape) -> Self {
        Self {
            edge: Some(edge),
            path: path.to_owned(),
            dimension: shape.dimension,
        }
    }

    fn edge(&self) -> Result<&edge::EdgeShard, QdrantError> {
        self.edge.as_ref().ok_or(QdrantError::NotOpen)
    }

    fn update(&self, action: &'static str, operation: edge::UpdateOperation) -> Result<(), QdrantError> {
        let edge = self.edge()?;
        guarded(action, || edge.update(operation))
    }

    fn index_field(&self, field: &str, kind: FieldKind) -> Result<(), QdrantError> {
        let schema = match kind {
            FieldKind::Tenant => edge::PayloadSchemaParams::Keyword(edge::KeywordIndexParams {
                is_tenant: Some(true),
                ..edge::KeywordIndexParams::default()
            }),
            FieldKind::Keyword => edge::PayloadSchemaParams::Keyword(edge::KeywordIndexParams::default()),
            FieldKind::Integer => edge::PayloadSchemaParams::Integer(edge::IntegerIndexParams {
                lookup: Some(false),
                range: Some(true),
                ..edge::IntegerIndexParams::default()
            }),
        };
        let create = edge::CreateIndex {
            field_name: path_of(field)?,
            field_schema: Some(edge::PayloadFieldSchema::FieldParams(schema)),
        };
        self.update(
            "indexing a field",
            edge::UpdateOperation::FieldIndexOperation(edge::FieldIndexOperations::CreateIndex(create)),
        )
    }

    /// Applies changes. They can be found when it returns.
    pub(crate) fn apply(&self, changed: Changed) -> Result<(), QdrantError> {
        let points: Result<Vec<_>, _> = changed.upserts.iter().map(|point| self.point(point)).collect();
        let mut points = points?.into_iter();
        loop {
            let some: Vec<_> = points.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            let upsert = edge::PointOperations::UpsertPoints(edge::PointInsertOperations::PointsList(some));
            self.update("writing points", edge::UpdateOperation::PointOperation(upsert))?;
        }
        if changed.deletes.is_empty() {
            return Ok(());
        }
        let ids = changed.deletes.into_iter().map(edge::PointId::Uuid).collect();
        let delete = edge::PointOperations::DeletePoints { ids };
        self.update("deleting points", edge::UpdateOperation::PointOperation(delete))
    }

    fn point(&self, point: &IndexPoint) -> Result<edge::PointStructPersisted, QdrantError> {
        let mut vectors = edge::NamedVectors::default();
        if let Some(dense) = &point.dense {
            self.check(dense)?;
            vectors = vectors.add_vector(DENSE, edge::Vector::new_dense(dense.to_vec()));
        }
        let sparse = [
            (SPARSE, point.sparse.as_deref()),
            (LEXICAL, Some(&*point.lexical)),
        ];
        for (name, vector) in sparse {
            if let Some(vector) = vector.filter(|vector| !vector.indices.is_empty()) {
                vectors = vectors.add_vector(name, sparse_vector(vector)?);
            }
        }
        let payload = serde_json::Value::Object(payload(&point.payload));
        Ok(edge::PointStruct::new(edge::PointId::Uuid(point.id), vectors, payload).into())
    }

    fn check(&self, dense: &[f32]) -> Result<(), QdrantError> {
        if dense.len() == self.dimension {
            return Ok(());
        }
        Err(QdrantError::Dimension {
            found: dense.len(),
            expected: self.dimension,
        })
    }

    /// Makes durable what was applied.
    pub(crate) fn flush(&self) -> Result<(), QdrantError> {
        let edge = self.edge()?;
        guarded("writing to the disk", || {
            edge.flush();
            Ok(())
        })
    }

    /// Deletes what was logged before the last flush, as far as the engine does not write to it any more. The newest
    /// closed part stays: the numbers of later entries are counted from it.
    pub(crate) fn trim_log(&self) {
        let Ok(entries) = fs::read_dir(self.path.join("wal")) else {
            return;
        };
        let part = |entry: fs::DirEntry| {
            let number: u64 = entry
                .file_name()
                .to_str()?
                .strip_prefix("closed-")?
                .parse()
                .ok()?;
            Some((number, entry.path()))
        };
        let mut parts: Vec<(u64, PathBuf)> = entries.flatten().filter_map(part).collect();
        parts.sort_unstable();
        parts.pop();
        // Oldest first: the engine does not open a log with a hole in it.
        for (_, path) in parts {
            if let Err(error) = fs::remove_file(&path) {
                tracing::debug!(path = %path.display(), %error, "an old log of the index stays where it is");
                return;
            }
        }
    }

    /// Builds graphs where there are enough points without one. Says whether it did.
    pub(crate) fn optimise(&self) -> Result<bool, QdrantError> {
        let edge = self.edge()?;
        guarded("building a graph", || edge.optimize())
    }

    /// The best `limit` points, in the engine's order.
    pub(crate) fn search(
        &self,
        leg: &Leg,
        filter: &[Condition],
        limit: usize,
    ) -> Result<Vec<IndexHit>, QdrantError> {
        let (name, vector) = match leg {
            Leg::Dense(dense) => {
                self.check(dense)?;
                (DENSE, edge::Vector::new_dense(dense.to_vec()))
            }
            Leg::Sparse(sparse) => (SPARSE, sparse_vector(sparse)?),
        };
        let request = edge::SearchRequest {
            query: edge::QueryEnum::Nearest(edge::NamedQuery::new(vector.into(), name)),
            filter: Some(filter_of(filter)?),
            params: None,
            limit,
            offset: 0,
            with_payload: None,
            with_vector: None,
            score_threshold: None,
        };
        let edge = self.edge()?;
        let found = guarded("searching", || edge.search(request))?;
        let hits = found.into_iter().filter_map(|point| match point.id {
            edge::PointId::Uuid(id) => Some(IndexHit {
                id,
                score: point.score,
            }),
            edge::PointId::NumId(_) => None,
        });
        Ok(hits.collect())
    }

    /// How many points pass.
    pub(crate) fn count(&self, filter: &IndexFilter) -> Result<u64, QdrantError> {
        let Some(filter) = conditions(filter) else {
            return Ok(0);
        };
        let request = edge::ScrollRequest {
            offset: None,
            limit: Some(usize::MAX >> 1),
            filter: Some(filter_of(&filter)?),
            with_payload: Some(edge::WithPayloadInterface::Bool(false)),
            with_vector: edge::WithVector::Bool(false),
            order_by: None,
        };
        let edge = self.edge()?;
        // Each point once, in however many parts of the shard it is.
        let (points, _) = guarded("counting", || edge.scroll(request))?;
        Ok(points.len() as u64)
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        let edge = self.edge.take();
        // Dropping it flushes it, which can panic.
        if let Err(error) = guarded("closing a collection", || {
            drop(edge);
            Ok(())
        }) {
            tracing::warn!(%error, "the index was not closed in order; what it lost is applied again");
        }
    }
}

fn configuration(shape: Shape) -> edge::EdgeConfig {
    let idf = edge::EdgeSparseVectorParamsBuilder::new()
        .modifier(edge::Modifier::Idf)
        .build();
    let product = edge::EdgeSparseVectorParamsBuilder::new().build();
    edge::EdgeConfigBuilder::new()
        .vector(
            DENSE,
            edge::EdgeVectorParamsBuilder::new(shape.dimension, edge::Distance::Cosine).build(),
        )
        .sparse_vector(SPARSE, product)
        .sparse_vector(LEXICAL, idf)
        .optimizers(edge::EdgeOptimizersConfig {
            indexing_threshold: Some(shape.graph_from_kilobytes.max(1)),
            ..edge::EdgeOptimizersConfig::default()
        })
        .wal_options(edge::WalOptions {
            segment_capacity: LOG_PART_BYTES,
            segment_queue_len: 0,
            retain_closed: NonZeroUsize::MIN,
        })
        .build()
}

fn path_of(field: &str) -> Result<edge::JsonPath, QdrantError> {
    field.parse().map_err(|()| QdrantError::Engine {
        action: "naming a field",
        problem: field.to_owned(),
    })
}

fn sparse_vector(vector: &SparseVector) -> Result<edge::Vector, QdrantError> {
    edge::Vector::new_sparse(vector.indices.clone(), vector.values.clone())
        .map_err(|error| engine_error("reading a sparse vector", &error))
}

fn filter_of(filter: &[Condition]) -> Result<edge::Filter, QdrantError> {
    let conditions: Result<Vec<_>, QdrantError> = filter.iter().map(condition).collect();
    Ok(edge::Filter {
        must: Some(conditions?),
        ..edge::Filter::default()
    })
}

fn condition(condition: &Condition) -> Result<edge::Condition, QdrantError> {
    let range = |field, range| Ok(edge::FieldCondition::new_range(path_of(field)?, range));
    let matches = |field, what| Ok(edge::FieldCondition::new_match(path_of(field)?, what));
    let none: Bounds = edge::Range {
        lt: None,
        gt: None,
        gte: None,
        lte: None,
    };
    let field: Result<edge::FieldCondition, QdrantError> = match condition {
        Condition::Is(field, text) => matches(
            *field,
            edge::Match::Value(edge::MatchValue {
                value: edge::ValueVariants::String(text.clone()),
            }),
        ),
        Condition::Any(field, texts) => {
            let any = texts.iter().cloned().collect();
            matches(
                *field,
                edge::Match::Any(edge::MatchAny {
                    any: edge::AnyVariants::Strings(any),
                }),
            )
        }
        Condition::AtLeast(field, least) => range(
            *field,
            edge::Range {
                gte: Some(number(*least)),
                ..none
            },
        ),
        Condition::AtMost(field, most) => range(
            *field,
            edge::Range {
                lte: Some(number(*most)),
                ..none
            },
        ),
        Condition::MoreThan(field, bound) => range(
            *field,
            edge::Range {
                gt: Some(number(*bound)),
                ..none
            },
        ),
    };
    Ok(edge::Condition::Field(field?))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of this age of the universe are exact; others keep their order"
)]
fn number(value: i64) -> edge::external::ordered_float::OrderedFloat<f64> {
    (value as f64).into()
}

/// Runs a call of the engine; a panic inside it is an error, since it panics where other engines answer.
fn guarded<T>(
    action: &'static str,
    call: impl FnOnce() -> edge::OperationResult<T>,
) -> Result<T, QdrantError> {
    // What it was called on is not used again after a panic, except to close it.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(engine_error(action, &error)),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(QdrantError::Panicked {
                action,
                problem: first_line(said.unwrap_or_default()),
            })
        }
    }
}

fn engine_error(action: &'static str, error: &edge::OperationError) -> QdrantError {
    QdrantError::Engine {
        action,
        problem: first_line(&error.to_string()),
    }
}
