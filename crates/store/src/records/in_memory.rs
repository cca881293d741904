//! Records in memory.

use super::contract::{
    Change, ChunkQuery, MemoryQuery, Records, RecordsStatistics, SourceQuery, UnstagedQuery,
};
use super::item::{ChunkRecord, Item, MemoryRecord, MemoryVersion, PointId, SourceKey, SourceRecord};
use super::registry::ResourceRecord;
use super::vectors::{Collection, ModelRecord, Vectors};
use super::write::{Expected, MemoryPatch, RecordWrite, RecordsCommit};
use crate::{BoxFuture, StoreError};
use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// [`Records`] in memory. Clones share them. **Everything is lost at the end of the process.**
#[derive(Clone, Default)]
pub struct MemoryRecords {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for MemoryRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRecords").finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
struct State {
    memories: BTreeMap<PointId, Arc<MemoryRecord>>,
    history: BTreeMap<PointId, Vec<MemoryVersion>>,
    sources: BTreeMap<SourceKey, Arc<Source>>,
    chunk_places: BTreeMap<PointId, (SourceKey, u32)>,
    resources: BTreeMap<SourceKey, ResourceRecord>,
    staged: BTreeMap<(Collection, PointId), Vectors>,
    marks: BTreeMap<String, u64>,
    model: Option<ModelRecord>,
    sequence: u64,
    /// The last change of each item that is or was there.
    journal: BTreeMap<u64, (Collection, PointId)>,
    numbers: BTreeMap<(Collection, PointId), u64>,
}

struct Source {
    record: SourceRecord,
    chunks: Vec<ChunkRecord>,
}

impl MemoryRecords {
    /// Without any record.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        Box::pin(ready(Ok(look(&self.state()))))
    }
}

impl State {
    /// Numbers a change.
    fn changed(&mut self, collection: Collection, id: PointId) -> u64 {
        self.sequence = self.sequence.saturating_add(1);
        if let Some(earlier) = self.numbers.insert((collection, id), self.sequence) {
            self.journal.remove(&earlier);
        }
        self.journal.insert(self.sequence, (collection, id));
        self.sequence
    }

    fn is_expected(&self, id: PointId, expected: Expected) -> bool {
        match (expected, self.memories.get(&id)) {
            (Expected::Anything, _) | (Expected::Absent, None) => true,
            (Expected::Absent, Some(_)) | (Expected::Sequence(_), None) => false,
            (Expected::Sequence(wanted), Some(found)) => found.sequence == wanted,
        }
    }

    /// The number of things written or deleted, or the memory that was not as expected.
    fn apply(&mut self, write: RecordWrite) -> Result<usize, PointId> {
        match write {
            RecordWrite::PutMemory { record, expected } => self.put_memory(*record, expected),
            RecordWrite::PatchMemory { id, expected, patch } => self.patch_memory(id, expected, patch),
            RecordWrite::DeleteMemory { id, expected } => {
                if !self.is_expected(id, expected) {
                    return Err(id);
                }
                self.history.remove(&id);
                self.staged.remove(&(Collection::MetaArtifacts, id));
                if self.memories.remove(&id).is_none() {
                    return Ok(0);
                }
                self.changed(Collection::MetaArtifacts, id);
                Ok(1)
            }
            RecordWrite::ReplaceSource { source, chunks } => Ok(self.replace_source(*source, chunks)),
            RecordWrite::DeleteSource(key) => Ok(self.delete_source(&key)),
            RecordWrite::PurgeChat { user, chat } => {
                let of_chat = |key: &&SourceKey| key.user == user && key.chat == chat;
                let mut keys: Vec<SourceKey> = self.sources.keys().filter(of_chat).cloned().collect();
                keys.extend(self.resources.keys().filter(of_chat).cloned());
                keys.sort();
                keys.dedup();
                Ok(keys.iter().map(|key| self.delete_source(key)).sum())
            }
            RecordWrite::AddResource(resource) => {
                let is_new = !self.resources.contains_key(&resource.key);
                self.resources.entry(resource.key.clone()).or_insert(*resource);
                Ok(usize::from(is_new))
            }
            RecordWrite::PutResource(resource) => {
                self.resources.insert(resource.key.clone(), *resource);
                Ok(1)
            }
            RecordWrite::StageVectors {
                collection,
                id,
                sequence,
                vectors,
            } => {
                let is_current = self.numbers.get(&(collection, id)) == Some(&sequence)
                    && match collection {
                        Collection::MetaArtifacts => self.memories.contains_key(&id),
                        Collection::SessionRag => self.chunk_places.contains_key(&id),
                    };
                if is_current {
                    self.staged.insert((collection, id), vectors);
                }
                Ok(usize::from(is_current))
            }
            // What is in memory is not opened again.
            RecordWrite::KeepWords { .. } => Ok(0),
            // Nothing was on a disk.
            RecordWrite::Erase => Ok(0),
            RecordWrite::SetModel(model) => Ok(self.set_model(model)),
            RecordWrite::SetMark { name, value } => {
                self.marks.insert(name, value);
                Ok(1)
            }
        }
    }

    fn put_memory(&mut self, mut record: MemoryRecord, expected: Expected) -> Result<usize, PointId> {
        let id = record.id;
        if !self.is_expected(id, expected) {
            return Err(id);
        }
        record.version = 1;
        if let Some(earlier) = self.memories.get(&id) {
            // The id is computed from the key; two keys with one id would be a mistake of the caller.
            if (earlier.label, &earlier.user, &earlier.memory_id)
                != (record.label, &record.user, &record.memory_id)
            {
                return Err(id);
            }
            record.version = earlier.version.saturating_add(1);
            record.created_ms = earlier.created_ms;
            let version = MemoryVersion::from(&**earlier);
            self.history.entry(id).or_default().push(version);
        }
        self.staged.remove(&(Collection::MetaArtifacts, id));
        record.sequence = self.changed(Collection::MetaArtifacts, id);
        self.memories.insert(id, Arc::new(record));
        Ok(1)
    }

    fn patch_memory(
        &mut self,
        id: PointId,
        expected: Expected,
        patch: MemoryPatch,
    ) -> Result<usize, PointId> {
        if !self.is_expected(id, expected) {
            return Err(id);
        }
        let Some(found) = self.memories.get(&id) else {
            return Ok(0);
        };
        let mut record = MemoryRecord::clone(found);
        record.updated_ms = record.updated_ms.max(patch.updated_ms.unwrap_or(i64::MIN));
        record.expires_ms = record.expires_ms.max(patch.expires_ms.unwrap_or(i64::MIN));
        record.importance = record.importance.max(patch.importance.unwrap_or(0));
        record.state = patch.state.unwrap_or(record.state);
        // The text is the same, so what was staged for it is still right.
        record.sequence = self.changed(Collection::MetaArtifacts, id);
        self.memories.insert(id, Arc::new(record));
        Ok(1)
    }

    fn replace_source(&mut self, mut source: SourceRecord, mut chunks: Vec<ChunkRecord>) -> usize {
        let key = source.key.clone();
        self.delete_chunks(&key);
        source.chunks = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        for chunk in &mut chunks {
            chunk.sequence = self.changed(Collection::SessionRag, chunk.id);
            self.chunk_places.insert(chunk.id, (key.clone(), chunk.ordinal));
        }
        let count = chunks.len();
        let source = Source {
            record: source,
            chunks,
        };
        self.sources.insert(key, Arc::new(source));
        count
    }

    fn delete_chunks(&mut self, key: &SourceKey) -> usize {
        let Some(source) = self.sources.remove(key) else {
            return 0;
        };
        for chunk in &source.chunks {
            self.chunk_places.remove(&chunk.id);
            self.staged.remove(&(Collection::SessionRag, chunk.id));
            self.changed(Collection::SessionRag, chunk.id);
        }
        1
    }

    fn delete_source(&mut self, key: &SourceKey) -> usize {
        let resource = self.resources.remove(key).map_or(0, |_| 1);
        self.delete_chunks(key).max(resource)
    }

    fn set_model(&mut self, model: ModelRecord) -> usize {
        let staged = std::mem::take(&mut self.staged);
        let taken = |collection, id, own: Option<Vectors>| {
            let vectors = staged.get(&(collection, id)).cloned().into_iter().chain(own);
            vectors.into_iter().find(|vectors| *vectors.model == *model.id)
        };
        let ids: Vec<PointId> = self.memories.keys().copied().collect();
        for id in &ids {
            let sequence = self.changed(Collection::MetaArtifacts, *id);
            if let Some(memory) = self.memories.get_mut(id) {
                let memory = Arc::make_mut(memory);
                memory.vectors = taken(Collection::MetaArtifacts, *id, memory.vectors.take());
                memory.sequence = sequence;
            }
        }
        let keys: Vec<SourceKey> = self.sources.keys().cloned().collect();
        let mut count = ids.len();
        for key in keys {
            let Some(source) = self.sources.get(&key).map(Arc::clone) else {
                continue;
            };
            let mut chunks = source.chunks.clone();
            for chunk in &mut chunks {
                chunk.vectors = taken(Collection::SessionRag, chunk.id, chunk.vectors.take());
                chunk.sequence = self.changed(Collection::SessionRag, chunk.id);
            }
            count = count.saturating_add(chunks.len());
            let record = source.record.clone();
            self.sources.insert(key, Arc::new(Source { record, chunks }));
        }
        self.model = Some(model);
        count
    }

    fn item(&self, collection: Collection, id: PointId) -> Option<Item> {
        match collection {
            Collection::MetaArtifacts => {
                let memory = self.memories.get(&id)?;
                Some(Item::Memory(Box::new(MemoryRecord::clone(memory))))
            }
            Collection::SessionRag => {
                let (key, ordinal) = self.chunk_places.get(&id)?;
                let source = self.sources.get(key)?;
                let chunk = source.chunks.iter().find(|chunk| chunk.ordinal == *ordinal)?;
                Some(Item::Chunk(Box::new(chunk.clone())))
            }
        }
    }

    fn find_chunks(&self, query: &ChunkQuery) -> Vec<ChunkRecord> {
        let wanted: Option<Vec<&(SourceKey, u32)>> = query
            .ids
            .as_ref()
            .map(|ids| ids.iter().filter_map(|id| self.chunk_places.get(id)).collect());
        let mut found: Vec<ChunkRecord> = Vec::new();
        for (key, source) in &self.sources {
            let of_source = SourceQuery {
                user: query.user.clone(),
                chat: query.chat.clone(),
                source: query.source.clone(),
                label: query.label,
            };
            if !asks_for(&of_source, key)
                || !wanted
                    .as_ref()
                    .is_none_or(|places| places.iter().any(|(of, _)| of == key))
            {
                continue;
            }
            let chunks = source.chunks.iter().filter(|chunk| {
                query.ids.as_ref().is_none_or(|ids| ids.contains(&chunk.id))
                    && query
                        .ordinals
                        .as_ref()
                        .is_none_or(|places| places.contains(&chunk.ordinal))
            });
            found.extend(chunks.cloned());
        }
        if !query.vectors {
            found.iter_mut().for_each(|chunk| chunk.vectors = None);
        }
        found
    }
}

impl Records for MemoryRecords {
    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>> {
        // Nothing happens before it is polled.
        Box::pin(async move {
            let mut state = self.state();
            // A single write happens whole or not at all by itself.
            let before = (writes.len() > 1).then(|| state.clone());
            let mut counts = Vec::with_capacity(writes.len());
            for write in writes {
                match state.apply(write) {
                    Ok(count) => counts.push(count),
                    Err(id) => {
                        if let Some(before) = before {
                            *state = before;
                        }
                        return Ok(RecordsCommit::Conflict { id });
                    }
                }
            }
            let sequence = state.sequence;
            Ok(RecordsCommit::Done { sequence, counts })
        })
    }

    fn memories(&self, query: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>> {
        self.read(|state| {
            let fits = |memory: &&Arc<MemoryRecord>| {
                query.user.as_ref().is_none_or(|user| *user == memory.user)
                    && query.memory_id.as_ref().is_none_or(|id| *id == memory.memory_id)
            };
            let found: Vec<&Arc<MemoryRecord>> = match &query.ids {
                Some(ids) => {
                    let mut ids = ids.clone();
                    ids.sort();
                    ids.dedup();
                    ids.iter()
                        .filter_map(|id| state.memories.get(id))
                        .filter(fits)
                        .collect()
                }
                None => state.memories.values().filter(fits).collect(),
            };
            let mut found: Vec<MemoryRecord> = found
                .into_iter()
                .map(|memory| MemoryRecord::clone(memory))
                .collect();
            if !query.vectors {
                found.iter_mut().for_each(|memory| memory.vectors = None);
            }
            found
        })
    }

    fn history(&self, id: PointId) -> BoxFuture<'_, Result<Vec<MemoryVersion>, StoreError>> {
        self.read(|state| state.history.get(&id).cloned().unwrap_or_default())
    }

    fn chunks(&self, query: ChunkQuery) -> BoxFuture<'_, Result<Vec<ChunkRecord>, StoreError>> {
        self.read(|state| state.find_chunks(&query))
    }

    fn memory_sources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<SourceRecord>, StoreError>> {
        self.read(|state| {
            let fitting = state.sources.iter().filter(|(key, _)| asks_for(&query, key));
            fitting.map(|(_, source)| source.record.clone()).collect()
        })
    }

    fn resources(&self, query: SourceQuery) -> BoxFuture<'_, Result<Vec<ResourceRecord>, StoreError>> {
        self.read(|state| {
            let fitting = state.resources.iter().filter(|(key, _)| asks_for(&query, key));
            fitting.map(|(_, resource)| resource.clone()).collect()
        })
    }

    fn model(&self) -> BoxFuture<'_, Result<Option<ModelRecord>, StoreError>> {
        self.read(|state| state.model.clone())
    }

    fn unstaged(&self, query: UnstagedQuery) -> BoxFuture<'_, Result<Vec<Item>, StoreError>> {
        self.read(|state| {
            let ids: Vec<PointId> = match query.collection {
                Collection::MetaArtifacts => state.memories.keys().copied().collect(),
                Collection::SessionRag => state.chunk_places.keys().copied().collect(),
            };
            ids.into_iter()
                .filter(|id| query.after.is_none_or(|after| *id > after))
                .filter(|id| {
                    let staged = state.staged.get(&(query.collection, *id));
                    staged.is_none_or(|vectors| *vectors.model != *query.model)
                })
                .filter_map(|id| state.item(query.collection, id))
                .filter(|item| {
                    item.vectors()
                        .is_none_or(|vectors| *vectors.model != *query.model)
                })
                .map(|mut item| {
                    match &mut item {
                        Item::Memory(memory) => memory.vectors = None,
                        Item::Chunk(chunk) => chunk.vectors = None,
                    }
                    item
                })
                .take(query.limit)
                .collect()
        })
    }

    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        self.read(|state| state.marks.get(name).copied())
    }

    fn changes(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        self.read(|state| {
            let later = state.journal.range(after.saturating_add(1)..);
            later
                .take(limit)
                .map(|(sequence, (collection, id))| Change {
                    sequence: *sequence,
                    collection: *collection,
                    id: *id,
                    item: state.item(*collection, *id),
                })
                .collect()
        })
    }

    fn statistics(&self) -> BoxFuture<'_, Result<RecordsStatistics, StoreError>> {
        self.read(|state| RecordsStatistics {
            memories: state.memories.len() as u64,
            chunks: state.chunk_places.len() as u64,
            sources: state.sources.len() as u64,
            sequence: state.sequence,
        })
    }
}

fn asks_for(query: &SourceQuery, key: &SourceKey) -> bool {
    query.user.as_ref().is_none_or(|user| *user == key.user)
        && query.chat.as_ref().is_none_or(|chat| *chat == key.chat)
        && query.source.as_ref().is_none_or(|source| *source == key.source)
        && query.label.is_none_or(|label| label == key.label)
}
