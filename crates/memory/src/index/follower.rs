//! Following the journal of the records: words, the index, and what the index has not got yet.

use super::contract::{IndexChange, IndexHit, IndexSearch, Leg, VectorIndex};
use super::exact::{ExactIndex, score, sort};
use super::lexical::{LexicalHits, LexicalTable};
use super::point::{IndexFilter, IndexPoint, PointPayload};
use crate::MemoryError;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tidegate_policy::Label;
use tidegate_store::{Change, ChunkQuery, Collection, Item, MemoryQuery, ModelRecord, PointId, Records};

/// Changes that are read and applied at once.
const BATCH: usize = 1_000;

/// How long an index that failed is left alone. Nothing waits for it: reads go on from the records.
const PAUSE: Duration = Duration::from_secs(5);

/// Of a collection, the words; of all, the points that the index has not got.
pub(crate) struct Follower {
    records: Arc<dyn Records>,
    /// None: everything is searched exactly.
    index: Option<Arc<dyn VectorIndex>>,
    model: ModelRecord,
    state: RwLock<State>,
    /// Points that the index has not got.
    beside: ExactIndex,
    /// One task follows at a time.
    following: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    memories: LexicalTable,
    chunks: LexicalTable,
    /// Up to which number the journal was read.
    position: u64,
    /// Up to which number the index has it, as far as is known.
    indexed: u64,
    /// Whether the index was opened and is not known to be away.
    is_open: bool,
    /// When an index that failed is tried again.
    again: Option<Instant>,
    /// What changed behind `indexed`: what the index says of these is out of date.
    stale: BTreeMap<(Collection, PointId), u64>,
}

/// What is searched for in a leg, and how much of it is wanted.
pub(crate) struct Legs<'a> {
    pub(crate) collection: Collection,
    pub(crate) filter: &'a IndexFilter,
    pub(crate) limit: usize,
    pub(crate) least: Option<f32>,
}

impl Follower {
    pub(crate) fn new(
        records: Arc<dyn Records>,
        index: Option<Arc<dyn VectorIndex>>,
        model: ModelRecord,
    ) -> Self {
        Self {
            records,
            index,
            model,
            state: RwLock::default(),
            beside: ExactIndex::new(),
            following: tokio::sync::Mutex::new(()),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the journal to its end. What was committed before is found afterwards, whatever the index does.
    pub(crate) async fn catch_up(&self) -> Result<(), MemoryError> {
        let _alone = self.following.lock().await;
        self.open_index().await;
        loop {
            let after = self.read(|state| state.position);
            let changes = self.records.changes(after, BATCH).await?;
            let Some(last) = changes.last().map(|change| change.sequence) else {
                break;
            };
            let changes = self.index_changes(&changes);
            self.take_in(&changes, last);
            self.hand_on(changes, last).await;
        }
        self.hand_on_rest().await;
        Ok(())
    }

    fn index_changes(&self, changes: &[Change]) -> Vec<(u64, IndexChange)> {
        let change = |change: &Change| {
            let point = change
                .item
                .as_ref()
                .and_then(|item| IndexPoint::of(item, &self.model.id));
            let of_index = match point {
                Some(point) => IndexChange::Upsert(Box::new(point)),
                None => IndexChange::Delete {
                    collection: change.collection,
                    id: change.id,
                },
            };
            (change.sequence, of_index)
        };
        changes.iter().map(change).collect()
    }

    /// Words at once; points beside the index until it has them.
    fn take_in(&self, changes: &[(u64, IndexChange)], last: u64) {
        let indexed = self.read(|state| state.indexed);
        let beside = changes.iter().filter(|(sequence, _)| *sequence > indexed);
        self.beside
            .apply_now(beside.map(|(_, change)| change.clone()).collect(), last);
        self.write(|state| {
            for (sequence, change) in changes {
                let (collection, id) = match change {
                    IndexChange::Upsert(point) => (point.collection, point.id),
                    IndexChange::Delete { collection, id } => (*collection, *id),
                };
                let table = state.table_mut(collection);
                match change {
                    IndexChange::Upsert(point) => table.upsert(point),
                    IndexChange::Delete { .. } => table.delete(id),
                }
                if self.index.is_some() && *sequence > state.indexed {
                    state.stale.insert((collection, id), *sequence);
                }
            }
            state.position = last;
        });
    }

    /// Gives the index what it has not got of `changes`.
    async fn hand_on(&self, changes: Vec<(u64, IndexChange)>, last: u64) {
        let Some(index) = &self.index else { return };
        let (is_open, indexed) = self.read(|state| (state.is_open, state.indexed));
        // Changes come in order or not at all: with a hole before these, `hand_on_rest` has to begin there.
        let first = changes.first().map_or(0, |(sequence, _)| *sequence);
        if !is_open || last <= indexed || self.read(|state| state.stale.values().any(|at| *at < first)) {
            return;
        }
        let new = changes.into_iter().filter(|(sequence, _)| *sequence > indexed);
        match index.apply(new.map(|(_, change)| change).collect(), last).await {
            Ok(()) => self.has(last),
            Err(error) => self.is_away(&error),
        }
    }

    /// Gives the index what it missed while it was away.
    async fn hand_on_rest(&self) {
        let Some(index) = &self.index else { return };
        loop {
            let (is_open, indexed, position) =
                self.read(|state| (state.is_open, state.indexed, state.position));
            if !is_open || indexed >= position {
                return;
            }
            let changes = match self.records.changes(indexed, BATCH).await {
                Ok(changes) => changes,
                Err(error) => {
                    tracing::warn!(index = index.name(), %error, "the journal cannot be read for the index");
                    return;
                }
            };
            let Some(last) = changes.last().map(|change| change.sequence) else {
                return self.has(position);
            };
            let of_index = self.index_changes(&changes);
            match index
                .apply(of_index.into_iter().map(|(_, change)| change).collect(), last)
                .await
            {
                Ok(()) => self.has(last),
                Err(error) => return self.is_away(&error),
            }
        }
    }

    /// The index has everything up to `number`.
    fn has(&self, number: u64) {
        self.write(|state| {
            state.indexed = state.indexed.max(number);
            let indexed = state.indexed;
            state.stale.retain(|_, at| *at > indexed);
        });
        self.read(|state| {
            self.beside
                .retain(|collection, id| state.stale.contains_key(&(collection, id)))
        });
    }

    fn is_away(&self, error: &crate::IndexError) {
        tracing::warn!(%error, "the index is away; reads go on from the records");
        self.write(|state| {
            state.is_open = false;
            state.again = Instant::now().checked_add(PAUSE);
        });
    }

    /// Opens the index if it is not, and its time has come.
    async fn open_index(&self) {
        let Some(index) = &self.index else { return };
        let is_due =
            self.read(|state| !state.is_open && state.again.is_none_or(|again| Instant::now() >= again));
        if !is_due {
            return;
        }
        match self.opened_at(&**index).await {
            Ok(position) => {
                self.write(|state| {
                    state.is_open = true;
                    state.again = None;
                    state.indexed = position;
                });
                self.has(position);
            }
            Err(MemoryError::Index(error)) => self.is_away(&error),
            Err(error) => tracing::warn!(%error, "the index cannot be opened; reads go on from the records"),
        }
    }

    /// The position of the index, which is emptied if it cannot be one of these records: it holds vectors of another
    /// model, or more changes than there were, as after a backup was restored.
    async fn opened_at(&self, index: &dyn VectorIndex) -> Result<u64, MemoryError> {
        match index.open(&self.model).await {
            Ok(()) => {}
            Err(error @ crate::IndexError::OtherModel { .. }) => {
                tracing::warn!(%error, "the index is filled anew from the records");
                index.reset(&self.model).await?;
            }
            Err(error) => return Err(error.into()),
        }
        let position = index.position().await?;
        if position <= self.records.statistics().await?.sequence {
            return Ok(position);
        }
        tracing::warn!(
            index = index.name(),
            position,
            "the index is ahead of the records and is filled anew"
        );
        index.reset(&self.model).await?;
        Ok(0)
    }

    /// Whether the index, if there is one, is there and has everything.
    pub(crate) fn is_in_step(&self) -> bool {
        self.index.is_none() || self.read(|state| state.is_open && state.indexed >= state.position)
    }

    /// The name of the index.
    pub(crate) fn index_name(&self) -> &str {
        self.index.as_ref().map_or("exact", |index| index.name())
    }

    /// Empties the index and fills it from the records.
    pub(crate) async fn rebuild(&self) -> Result<(), MemoryError> {
        if let Some(index) = &self.index {
            let _alone = self.following.lock().await;
            index.reset(&self.model).await?;
            self.write(|state| {
                state.indexed = 0;
                state.is_open = true;
                state.again = None;
            });
            self.load_beside().await?;
            self.hand_on_rest().await;
            index.flush().await?;
        }
        self.catch_up().await
    }

    /// Makes durable what the index got.
    pub(crate) async fn flush(&self) -> Result<(), MemoryError> {
        match &self.index {
            Some(index) if self.read(|state| state.is_open) => Ok(index.flush().await?),
            _ => Ok(()),
        }
    }

    /// Reads all points from the records, for a search without the index.
    async fn load_beside(&self) -> Result<(), MemoryError> {
        let mut after = 0;
        self.write(|state| state.indexed = 0);
        loop {
            let changes = self.records.changes(after, BATCH).await?;
            let Some(last) = changes.last().map(|change| change.sequence) else {
                return Ok(());
            };
            let changes = self.index_changes(&changes);
            self.write(|state| {
                for (sequence, change) in &changes {
                    let key = match change {
                        IndexChange::Upsert(point) => (point.collection, point.id),
                        IndexChange::Delete { collection, id } => (*collection, *id),
                    };
                    state.stale.insert(key, *sequence);
                }
            });
            self.beside
                .apply_now(changes.into_iter().map(|(_, change)| change).collect(), last);
            after = last;
        }
    }

    /// The best by a vector.
    pub(crate) async fn search(&self, legs: &Legs<'_>, leg: &Leg) -> Result<Vec<IndexHit>, MemoryError> {
        let search = |limit| IndexSearch {
            collection: legs.collection,
            leg: leg.clone(),
            filter: legs.filter.clone(),
            limit,
            least: legs.least,
        };
        let mut hits = Vec::new();
        if let Some(index) = &self.index {
            if self.read(|state| state.is_open) {
                let outdated = self.read(|state| state.stale.len());
                match index.search(search(legs.limit.saturating_add(outdated))).await {
                    Ok(found) => hits = found,
                    Err(error) => self.is_away(&error),
                }
            }
            if !self.read(|state| state.is_open) && self.read(|state| state.indexed > 0) {
                let _alone = self.following.lock().await;
                self.load_beside().await?;
                hits.clear();
            }
            self.read(|state| hits.retain(|hit| !state.stale.contains_key(&(legs.collection, hit.id))));
        }
        if !self.beside.is_empty() {
            let (beside, search) = (self.beside.clone(), search(legs.limit));
            let found = crate::off_thread(move || beside.search_now(&search)).await;
            hits.extend(found.map_err(|cause| MemoryError::Stopped { cause })?);
            sort(&mut hits);
        }
        hits.truncate(legs.limit);
        Ok(hits)
    }

    /// The scores of these points by a vector, exactly; of those that have one.
    pub(crate) async fn scores(
        &self,
        collection: Collection,
        ids: &[PointId],
        leg: &Leg,
    ) -> Result<BTreeMap<PointId, f32>, MemoryError> {
        let mut scores = BTreeMap::new();
        let mut missing = Vec::new();
        for id in ids {
            match self.beside.point(collection, *id) {
                Some(point) => scores.extend(score(leg, &point).map(|score| (*id, score))),
                None => missing.push(*id),
            }
        }
        if missing.is_empty() || self.index.is_none() {
            return Ok(scores);
        }
        for item in self.items(collection, missing).await? {
            let point = IndexPoint::of(&item, &self.model.id);
            scores.extend(point.and_then(|point| Some((point.id, score(leg, &point)?))));
        }
        Ok(scores)
    }

    async fn items(&self, collection: Collection, ids: Vec<PointId>) -> Result<Vec<Item>, MemoryError> {
        let (ids, vectors) = (Some(ids), true);
        Ok(match collection {
            Collection::MetaArtifacts => {
                let query = MemoryQuery {
                    ids,
                    vectors,
                    ..MemoryQuery::default()
                };
                let found = self.records.memories(query).await?;
                found
                    .into_iter()
                    .map(|memory| Item::Memory(Box::new(memory)))
                    .collect()
            }
            Collection::SessionRag => {
                let query = ChunkQuery {
                    ids,
                    vectors,
                    ..ChunkQuery::default()
                };
                let found = self.records.chunks(query).await?;
                found
                    .into_iter()
                    .map(|chunk| Item::Chunk(Box::new(chunk)))
                    .collect()
            }
        })
    }

    /// Every point that passes and shares a word with `query`, best first.
    pub(crate) fn words(&self, collection: Collection, query: &str, filter: &IndexFilter) -> LexicalHits {
        self.read(|state| state.table(collection).search(query, filter))
    }

    /// What `look` makes of all points that pass; those of which it makes nothing are left out.
    pub(crate) fn passing<T>(
        &self,
        collection: Collection,
        filter: &IndexFilter,
        look: impl Fn(PointId, &PointPayload) -> Option<T>,
    ) -> Vec<T> {
        self.read(|state| {
            let passing = state.table(collection).passing(filter);
            passing.filter_map(|(id, payload)| look(id, payload)).collect()
        })
    }

    /// Whether any point passes.
    pub(crate) fn has_any(&self, collection: Collection, filter: &IndexFilter) -> bool {
        self.read(|state| state.table(collection).passing(filter).next().is_some())
    }

    /// The join of the labels of all points that pass.
    pub(crate) fn label(&self, collection: Collection, filter: &IndexFilter) -> Label {
        self.read(|state| {
            let passing = state.table(collection).passing(filter);
            Label::join_all(passing.map(|(_, payload)| payload.label))
        })
    }
}

impl State {
    fn table(&self, collection: Collection) -> &LexicalTable {
        match collection {
            Collection::MetaArtifacts => &self.memories,
            Collection::SessionRag => &self.chunks,
        }
    }

    fn table_mut(&mut self, collection: Collection) -> &mut LexicalTable {
        match collection {
            Collection::MetaArtifacts => &mut self.memories,
            Collection::SessionRag => &mut self.chunks,
        }
    }
}
