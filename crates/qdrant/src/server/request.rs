//! What is sent and what comes back.

use crate::QdrantError;
use crate::schema::{Condition, DENSE, FieldKind, LEXICAL, SPARSE, payload};
use crate::server::settings::ServerSettings;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::{
    self as wire, CreateCollection, CreateFieldIndexCollection, Distance, FieldType, IntegerIndexParams,
    KeywordIndexParams, Modifier, NamedVectors, PayloadIndexParams, PointStruct, QueryPoints,
    ReadConsistency, ReadConsistencyType, ScoredPoint, SparseVectorConfig, SparseVectorParams, Value, Vector,
    VectorParams, VectorParamsMap, Vectors, VectorsConfig, read_consistency, vectors::VectorsOptions,
    vectors_config,
};
use tidegate_memory::{IndexHit, IndexPoint, Leg};
use tidegate_store::{PointId, SparseVector};

pub(crate) fn wire_id(id: PointId) -> wire::PointId {
    id.to_string().into()
}

fn dense(values: &[f32]) -> wire::DenseVector {
    wire::DenseVector {
        data: values.to_vec(),
    }
}

fn sparse(vector: &SparseVector) -> wire::SparseVector {
    wire::SparseVector {
        indices: vector.indices.clone(),
        values: vector.values.clone(),
    }
}

fn vector(vector: wire::vector::Vector) -> Vector {
    Vector {
        vector: Some(vector),
        ..Vector::default()
    }
}

pub(crate) fn point(point: &IndexPoint) -> PointStruct {
    let mut named = NamedVectors::default();
    if let Some(values) = &point.dense {
        let values = wire::vector::Vector::Dense(dense(values));
        named.vectors.insert(DENSE.to_owned(), vector(values));
    }
    for (name, values) in [
        (SPARSE, point.sparse.as_deref()),
        (LEXICAL, Some(&*point.lexical)),
    ] {
        if let Some(values) = values.filter(|values| !values.indices.is_empty()) {
            let values = wire::vector::Vector::Sparse(sparse(values));
            named.vectors.insert(name.to_owned(), vector(values));
        }
    }
    let payload = payload(&point.payload).into_iter();
    PointStruct {
        id: Some(wire_id(point.id)),
        payload: payload
            .map(|(field, value)| (field, Value::from(value)))
            .collect(),
        vectors: Some(Vectors {
            vectors_options: Some(VectorsOptions::Vectors(named)),
        }),
    }
}

pub(crate) fn filter(conditions: &[Condition]) -> wire::Filter {
    let range = |field: &str, range| wire::Condition::range(field, range);
    let number = |number: i64| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "times of this age of the universe are exact"
        )]
        Some(number as f64)
    };
    let condition = |condition: &Condition| match condition {
        Condition::Is(field, text) => wire::Condition::matches(*field, text.clone()),
        Condition::Any(field, texts) => wire::Condition::matches(*field, texts.clone()),
        Condition::AtLeast(field, least) => range(
            field,
            wire::Range {
                gte: number(*least),
                ..wire::Range::default()
            },
        ),
        Condition::AtMost(field, most) => range(
            field,
            wire::Range {
                lte: number(*most),
                ..wire::Range::default()
            },
        ),
        Condition::MoreThan(field, bound) => range(
            field,
            wire::Range {
                gt: number(*bound),
                ..wire::Range::default()
            },
        ),
    };
    wire::Filter::must(conditions.iter().map(condition))
}

pub(crate) fn query(
    collection: &str,
    leg: &Leg,
    conditions: &[Condition],
    limit: usize,
    consistency: Option<ReadConsistency>,
) -> QueryPoints {
    let (name, input) = match leg {
        Leg::Dense(values) => (DENSE, wire::vector_input::Variant::Dense(dense(values))),
        Leg::Sparse(values) => (SPARSE, wire::vector_input::Variant::Sparse(sparse(values))),
    };
    let input = wire::VectorInput { variant: Some(input) };
    QueryPoints {
        collection_name: collection.to_owned(),
        query: Some(wire::Query {
            variant: Some(wire::query::Variant::Nearest(input)),
        }),
        using: Some(name.to_owned()),
        filter: Some(filter(conditions)),
        limit: u64::try_from(limit).ok(),
        read_consistency: consistency,
        ..QueryPoints::default()
    }
}

/// Ids that are no UUIDs are not ours.
pub(crate) fn hits(points: Vec<ScoredPoint>) -> Result<Vec<IndexHit>, QdrantError> {
    let hit = |point: ScoredPoint| {
        let id = match point.id.and_then(|id| id.point_id_options) {
            Some(PointIdOptions::Uuid(id)) => id.parse().ok(),
            _ => None,
        };
        let problem = || QdrantError::Client {
            action: "reading what was found",
            problem: "a point has an id that is not a UUID".to_owned(),
        };
        Ok(IndexHit {
            id: id.ok_or_else(problem)?,
            score: point.score,
        })
    };
    points.into_iter().map(hit).collect()
}

/// With more than one copy of a point, reads ask as many as make sure that one of them has the last write.
pub(crate) fn consistency(settings: &ServerSettings) -> Option<ReadConsistency> {
    (settings.replication > 1).then(|| ReadConsistency {
        value: Some(read_consistency::Value::Type(
            ReadConsistencyType::Majority.into(),
        )),
    })
}

pub(crate) fn create(collection: &str, dimension: usize, settings: &ServerSettings) -> CreateCollection {
    let params = VectorParams {
        size: dimension as u64,
        distance: Distance::Cosine.into(),
        ..VectorParams::default()
    };
    let lexical = SparseVectorParams {
        modifier: Some(Modifier::Idf.into()),
        ..SparseVectorParams::default()
    };
    let sparse = [(SPARSE, SparseVectorParams::default()), (LEXICAL, lexical)];
    CreateCollection {
        collection_name: collection.to_owned(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap {
                map: [(DENSE.to_owned(), params)].into(),
            })),
        }),
        sparse_vectors_config: Some(SparseVectorConfig {
            map: sparse
                .into_iter()
                .map(|(name, params)| (name.to_owned(), params))
                .collect(),
        }),
        shard_number: settings.shards,
        replication_factor: Some(settings.replication),
        write_consistency_factor: Some(settings.acknowledging()),
        ..CreateCollection::default()
    }
}

pub(crate) fn field_index(collection: &str, field: &str, kind: FieldKind) -> CreateFieldIndexCollection {
    let (field_type, params) = match kind {
        FieldKind::Tenant => (
            FieldType::Keyword,
            IndexParams::KeywordIndexParams(KeywordIndexParams {
                is_tenant: Some(true),
                ..KeywordIndexParams::default()
            }),
        ),
        FieldKind::Keyword => (
            FieldType::Keyword,
            IndexParams::KeywordIndexParams(KeywordIndexParams::default()),
        ),
        FieldKind::Integer => (
            FieldType::Integer,
            IndexParams::IntegerIndexParams(IntegerIndexParams {
                lookup: Some(false),
                range: Some(true),
                ..IntegerIndexParams::default()
            }),
        ),
    };
    CreateFieldIndexCollection {
        collection_name: collection.to_owned(),
        wait: Some(true),
        field_name: field.to_owned(),
        field_type: Some(field_type.into()),
        field_index_params: Some(PayloadIndexParams {
            index_params: Some(params),
        }),
        ..CreateFieldIndexCollection::default()
    }
}
