//! The point of a collection that says how far it is.

use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{
    NamedVectors, PointId as WireId, PointStruct, Value, Vectors, vectors::VectorsOptions,
};
use std::collections::HashMap;
use tidegate_policy::Classification;
use tidegate_store::{ModelRecord, PointId};

/// Its id. It has no vector and no user, so that no search finds it.
const ID: PointId = PointId::from_u128(0x7469_6465_6761_7465_0000_0000_0000_0001);

/// The layout of the collections. Raised when older ones do not meet it.
const FORMAT: i64 = 1;

const FIELDS: [&str; 7] = [
    "tidegate_format",
    "tidegate_position",
    "tidegate_filling",
    "tidegate_model",
    "tidegate_dimension",
    "tidegate_prefixes",
    "tidegate_clearance",
];

/// How far a collection is. It stands in the collection, so that one that was emptied or restored says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Up to which number of the journal every change is in the collection.
    pub(crate) position: u64,
    /// The same in both collections, and another one each time they are made: one of an older making does not pass.
    pub(crate) filling: String,
    pub(crate) model: ModelRecord,
    /// Up to which level it was filled.
    pub(crate) clearance: Classification,
}

pub(crate) fn id() -> WireId {
    ID.to_string().into()
}

impl Marker {
    pub(crate) fn new(model: &ModelRecord, clearance: Classification) -> Self {
        Self {
            position: 0,
            filling: PointId::new_v4().to_string(),
            model: model.clone(),
            clearance,
        }
    }

    pub(crate) fn point(&self) -> PointStruct {
        let number = |number: u64| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
        let values = [
            Value::from(FORMAT),
            number(self.position),
            Value::from(self.filling.as_str()),
            Value::from(self.model.id.as_str()),
            number(self.model.dimension as u64),
            Value::from(self.model.prefixes.as_str()),
            Value::from(self.clearance.as_str()),
        ];
        let named = FIELDS.into_iter().map(str::to_owned).zip(values);
        PointStruct {
            id: Some(id()),
            payload: named.collect(),
            vectors: Some(Vectors {
                vectors_options: Some(VectorsOptions::Vectors(NamedVectors::default())),
            }),
        }
    }

    /// None if it is not one of this format.
    pub(crate) fn of(payload: &HashMap<String, Value>) -> Option<Self> {
        let kind = |field: &str| payload.get(field)?.kind.as_ref();
        let number = |field: &str| match kind(field)? {
            Kind::IntegerValue(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let text = |field: &str| match kind(field)? {
            Kind::StringValue(text) => Some(text.clone()),
            _ => None,
        };
        let [format, position, filling, model, dimension, prefixes, clearance] = FIELDS;
        if number(format) != u64::try_from(FORMAT).ok() {
            return None;
        }
        Some(Self {
            position: number(position)?,
            filling: text(filling)?,
            model: ModelRecord {
                id: text(model)?,
                dimension: usize::try_from(number(dimension)?).ok()?,
                prefixes: text(prefixes)?,
            },
            clearance: text(clearance)?.parse().ok()?,
        })
    }

    /// Whether `other` stands in the other collection of the same filling.
    pub(crate) fn belongs_to(&self, other: &Self) -> bool {
        self.filling == other.filling && self.model == other.model
    }
}
