//! The records of memories in the same file.

use super::memory_outlines::outlines;
use super::memory_queries as queries;
use super::memory_scan as scan;
use super::store::SqliteStore;
use super::writer::Request;
use crate::{
    BoxFuture, Change, ChunkQuery, ChunkRecord, Collection, Item, ItemVisitor, MemoryQuery, MemoryRecord,
    MemoryVersion, ModelRecord, OutlineQuery, OutlinedChange, PointId, RecordWrite, Records, RecordsCommit,
    RecordsStatistics, ResourceRecord, SourceQuery, SourceRecord, StoreError, UnstagedQuery, Vectors,
    VectorsVisitor,
};
use tokio::sync::oneshot;

impl Records for SqliteStore {
    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            if !self.request(Request::Records(writes, answer)) {
                return Err(self.closed());
            }
            answered.await.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn memories(&self, query: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>> {
        self.read(move |connection, _| queries::memories(connection, &query))
    }

    fn history(&self, id: PointId) -> BoxFuture<'_, Result<Vec<MemoryVersion>, StoreError>> {
        self.read(move |connection, _| queries::history(connection, id))
    }

    fn chunks(&self, query: ChunkQuery) -> BoxFuture<'_, Result<Vec<ChunkRecord>, StoreError>> {
        self.read(move |connection, _| queries::chunks(connection, &query))
    }

    fn memory_sources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<SourceRecord>, StoreError>> {
        self.read(move |connection, _| queries::sources(connection, &query))
    }

    fn resources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<ResourceRecord>, StoreError>> {
        self.read(move |connection, _| queries::resources(connection, &query))
    }

    fn model(&self) -> BoxFuture<'_, Result<Option<ModelRecord>, StoreError>> {
        self.read(|connection, _| queries::model(connection))
    }

    fn unstaged(&self, query: UnstagedQuery) -> BoxFuture<'_, Result<Vec<Item>, StoreError>> {
        self.read(move |connection, _| queries::unstaged(connection, &query))
    }

    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        let name = name.to_owned();
        self.read(move |connection, _| queries::mark(connection, &name))
    }

    fn changes(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        self.read(move |connection, _| queries::changes(connection, after, limit))
    }

    fn keeps_words(&self) -> bool {
        true
    }

    fn outlines(&self, query: OutlineQuery) -> BoxFuture<'_, Result<Vec<OutlinedChange>, StoreError>> {
        self.read(move |connection, _| outlines(connection, query))
    }

    fn scan_items(&self, form: u32, visit: ItemVisitor) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        self.read(move |connection, _| scan::items(connection, form, visit))
    }

    fn scan_vectors<'a>(
        &'a self,
        model: &'a str,
        visit: VectorsVisitor,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        let model = model.to_owned();
        self.read(move |connection, _| scan::vectors(connection, &model, visit))
    }

    fn vectors(
        &self,
        collection: Collection,
        ids: Vec<PointId>,
    ) -> BoxFuture<'_, Result<Vec<(PointId, Vectors)>, StoreError>> {
        self.read(move |connection, _| queries::vectors(connection, collection, &ids))
    }

    fn statistics(&self) -> BoxFuture<'_, Result<RecordsStatistics, StoreError>> {
        self.read(|connection, _| queries::statistics(connection))
    }
}
