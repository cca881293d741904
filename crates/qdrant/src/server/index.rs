//! The index, for the memory.

use super::connection::Connection;
use super::marker::{self, Marker};
use super::request;
use super::settings::ServerSettings;
use crate::QdrantError;
use crate::cut::{Changed, Cut, Next, by_collection};
use crate::schema::{FIELDS, conditions};
use qdrant_client::qdrant::{
    CountPoints, DeletePoints, GetPoints, PointStruct, PointsIdsList, PointsSelector, UpsertPoints,
    points_selector::PointsSelectorOneOf,
};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use tidegate_memory::{IndexChange, IndexError, IndexFilter, IndexHit, IndexSearch, Leg, VectorIndex};
use tidegate_policy::Classification;
use tidegate_store::{Collection, ModelRecord};
use tidegate_tools::BoxFuture;

/// Points that are sent at once: 1.5 MB of vectors of 1,024 values. Servers take up to 32 MB.
const AT_ONCE: usize = 256;

/// A Qdrant server, one node or a cluster, over gRPC.
///
/// Writes are acknowledged when the server has them. How far a collection is stands in the collection, and is read again
/// with every call: one that was emptied, deleted or restored while it was in use says so at once, however short the server
/// was away. Calls that failed because the server was away or busy are tried again, a few times; then the index counts as
/// away.
///
/// What is sent: ids, vectors, numbers of words, and the fields that are filtered, among them the names of users, sessions
/// and sources. No text. [`ServerSettings::clearance`] is the highest level of it.
pub struct ServerIndex {
    settings: ServerSettings,
    connection: Connection,
    /// What the collections say; none if they were not looked at yet, or said something else than they should.
    known: Mutex<Option<Marker>>,
}

impl ServerIndex {
    /// For this server. It is connected to when the index is opened by a memory, on a tokio runtime.
    ///
    /// # Errors
    /// [`QdrantError::Address`] and [`QdrantError::Setting`].
    pub fn connect(settings: ServerSettings) -> Result<Self, QdrantError> {
        Ok(Self {
            connection: Connection::new(&settings)?,
            settings,
            known: Mutex::default(),
        })
    }

    fn set_known(&self, marker: Option<Marker>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = marker;
    }

    fn known(&self) -> Result<Marker, IndexError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone().ok_or_else(|| self.failed(QdrantError::NotOpen))
    }

    fn of(&self, collection: Collection) -> String {
        format!("{}{}", self.settings.prefix, collection.as_str())
    }

    fn failed(&self, error: QdrantError) -> IndexError {
        error.of(self.connection.name())
    }

    /// None if there is no such collection, or nobody of us made it.
    async fn marker(&self, collection: Collection) -> Result<Option<Marker>, IndexError> {
        let request = GetPoints {
            collection_name: self.of(collection),
            ids: vec![marker::id()],
            with_payload: Some(true.into()),
            read_consistency: request::consistency(&self.settings),
            ..GetPoints::default()
        };
        let found = self.connection.find("reading a position", |client| {
            let request = request.clone();
            async move { client.get_points(request).await }
        });
        let points = found.await?.map(|answer| answer.result).unwrap_or_default();
        Ok(points.first().and_then(|point| Marker::of(&point.payload)))
    }

    async fn markers(&self) -> Result<[Option<Marker>; 2], IndexError> {
        let [memories, chunks] = Collection::ALL;
        let (memories, chunks) = tokio::try_join!(self.marker(memories), self.marker(chunks))?;
        Ok([memories, chunks])
    }

    /// What both collections say; none if they do not belong together, or one of them is not ours.
    async fn common_marker(&self) -> Result<Option<Marker>, IndexError> {
        Ok(match self.markers().await? {
            [Some(first), Some(second)] if first.belongs_to(&second) => Some(Marker {
                position: first.position.min(second.position),
                ..first
            }),
            _ => None,
        })
    }

    async fn open_for(&self, model: &ModelRecord) -> Result<(), IndexError> {
        let server = self.connection.health().await?;
        tracing::debug!(
            index = self.connection.name(),
            version = server.version,
            "the index answers"
        );
        let Some(marker) = self.common_marker().await? else {
            tracing::info!(
                index = self.connection.name(),
                "the collections of the index are made"
            );
            return self.make(model).await;
        };
        if marker.model != *model {
            return Err(IndexError::OtherModel {
                index: self.connection.name().to_owned(),
                found: marker.model.id,
                wanted: model.id.clone(),
            });
        }
        if marker.clearance != self.settings.clearance {
            tracing::warn!(
                index = self.connection.name(),
                was = marker.clearance.as_str(),
                now = self.settings.clearance.as_str(),
                "the clearance of the index has changed; it is emptied and filled again"
            );
            return self.make(model).await;
        }
        self.set_known(Some(marker));
        Ok(())
    }

    /// Makes both collections anew.
    async fn make(&self, model: &ModelRecord) -> Result<(), IndexError> {
        self.set_known(None);
        for collection in Collection::ALL {
            self.check_ours(collection).await?;
        }
        let marker = Marker::new(model, self.settings.clearance);
        for collection in Collection::ALL {
            self.make_one(collection, &marker).await?;
        }
        self.set_known(Some(marker));
        Ok(())
    }

    /// A collection with points that is not one of ours is not deleted.
    async fn check_ours(&self, collection: Collection) -> Result<(), IndexError> {
        if self.marker(collection).await?.is_some() {
            return Ok(());
        }
        let request = CountPoints {
            collection_name: self.of(collection),
            exact: Some(true),
            ..CountPoints::default()
        };
        let counted = self.connection.find("counting points", |client| {
            let request = request.clone();
            async move { client.count(request).await }
        });
        match counted.await?.and_then(|answer| answer.result) {
            Some(counted) if counted.count > 0 => Err(self.failed(QdrantError::ForeignCollection {
                collection: self.of(collection),
                points: counted.count,
            })),
            _ => Ok(()),
        }
    }

    async fn make_one(&self, collection: Collection, marker: &Marker) -> Result<(), IndexError> {
        let name = self.of(collection);
        let delete = self.connection.find("deleting a collection", |client| {
            let name = name.clone();
            async move { client.delete_collection(name).await }
        });
        delete.await?;
        let create = request::create(&name, marker.model.dimension, &self.settings);
        let created = self.connection.call("making a collection", |client| {
            let create = create.clone();
            async move { client.create_collection(create).await }
        });
        if let Err(error) = created.await {
            // Made by a call whose answer was lost, it is there already.
            let there = self.connection.call("looking for a collection", |client| {
                let name = name.clone();
                async move { client.collection_exists(name).await }
            });
            if !there.await? {
                return Err(error);
            }
        }
        for (field, kind) in FIELDS {
            let index = request::field_index(&name, field, kind);
            let indexed = self.connection.call("indexing a field", |client| {
                let index = index.clone();
                async move { client.create_field_index(index).await }
            });
            indexed.await?;
        }
        self.upsert(collection, vec![marker.point()]).await
    }

    async fn upsert(&self, collection: Collection, points: Vec<PointStruct>) -> Result<(), IndexError> {
        let request = UpsertPoints {
            collection_name: self.of(collection),
            wait: Some(true),
            points,
            ..UpsertPoints::default()
        };
        let done = self.connection.call("writing points", |client| {
            let request = request.clone();
            async move { client.upsert_points(request).await }
        });
        done.await.map(drop)
    }

    async fn change(&self, collection: Collection, changed: &Changed) -> Result<(), IndexError> {
        for points in changed.upserts.chunks(AT_ONCE) {
            self.upsert(collection, points.iter().map(request::point).collect())
                .await?;
        }
        if changed.deletes.is_empty() {
            return Ok(());
        }
        let ids = changed.deletes.iter().map(|id| request::wire_id(*id)).collect();
        let request = DeletePoints {
            collection_name: self.of(collection),
            wait: Some(true),
            points: Some(PointsSelector {
                points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })),
            }),
            ..DeletePoints::default()
        };
        let done = self.connection.call("deleting points", |client| {
            let request = request.clone();
            async move { client.delete_points(request).await }
        });
        done.await.map(drop)
    }

    /// Whether what `found` says is not less than what is known of it.
    fn check(&self, known: &Marker, found: Option<Marker>) -> Result<(), IndexError> {
        let position = found
            .filter(|found| found.belongs_to(known))
            .map(|found| found.position);
        if position.is_some_and(|position| position >= known.position) {
            return Ok(());
        }
        self.set_known(None);
        Err(self.failed(QdrantError::WentBack {
            found: position.unwrap_or(0),
            expected: known.position,
        }))
    }

    async fn apply_all(&self, changes: Vec<IndexChange>, position: u64) -> Result<(), IndexError> {
        let known = self.known()?;
        let found = self.common_marker().await?;
        self.check(&known, found)?;
        for (collection, changed) in by_collection(changes) {
            self.change(collection, &changed).await?;
        }
        // Only when all is there. It counts when both have it.
        let marker = Marker {
            position: position.max(known.position),
            ..known
        };
        let [memories, chunks] = Collection::ALL;
        tokio::try_join!(
            self.upsert(memories, vec![marker.point()]),
            self.upsert(chunks, vec![marker.point()]),
        )?;
        self.set_known(Some(marker));
        Ok(())
    }

    async fn found(&self, search: IndexSearch) -> Result<Vec<IndexHit>, IndexError> {
        let known = self.known()?;
        let Some(conditions) = conditions(&search.filter) else {
            return Ok(Vec::new());
        };
        if matches!(&search.leg, Leg::Sparse(sparse) if sparse.indices.is_empty()) || search.limit == 0 {
            return Ok(Vec::new());
        }
        let name = self.of(search.collection);
        let mut cut = Cut::new(search.limit);
        loop {
            let consistency = request::consistency(&self.settings);
            let query = request::query(&name, &search.leg, &conditions, cut.ask(), consistency);
            let answer = self.connection.call("a search", |client| {
                let query = query.clone();
                async move { client.query(query).await }
            });
            let (answer, found) = tokio::try_join!(answer, self.marker(search.collection))?;
            self.check(&known, found)?;
            let mut hits = request::hits(answer.result).map_err(|error| self.failed(error))?;
            if let Leg::Sparse(_) = search.leg {
                hits.retain(|hit| hit.score > 0.0);
            }
            match cut.settle(hits, search.least) {
                Next::Done(hits) => return Ok(hits),
                Next::More(more) => cut = more,
            }
        }
    }

    async fn counted(&self, collection: Collection, filter: IndexFilter) -> Result<u64, IndexError> {
        let known = self.known()?;
        let Some(conditions) = conditions(&filter) else {
            return Ok(0);
        };
        let request = CountPoints {
            collection_name: self.of(collection),
            filter: Some(request::filter(&conditions)),
            exact: Some(true),
            read_consistency: request::consistency(&self.settings),
            ..CountPoints::default()
        };
        let answer = self.connection.call("counting points", |client| {
            let request = request.clone();
            async move { client.count(request).await }
        });
        let (answer, found) = tokio::try_join!(answer, self.marker(collection))?;
        self.check(&known, found)?;
        Ok(answer.result.map_or(0, |counted| counted.count))
    }
}

impl fmt::Debug for ServerIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerIndex")
            .field("name", &self.connection.name())
            .finish_non_exhaustive()
    }
}

impl VectorIndex for ServerIndex {
    fn name(&self) -> &str {
        "server"
    }

    fn clearance(&self) -> Classification {
        self.settings.clearance
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(async move { self.open_for(&model).await })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(async move {
            let known = self.marker_known()?;
            let found = self.common_marker().await?;
            Ok(found
                .filter(|found| found.belongs_to(&known))
                .map_or(0, |found| found.position))
        })
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.apply_all(changes, position))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        // Every change was acknowledged by the server, with the position behind it.
        Box::pin(std::future::ready(self.known().map(drop)))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        Box::pin(self.found(search))
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(self.counted(collection, filter))
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(async move { self.make(&model).await })
    }
}
