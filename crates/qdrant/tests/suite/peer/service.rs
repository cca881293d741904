//! The services.

use super::State;
use super::data::FieldIndex;
use qdrant_client::qdrant as wire;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use std::sync::{Arc, Mutex};
use tonic::{Request, Response, Status};

type Answer<T> = Result<Response<T>, Status>;

#[derive(Clone)]
pub(super) struct Service {
    pub(super) state: Arc<Mutex<State>>,
}

impl Service {
    /// Does it, unless it is its turn to fail.
    fn call<T>(&self, name: &'static str, work: impl FnOnce(&mut State) -> Result<T, Status>) -> Answer<T> {
        let mut state = self.state.lock().unwrap();
        state.calls.push(name);
        let Some(fault) = &mut state.fault else {
            return work(&mut state).map(Response::new);
        };
        if fault.after > 0 {
            fault.after -= 1;
            return work(&mut state).map(Response::new);
        }
        if fault.times == 0 {
            return work(&mut state).map(Response::new);
        }
        fault.times -= 1;
        let (is_done, code) = (fault.is_done, fault.code);
        if is_done {
            work(&mut state)?;
        }
        Err(Status::new(code, "as the test wants it\nwith a second line"))
    }
}

fn done() -> wire::PointsOperationResponse {
    wire::PointsOperationResponse {
        result: Some(wire::UpdateResult {
            operation_id: None,
            status: wire::UpdateStatus::Completed.into(),
        }),
        ..wire::PointsOperationResponse::default()
    }
}

fn must_wait(wait: Option<bool>) -> Result<(), Status> {
    match wait {
        Some(true) => Ok(()),
        _ => Err(Status::invalid_argument(
            "a write that does not wait is not there yet when it is acknowledged",
        )),
    }
}

#[tonic::async_trait]
impl wire::qdrant_server::Qdrant for Service {
    async fn health_check(&self, _: Request<wire::HealthCheckRequest>) -> Answer<wire::HealthCheckReply> {
        self.call("health", |_| {
            Ok(wire::HealthCheckReply {
                title: "a peer for tests".to_owned(),
                version: "1.20.0".to_owned(),
                commit: None,
            })
        })
    }
}

/// Everything that is not asked of it is unimplemented.
macro_rules! service {
    ($trait:path, { $($supported:tt)* } $($name:ident: $request:ident => $response:ident,)*) => {
        #[tonic::async_trait]
        impl $trait for Service {
            $($supported)*
            $(async fn $name(&self, _: Request<wire::$request>) -> Answer<wire::$response> {
                Err(Status::unimplemented(stringify!($name)))
            })*
        }
    };
}

service!(wire::collections_server::Collections, {
    async fn create(&self, request: Request<wire::CreateCollection>) -> Answer<wire::CollectionOperationResponse> {
        self.call("create", |state| {
            state.data.create(request.into_inner())?;
            Ok(wire::CollectionOperationResponse { result: true, time: 0.0 })
        })
    }

    async fn delete(&self, request: Request<wire::DeleteCollection>) -> Answer<wire::CollectionOperationResponse> {
        self.call("delete_collection", |state| {
            let was_there = state.data.collections.remove(&request.into_inner().collection_name).is_some();
            Ok(wire::CollectionOperationResponse { result: was_there, time: 0.0 })
        })
    }

    async fn collection_exists(
        &self,
        request: Request<wire::CollectionExistsRequest>,
    ) -> Answer<wire::CollectionExistsResponse> {
        self.call("exists", |state| {
            let exists = state.data.collections.contains_key(&request.into_inner().collection_name);
            Ok(wire::CollectionExistsResponse {
                result: Some(wire::CollectionExists { exists }),
                time: 0.0,
            })
        })
    }
}
    get: GetCollectionInfoRequest => GetCollectionInfoResponse,
    list: ListCollectionsRequest => ListCollectionsResponse,
    update: UpdateCollection => CollectionOperationResponse,
    update_aliases: ChangeAliases => CollectionOperationResponse,
    list_collection_aliases: ListCollectionAliasesRequest => ListAliasesResponse,
    list_aliases: ListAliasesRequest => ListAliasesResponse,
    collection_cluster_info: CollectionClusterInfoRequest => CollectionClusterInfoResponse,
    update_collection_cluster_setup: UpdateCollectionClusterSetupRequest => UpdateCollectionClusterSetupResponse,
    create_shard_key: CreateShardKeyRequest => CreateShardKeyResponse,
    delete_shard_key: DeleteShardKeyRequest => DeleteShardKeyResponse,
    list_shard_keys: ListShardKeysRequest => ListShardKeysResponse,
);

service!(wire::points_server::Points, {
    async fn upsert(&self, request: Request<wire::UpsertPoints>) -> Answer<wire::PointsOperationResponse> {
        let request = request.into_inner();
        must_wait(request.wait)?;
        self.call("upsert", |state| {
            let collection = state.data.of_mut(&request.collection_name)?;
            for point in request.points {
                collection.upsert(point)?;
            }
            Ok(done())
        })
    }

    async fn delete(&self, request: Request<wire::DeletePoints>) -> Answer<wire::PointsOperationResponse> {
        let request = request.into_inner();
        must_wait(request.wait)?;
        self.call("delete", |state| {
            let Some(PointsSelectorOneOf::Points(list)) =
                request.points.and_then(|selector| selector.points_selector_one_of)
            else {
                return Err(Status::unimplemented("only ids here"));
            };
            let collection = state.data.of_mut(&request.collection_name)?;
            for id in list.ids {
                collection.delete(Some(id))?;
            }
            Ok(done())
        })
    }

    async fn get(&self, request: Request<wire::GetPoints>) -> Answer<wire::GetResponse> {
        let request = request.into_inner();
        self.call("get", |state| {
            let collection = state.data.of(&request.collection_name)?;
            let mut result = Vec::new();
            for id in request.ids {
                let found = collection.get(Some(id.clone()))?;
                result.extend(found.map(|payload| wire::RetrievedPoint {
                    id: Some(id),
                    payload: payload.clone(),
                    ..wire::RetrievedPoint::default()
                }));
            }
            Ok(wire::GetResponse { result, ..wire::GetResponse::default() })
        })
    }

    async fn create_field_index(
        &self,
        request: Request<wire::CreateFieldIndexCollection>,
    ) -> Answer<wire::PointsOperationResponse> {
        let request = request.into_inner();
        must_wait(request.wait)?;
        self.call("index_field", |state| {
            let params = request.field_index_params.and_then(|params| params.index_params);
            let is_tenant = match &params {
                Some(IndexParams::KeywordIndexParams(params)) => params.is_tenant == Some(true),
                _ => false,
            };
            let kind = request.field_type.ok_or_else(|| Status::invalid_argument("no type"))?;
            let collection = state.data.of_mut(&request.collection_name)?;
            collection.fields.insert(request.field_name, FieldIndex { kind, is_tenant });
            Ok(done())
        })
    }

    async fn count(&self, request: Request<wire::CountPoints>) -> Answer<wire::CountResponse> {
        let request = request.into_inner();
        self.call("count", |state| {
            let count = state.data.of(&request.collection_name)?.count(request.filter.as_ref())?;
            Ok(wire::CountResponse {
                result: Some(wire::CountResult { count }),
                ..wire::CountResponse::default()
            })
        })
    }

    async fn query(&self, request: Request<wire::QueryPoints>) -> Answer<wire::QueryResponse> {
        let request = request.into_inner();
        self.call("query", |state| {
            let collection = state.data.of(&request.collection_name)?;
            let Some(wire::query::Variant::Nearest(wire::VectorInput { variant: Some(input) })) =
                request.query.and_then(|query| query.variant)
            else {
                return Err(Status::unimplemented("only the nearest here"));
            };
            let limit = request.limit.unwrap_or(10) as usize;
            let using = request.using.unwrap_or_default();
            let found = collection.search(&using, &input, request.filter.as_ref(), limit)?;
            let point = |(id, score): (String, f32)| wire::ScoredPoint {
                id: Some(id.into()),
                score,
                ..wire::ScoredPoint::default()
            };
            Ok(wire::QueryResponse {
                result: found.into_iter().map(point).collect(),
                ..wire::QueryResponse::default()
            })
        })
    }
}
    update_vectors: UpdatePointVectors => PointsOperationResponse,
    delete_vectors: DeletePointVectors => PointsOperationResponse,
    set_payload: SetPayloadPoints => PointsOperationResponse,
    overwrite_payload: SetPayloadPoints => PointsOperationResponse,
    delete_payload: DeletePayloadPoints => PointsOperationResponse,
    clear_payload: ClearPayloadPoints => PointsOperationResponse,
    delete_field_index: DeleteFieldIndexCollection => PointsOperationResponse,
    create_vector_name: CreateVectorNameRequest => PointsOperationResponse,
    delete_vector_name: DeleteVectorNameRequest => PointsOperationResponse,
    search: SearchPoints => SearchResponse,
    search_batch: SearchBatchPoints => SearchBatchResponse,
    search_groups: SearchPointGroups => SearchGroupsResponse,
    scroll: ScrollPoints => ScrollResponse,
    recommend: RecommendPoints => RecommendResponse,
    recommend_batch: RecommendBatchPoints => RecommendBatchResponse,
    recommend_groups: RecommendPointGroups => RecommendGroupsResponse,
    discover: DiscoverPoints => DiscoverResponse,
    discover_batch: DiscoverBatchPoints => DiscoverBatchResponse,
    update_batch: UpdateBatchPoints => UpdateBatchResponse,
    query_batch: QueryBatchPoints => QueryBatchResponse,
    query_groups: QueryPointGroups => QueryGroupsResponse,
    facet: FacetCounts => FacetResponse,
    search_matrix_pairs: SearchMatrixPoints => SearchMatrixPairsResponse,
    search_matrix_offsets: SearchMatrixPoints => SearchMatrixOffsetsResponse,
);
