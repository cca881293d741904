//! What a server holds, and how it is searched.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    Condition, CreateCollection, Distance, Filter, Modifier, PointId, PointStruct, Value, vector,
    vector_input,
};
use std::collections::{BTreeMap, HashMap};
use tonic::Status;

/// How a field is indexed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldIndex {
    pub(crate) kind: i32,
    pub(crate) is_tenant: bool,
}

#[derive(Clone, Debug)]
struct Point {
    payload: HashMap<String, Value>,
    dense: BTreeMap<String, Vec<f32>>,
    sparse: BTreeMap<String, Vec<(u32, f32)>>,
}

/// A collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    pub(crate) dense: BTreeMap<String, u64>,
    pub(crate) sparse: BTreeMap<String, bool>,
    pub(crate) fields: BTreeMap<String, FieldIndex>,
    pub(crate) shards: Option<u32>,
    pub(crate) replication: Option<u32>,
    pub(crate) acknowledging: Option<u32>,
    points: BTreeMap<String, Point>,
}

/// All collections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) collections: BTreeMap<String, Collected>,
}

impl Data {
    pub(crate) fn of(&self, name: &str) -> Result<&Collected, Status> {
        self.collections.get(name).ok_or_else(|| missing(name))
    }

    pub(crate) fn of_mut(&mut self, name: &str) -> Result<&mut Collected, Status> {
        self.collections.get_mut(name).ok_or_else(|| missing(name))
    }

    pub(crate) fn create(&mut self, request: CreateCollection) -> Result<(), Status> {
        let name = request.collection_name;
        if self.collections.contains_key(&name) {
            return Err(Status::already_exists(format!(
                "Wrong input: Collection `{name}` already exists!"
            )));
        }
        let Some(Config::ParamsMap(map)) = request.vectors_config.and_then(|config| config.config) else {
            return Err(Status::invalid_argument("no named vectors"));
        };
        let mut made = Collected {
            shards: request.shard_number,
            replication: request.replication_factor,
            acknowledging: request.write_consistency_factor,
            ..Collected::default()
        };
        for (vector, params) in map.map {
            if params.distance != i32::from(Distance::Cosine) || params.size == 0 {
                return Err(Status::invalid_argument("only cosines here"));
            }
            made.dense.insert(vector, params.size);
        }
        for (vector, params) in request.sparse_vectors_config.unwrap_or_default().map {
            made.sparse
                .insert(vector, params.modifier == Some(Modifier::Idf.into()));
        }
        self.collections.insert(name, made);
        Ok(())
    }
}

fn missing(name: &str) -> Status {
    Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
}

pub(crate) fn uuid(id: Option<PointId>) -> Result<String, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Uuid(id)) => Ok(id),
        other => Err(Status::invalid_argument(format!("{other:?} is not a UUID"))),
    }
}

fn normalised(values: &[f32]) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

fn pairs(indices: &[u32], values: &[f32]) -> Result<Vec<(u32, f32)>, Status> {
    let mut pairs: Vec<(u32, f32)> = indices.iter().copied().zip(values.iter().copied()).collect();
    pairs.sort_by_key(|(index, _)| *index);
    let is_unique = pairs.windows(2).all(|two| two[0].0 < two[1].0);
    if indices.len() != values.len() || !is_unique || pairs.is_empty() {
        return Err(Status::invalid_argument("a bad sparse vector"));
    }
    Ok(pairs)
}

impl Collected {
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    pub(crate) fn clear(&mut self) {
        self.points.clear();
    }

    pub(crate) fn upsert(&mut self, point: PointStruct) -> Result<(), Status> {
        let id = uuid(point.id)?;
        let Some(VectorsOptions::Vectors(named)) = point.vectors.and_then(|vectors| vectors.vectors_options)
        else {
            return Err(Status::invalid_argument("Expected some vectors"));
        };
        let mut made = Point {
            payload: point.payload,
            dense: BTreeMap::new(),
            sparse: BTreeMap::new(),
        };
        for (name, vector) in named.vectors {
            match vector.vector {
                Some(vector::Vector::Dense(dense))
                    if self.dense.get(&name) == Some(&(dense.data.len() as u64)) =>
                {
                    made.dense.insert(name, normalised(&dense.data));
                }
                Some(vector::Vector::Sparse(sparse)) if self.sparse.contains_key(&name) => {
                    made.sparse.insert(name, pairs(&sparse.indices, &sparse.values)?);
                }
                _ => return Err(Status::invalid_argument(format!("Wrong input: vector `{name}`"))),
            }
        }
        self.points.insert(id, made);
        Ok(())
    }

    pub(crate) fn delete(&mut self, id: Option<PointId>) -> Result<(), Status> {
        self.points.remove(&uuid(id)?);
        Ok(())
    }

    pub(crate) fn get(&self, id: Option<PointId>) -> Result<Option<&HashMap<String, Value>>, Status> {
        Ok(self.points.get(&uuid(id)?).map(|point| &point.payload))
    }

    pub(crate) fn count(&self, filter: Option<&Filter>) -> Result<u64, Status> {
        let mut count = 0;
        for point in self.points.values() {
            count += u64::from(self.passes(filter, point)?);
        }
        Ok(count)
    }

    /// Best first; of equal score the larger id first, which is the other way round than an index gives them.
    pub(crate) fn search(
        &self,
        using: &str,
        input: &vector_input::Variant,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<(String, f32)>, Status> {
        let mut found = Vec::new();
        for (id, point) in &self.points {
            if !self.passes(filter, point)? {
                continue;
            }
            let score = match input {
                vector_input::Variant::Dense(query)
                    if self.dense.get(using) == Some(&(query.data.len() as u64)) =>
                {
                    let query = normalised(&query.data);
                    point
                        .dense
                        .get(using)
                        .map(|dense| query.iter().zip(dense).map(|(a, b)| a * b).sum())
                }
                vector_input::Variant::Sparse(query) if self.sparse.get(using) == Some(&false) => {
                    let query = pairs(&query.indices, &query.values)?;
                    let shared: Vec<f32> = query
                        .iter()
                        .filter_map(|(index, value)| {
                            let sparse = point.sparse.get(using)?;
                            let place = sparse.binary_search_by_key(index, |(index, _)| *index).ok()?;
                            Some(value * sparse[place].1)
                        })
                        .collect();
                    (!shared.is_empty()).then(|| shared.iter().sum())
                }
                _ => return Err(Status::invalid_argument(format!("Wrong input: vector `{using}`"))),
            };
            found.extend(score.map(|score: f32| (id.clone(), score)));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
        found.truncate(limit);
        Ok(found)
    }

    fn passes(&self, filter: Option<&Filter>, point: &Point) -> Result<bool, Status> {
        let Some(filter) = filter else { return Ok(true) };
        if !filter.should.is_empty() || !filter.must_not.is_empty() || filter.min_should.is_some() {
            return Err(Status::unimplemented("only `must` here"));
        }
        let mut passes = true;
        for condition in &filter.must {
            passes &= self.holds(condition, point)?;
        }
        Ok(passes)
    }

    fn holds(&self, condition: &Condition, point: &Point) -> Result<bool, Status> {
        let Some(ConditionOneOf::Field(field)) = &condition.condition_one_of else {
            return Err(Status::unimplemented("only fields here"));
        };
        if !self.fields.contains_key(&field.key) {
            return Err(Status::invalid_argument(format!("no index of `{}`", field.key)));
        }
        let kind = point
            .payload
            .get(&field.key)
            .and_then(|value| value.kind.as_ref());
        if let Some(matched) = &field.r#match {
            let Some(Kind::StringValue(text)) = kind else {
                return Ok(false);
            };
            return match &matched.match_value {
                Some(MatchValue::Keyword(wanted)) => Ok(text == wanted),
                Some(MatchValue::Keywords(wanted)) => Ok(wanted.strings.contains(text)),
                _ => Err(Status::unimplemented("only keywords here")),
            };
        }
        let (Some(range), Some(Kind::IntegerValue(number))) = (&field.range, kind) else {
            return Ok(false);
        };
        let number = *number as f64;
        Ok(range.gt.is_none_or(|bound| number > bound)
            && range.gte.is_none_or(|bound| number >= bound)
            && range.lt.is_none_or(|bound| number < bound)
            && range.lte.is_none_or(|bound| number <= bound))
    }
}
