//! Following the journal of the records: words, the index, and what the index has not got yet.

use super::contract::{IndexChange, VectorIndex};
use super::point::{IndexFilter, IndexPoint, WORDS_FORM};
use super::table::Table;
use super::trouble::IndexTrouble;
use crate::MemoryError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tidegate_policy::{Classification, Label};
use tidegate_store::{
    Change, Collection, ModelRecord, OutlineQuery, Outlined, OutlinedChange, PointId, RecordWrite, Records,
};

/// Changes that are read and applied at once.
const BATCH: usize = 1_000;

/// So few changes are taken apart where they are: another thread would cost more.
const FEW: usize = 16;

/// How long an index that failed is left alone. Nothing waits for it: reads go on from the records.
const PAUSE: Duration = Duration::from_secs(5);

/// Of each collection its words and payloads; of all, the vectors that the index has not got.
pub(crate) struct Follower {
    pub(super) records: Arc<dyn Records>,
    /// None: everything is searched exactly.
    pub(super) index: Option<Arc<dyn VectorIndex>>,
    pub(super) model: ModelRecord,
    pub(super) state: Arc<RwLock<State>>,
    /// Why the index is not used, since it last failed.
    trouble: Mutex<Option<IndexTrouble>>,
    /// One task follows at a time.
    pub(super) following: tokio::sync::Mutex<()>,
}

pub(super) struct State {
    memories: Table,
    chunks: Table,
    /// Up to which number the journal was read.
    position: u64,
    /// Up to which number the index has it, as far as is known.
    pub(super) indexed: u64,
    /// Whether the index was opened and is not known to be away.
    pub(super) is_open: bool,
    /// When an index that failed is tried again.
    again: Option<Instant>,
    /// The index's clearance: the vectors of points above it are searched in the tables alone.
    pub(super) clearance: Classification,
    /// Whether what was there at first was read.
    pub(super) is_begun: bool,
    /// Whether the tables have all vectors, since a context above the index's clearance asked: the index is not asked then.
    is_whole: bool,
    /// What changed behind `indexed`: what the index says of these is out of date, and their vectors are in the tables.
    pub(super) stale: BTreeMap<(Collection, PointId), u64>,
}

/// Changes as an index gets them, with their numbers.
type Numbered = Vec<(u64, IndexChange)>;

impl Follower {
    pub(crate) fn new(
        records: Arc<dyn Records>,
        index: Option<Arc<dyn VectorIndex>>,
        model: ModelRecord,
    ) -> Self {
        let state = State {
            memories: Table::new(model.dimension),
            chunks: Table::new(model.dimension),
            position: 0,
            indexed: 0,
            is_open: false,
            again: None,
            clearance: index
                .as_ref()
                .map_or(Classification::Restricted, |index| index.clearance()),
            is_begun: false,
            is_whole: false,
            stale: BTreeMap::new(),
        };
        Self {
            records,
            index,
            model,
            state: Arc::new(RwLock::new(state)),
            trouble: Mutex::new(None),
            following: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the journal to its end. What was committed before is found afterwards, whatever the index does.
    pub(crate) async fn catch_up(&self) -> Result<(), MemoryError> {
        let _alone = self.following.lock().await;
        self.open_index().await;
        if self.read(|state| !state.is_begun) {
            self.begin().await?;
            self.write(|state| state.is_begun = true);
        }
        let mut changes = self.fetch(self.read(|state| state.position)).await?;
        while let Some(last) = changes.last().map(|change| change.sequence) {
            let is_full = changes.len() >= BATCH;
            // A batch that is not full was read to the end of the journal. Else the next is read while this one is
            // taken apart.
            let next = async {
                if is_full {
                    self.fetch(last).await
                } else {
                    Ok(Vec::new())
                }
            };
            let (next, taken) = tokio::join!(next, self.take(changes, last));
            taken?;
            changes = next?;
        }
        self.hand_on_rest().await;
        Ok(())
    }

    async fn fetch(&self, after: u64) -> Result<Vec<OutlinedChange>, MemoryError> {
        // What is above the clearance of the index is searched here, however old it is.
        let vectors_behind = self.read(|state| match state.clearance {
            Classification::Restricted => state.indexed,
            _ => 0,
        });
        let query = OutlineQuery {
            after,
            limit: BATCH,
            form: WORDS_FORM,
            vectors_behind,
        };
        Ok(self.records.outlines(query).await?)
    }

    /// Takes changes in, and hands them on.
    async fn take(&self, changes: Vec<OutlinedChange>, last: u64) -> Result<(), MemoryError> {
        let (model, state, has_index) = (
            self.model.id.clone(),
            Arc::clone(&self.state),
            self.index.is_some(),
        );
        let is_few = changes.len() <= FEW;
        let work = move || {
            let (changes, words) = taken_apart(changes, &model);
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            state.take_in(&changes, last, has_index);
            drop(state);
            // Without an index nobody wants them any more.
            (if has_index { changes } else { Vec::new() }, words)
        };
        let (changes, words) = if is_few {
            work()
        } else {
            crate::off_thread(work)
                .await
                .map_err(|cause| MemoryError::Stopped { cause })?
        };
        if !words.is_empty()
            && self.records.keeps_words()
            && let Err(error) = self.records.write(words).await
        {
            tracing::warn!(%error, "the words of memories cannot be kept; opening takes their texts apart again");
        }
        self.hand_on(changes, last).await;
        Ok(())
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
        let clearance = self.read(|state| state.clearance);
        let new = new.map(|(_, change)| cleared(change, clearance)).collect();
        match index.apply(new, last).await {
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
            let of_index = self.index_changes(changes);
            let clearance = self.read(|state| state.clearance);
            let of_index = of_index.into_iter().map(|(_, change)| cleared(change, clearance));
            match index.apply(of_index.collect(), last).await {
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
            let has: Vec<(Collection, PointId)> = state
                .stale
                .iter()
                .filter(|(_, at)| **at <= indexed)
                .map(|(key, _)| *key)
                .collect();
            for (collection, id) in has {
                state.stale.remove(&(collection, id));
                let (clearance, is_whole) = (state.clearance, state.is_whole);
                if !is_whole && state.table(collection).can_flow_to(id, clearance) {
                    state.table_mut(collection).forget_vectors(id);
                }
            }
        });
    }

    pub(super) fn is_away(&self, error: &crate::IndexError) {
        let trouble = IndexTrouble::of(error);
        // Told once: it is tried again and again.
        if self.set_trouble(Some(trouble)) != Some(trouble) {
            tracing::warn!(%error, "the index is not used; reads go on from the records");
        }
        self.write(|state| {
            state.is_open = false;
            state.again = Instant::now().checked_add(PAUSE);
        });
    }

    fn set_trouble(&self, trouble: Option<IndexTrouble>) -> Option<IndexTrouble> {
        let mut place = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, trouble)
    }

    /// Why the index is not used; none if it is, or there is none.
    pub(crate) fn trouble(&self) -> Option<IndexTrouble> {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
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
                // It went back, as after a restored backup: what it lacks is searched here until it has it again.
                if position < self.read(|state| state.indexed)
                    && let Err(error) = self.load_beside().await
                {
                    tracing::warn!(%error, "the records cannot be read for the index");
                    return;
                }
                self.set_trouble(None);
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

    /// Empties the index and fills it from the records; it is as fast then as it can be.
    pub(crate) async fn rebuild(&self) -> Result<(), MemoryError> {
        if let Some(index) = &self.index {
            let _alone = self.following.lock().await;
            index.reset(&self.model).await?;
            self.set_trouble(None);
            self.write(|state| {
                state.indexed = 0;
                state.is_open = true;
                state.again = None;
            });
            self.load_beside().await?;
            self.hand_on_rest().await;
            index.flush().await?;
        }
        self.catch_up().await?;
        // Writing and searching go on meanwhile.
        if let Some(index) = &self.index
            && self.read(|state| state.is_open)
        {
            index.optimise().await?;
        }
        Ok(())
    }

    /// Makes durable what the index got.
    pub(crate) async fn flush(&self) -> Result<(), MemoryError> {
        match &self.index {
            Some(index) if self.read(|state| state.is_open) => Ok(index.flush().await?),
            _ => Ok(()),
        }
    }

    /// Reads all points from the records, for a search without the index.
    pub(super) async fn load_beside(&self) -> Result<(), MemoryError> {
        let mut after = 0;
        self.write(|state| state.indexed = 0);
        loop {
            let changes = self.records.changes(after, BATCH).await?;
            let Some(last) = changes.last().map(|change| change.sequence) else {
                return Ok(());
            };
            let changes = self.index_changes(changes);
            // What is behind the position of the tables is taken in when the journal is read there.
            self.write(|state| {
                let position = state.position;
                let known: Numbered = changes
                    .into_iter()
                    .filter(|(sequence, _)| *sequence <= position)
                    .collect();
                state.take_in(&known, position, true);
            });
            after = last;
        }
    }

    /// Reads all vectors from the records, for contexts that may not ask the index.
    pub(super) async fn load_whole(&self) -> Result<(), MemoryError> {
        let mut after = 0;
        while !self.read(State::is_whole) {
            let changes = self.records.changes(after, BATCH).await?;
            let last = changes.last().map(|change| change.sequence);
            let changes = self.index_changes(changes);
            self.write(|state| {
                let position = state.position;
                for (_, change) in changes.iter().filter(|(sequence, _)| *sequence <= position) {
                    if let IndexChange::Upsert(point) = change {
                        state.table_mut(point.collection).upsert(point, true);
                    }
                }
                state.is_whole = last.is_none_or(|last| last >= position);
            });
            after = last.unwrap_or(after);
        }
        Ok(())
    }

    fn index_changes(&self, changes: Vec<Change>) -> Numbered {
        let outlined = changes.into_iter().map(OutlinedChange::from).collect();
        taken_apart(outlined, &self.model.id).0
    }

    /// The ids of all points that pass.
    pub(crate) fn passing(&self, collection: Collection, filter: &IndexFilter) -> Vec<PointId> {
        self.read(|state| {
            let table = state.table(collection);
            table.ids(&table.visible(filter))
        })
    }

    /// Whether any point passes.
    pub(crate) fn has_any(&self, collection: Collection, filter: &IndexFilter) -> bool {
        self.read(|state| state.table(collection).visible(filter).number() > 0)
    }

    /// The join of the labels of all points that pass.
    pub(crate) fn label(&self, collection: Collection, filter: &IndexFilter) -> Label {
        self.read(|state| state.table(collection).visible(filter).label())
    }

    /// What `look` makes of the table of a collection.
    pub(crate) fn table<T>(&self, collection: Collection, look: impl FnOnce(&Table) -> T) -> T {
        self.read(|state| look(state.table(collection)))
    }
}

impl State {
    /// Begins with what was scanned, as it was when the journal ended with `position`.
    pub(super) fn begin_with(&mut self, memories: Table, chunks: Table, position: u64) {
        (self.memories, self.chunks, self.position) = (memories, chunks, position);
    }

    pub(super) fn table(&self, collection: Collection) -> &Table {
        match collection {
            Collection::MetaArtifacts => &self.memories,
            Collection::SessionRag => &self.chunks,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn table_mut(&mut self, collection: Collection) -> &mut Table {
        match collection {
            Collection::MetaArtifacts => &mut self.memories,
            Collection::SessionRag => &mut self.chunks,
        }
    }

    /// Words at once; vectors until the index has them.
    fn take_in(&mut self, changes: &[(u64, IndexChange)], last: u64, has_index: bool) {
        for (sequence, change) in changes {
            let is_behind = *sequence > self.indexed;
            let (collection, id) = match change {
                IndexChange::Upsert(point) => {
                    let is_here =
                        is_behind || self.is_whole || !point.payload.label.can_flow_to(self.clearance);
                    self.table_mut(point.collection).upsert(point, is_here);
                    (point.collection, point.id)
                }
                IndexChange::Delete { collection, id } => {
                    self.table_mut(*collection).delete(*id);
                    (*collection, *id)
                }
            };
            if has_index && is_behind {
                self.stale.insert((collection, id), *sequence);
            }
        }
        self.position = last;
    }
}

/// What an index may be given of a change: a point above its clearance is not in it.
fn cleared(change: IndexChange, clearance: Classification) -> IndexChange {
    match change {
        IndexChange::Upsert(point) if !point.payload.label.can_flow_to(clearance) => IndexChange::Delete {
            collection: point.collection,
            id: point.id,
        },
        other => other,
    }
}

/// Points of items, and the words that were not kept yet.
fn taken_apart(changes: Vec<OutlinedChange>, model: &str) -> (Numbered, Vec<RecordWrite>) {
    let mut words = Vec::new();
    let numbered = changes.into_iter().map(|change| {
        let (collection, id, sequence) = (change.collection, change.id, change.sequence);
        let point = match change.item {
            Outlined::Gone => None,
            Outlined::Outline(outline) => Some(IndexPoint::of_outline(collection, id, *outline, model)),
            Outlined::Whole(item) => {
                let point = IndexPoint::of(&item, model);
                words.extend(point.as_ref().map(|point| RecordWrite::KeepWords {
                    collection,
                    id,
                    sequence: Some(sequence),
                    form: WORDS_FORM,
                    words: Arc::clone(&point.lexical),
                }));
                point
            }
        };
        let change = match point {
            Some(point) => IndexChange::Upsert(Box::new(point)),
            None => IndexChange::Delete { collection, id },
        };
        (sequence, change)
    });
    let numbered = numbered.collect();
    (numbered, words)
}
