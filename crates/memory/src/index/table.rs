//! The points of a collection, small and side by side: who may be seen is known after one look over them.

use super::contract::{IndexHit, Leg};
use super::lexical::{Measure, Postings, to_usize};
use super::loose::LooseVectors;
use super::matrix::Matrix;
use super::point::{IndexFilter, IndexPoint};
use crate::embedder::{of_length_1, scalar_product};
use crate::text::Language;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::sync::Arc;
use tidegate_policy::{Classification, Integrity, Label};
use tidegate_store::{PointId, ScannedItem, SparseVector, Vectors};

/// No name, vector or place in a source.
const NONE: u32 = u32::MAX;

/// The points of a collection: what they are chosen by, their words, and vectors of those that are searched here.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
    places: HashMap<PointId, u32>,
    names: Names,
    words: Postings,
    dense: Matrix,
    sparse: HashMap<u32, Arc<SparseVector>>,
}

/// A point without its texts. One that was taken out has no label, so that no filter passes it.
#[derive(Clone, Copy, Debug)]
struct Row {
    id: PointId,
    time_ms: i64,
    expires_ms: i64,
    user: u32,
    chat: u32,
    source: u32,
    ordinal: u32,
    artifact_name: u32,
    dense: u32,
    measure: Measure,
    label: u8,
    importance: u8,
    /// Of a memory: a hash of its name.
    name: u64,
}

/// What of a memory decides on its rank, without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) label: Label,
    pub(crate) importance: u8,
    /// A hash of its name: the same in this process alone.
    pub(crate) name: u64,
}

/// The source of a chunk: its conversation and name, as numbers of this table, and its label. Those of one name at two
/// labels are two.
pub(crate) type Source = (u32, u32, u8);

/// Of a chunk: its source, and its place in it.
pub(crate) type Stand = (Source, u32);

impl Row {
    fn stand(&self) -> Option<Stand> {
        (self.source != NONE && self.ordinal != NONE)
            .then_some(((self.chat, self.source, self.label), self.ordinal))
    }
}

/// Texts that many points share, by number.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Arc<str>, u32>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(NONE - 1);
        self.numbers.insert(text.into(), number);
        number
    }

    /// The number of a text that a filter names: one that no point has, passes none.
    fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }
}

/// Which points a filter passes, and what there is to know of all of them.
#[derive(Debug)]
pub(crate) struct Visible {
    passes: Vec<bool>,
    count: usize,
    length: f64,
    languages: u64,
    labels: u8,
}

impl Visible {
    pub(crate) fn holds(&self, place: u32) -> bool {
        self.passes.get(to_usize(place)).is_some_and(|passes| *passes)
    }

    /// How many places there are, of points that pass and others.
    pub(crate) fn places(&self) -> usize {
        self.passes.len()
    }

    pub(crate) fn number(&self) -> usize {
        self.count
    }

    pub(crate) fn count(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a number of points")]
        let count = self.count as f32;
        count
    }

    pub(crate) fn mean_length(&self) -> f32 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a mean of numbers of words"
        )]
        let mean = (self.length / self.count.max(1) as f64) as f32;
        mean
    }

    pub(crate) fn languages(&self) -> Vec<Language> {
        Language::all()
            .filter(|language| self.languages & language_bit(*language) != 0)
            .collect()
    }

    /// The join of their labels.
    pub(crate) fn label(&self) -> Label {
        let labels = Classification::ALL
            .into_iter()
            .flat_map(|level| [Label::trusted(level), Label::untrusted(level)]);
        Label::join_all(labels.filter(|label| self.labels & label_bit(*label) != 0))
    }
}

fn label_bit(label: Label) -> u8 {
    let level = match label.classification {
        Classification::Public => 0,
        Classification::Internal => 1,
        Classification::Confidential => 2,
        Classification::Restricted => 3,
    };
    let integrity = match label.integrity {
        Integrity::Trusted => 0,
        Integrity::Untrusted => 4,
    };
    1 << (level + integrity)
}

fn label_of_bit(bit: u8) -> Option<Label> {
    let labels = Classification::ALL
        .into_iter()
        .flat_map(|level| [Label::trusted(level), Label::untrusted(level)]);
    labels.into_iter().find(|label| label_bit(*label) == bit)
}

fn language_bit(language: Language) -> u64 {
    1_u64.checked_shl(language.number()).unwrap_or(0)
}

impl Table {
    /// Without a point; dense vectors will have `dimension` values.
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            rows: Vec::new(),
            places: HashMap::new(),
            names: Names::default(),
            words: Postings::default(),
            dense: Matrix::new(dimension),
            sparse: HashMap::new(),
        }
    }

    /// The point is as given from now on; its vectors are kept if they are searched here.
    pub(crate) fn upsert(&mut self, point: &IndexPoint, with_vectors: bool) {
        let dense = point.dense.as_ref().filter(|_| with_vectors);
        let dense = dense.and_then(|dense| self.dense.put(dense)).unwrap_or(NONE);
        let place = self.put(&point.as_scanned(), dense);
        if let Some(sparse) = point.sparse.as_ref().filter(|_| with_vectors) {
            self.sparse.insert(place, Arc::clone(sparse));
        }
    }

    /// The same for an item as it was scanned, without vectors.
    pub(crate) fn take_in(&mut self, item: &ScannedItem<'_>) {
        self.put(item, NONE);
    }

    /// The vectors of all points, as they were scanned; those of others are let go.
    pub(crate) fn adopt(&mut self, vectors: LooseVectors) {
        let LooseVectors { dense, ids, sparse } = vectors;
        self.dense = dense;
        for (number, id) in ids {
            let row = self.places.get(&id).copied();
            match row.and_then(|place| self.rows.get_mut(to_usize(place))) {
                Some(row) => row.dense = number,
                None => self.dense.take_out(number),
            }
        }
        for (id, sparse) in sparse {
            if let Some(place) = self.places.get(&id) {
                self.sparse.insert(*place, Arc::new(sparse));
            }
        }
    }

    /// Puts a point in, in place of the one of its id.
    fn put(&mut self, item: &ScannedItem<'_>, dense: u32) -> u32 {
        self.delete(item.id);
        let place = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let measure = Measure {
            language: Language::of_code(item.language),
            length: item.counts.iter().sum(),
        };
        let hash_of = |name: &str| self.names.numbers.hasher().hash_one(name);
        let name = item.memory_id.map_or(0, hash_of);
        let names = &mut self.names;
        let mut number = |text: Option<&str>| text.map_or(NONE, |text| names.number(text));
        self.rows.push(Row {
            id: item.id,
            time_ms: item.time_ms,
            expires_ms: item.expires_ms.unwrap_or(i64::MAX),
            user: number(Some(item.user)),
            chat: number(Some(item.chat)),
            source: number(item.source),
            ordinal: item.ordinal.unwrap_or(NONE),
            artifact_name: number(item.artifact_name),
            dense,
            measure,
            label: label_bit(item.label),
            importance: item.importance.unwrap_or(0),
            name,
        });
        self.words.add(place, item.words, item.counts);
        self.places.insert(item.id, place);
        place
    }

    /// Takes a point out.
    pub(crate) fn delete(&mut self, id: PointId) {
        self.forget_vectors(id);
        let Some(place) = self.places.remove(&id) else {
            return;
        };
        if let Some(row) = self.rows.get_mut(to_usize(place)) {
            row.label = 0;
        }
        // Taking it out of every list of words would cost as much as the longest of them.
        if self.rows.len() > 1_024 && self.places.len() < self.rows.len() / 2 {
            self.tidy();
        }
    }

    /// The index has its vectors now.
    pub(crate) fn forget_vectors(&mut self, id: PointId) {
        let Some(place) = self.places.get(&id) else { return };
        self.sparse.remove(place);
        if let Some(row) = self.rows.get_mut(to_usize(*place))
            && row.dense != NONE
        {
            self.dense.take_out(row.dense);
            row.dense = NONE;
        }
    }

    /// Whether there is a point of that id, and it is above `clearance`.
    pub(crate) fn is_above(&self, id: PointId, clearance: Classification) -> bool {
        self.places.contains_key(&id) && !self.can_flow_to(id, clearance)
    }

    /// What decides on the rank of a memory, if it is there.
    pub(crate) fn standing(&self, id: PointId) -> Option<Standing> {
        let row = self.rows.get(to_usize(*self.places.get(&id)?))?;
        Some(Standing {
            label: label_of_bit(row.label)?,
            importance: row.importance,
            name: row.name,
        })
    }

    /// Whether a point is not above `clearance`; one that is not there is not.
    pub(crate) fn can_flow_to(&self, id: PointId, clearance: Classification) -> bool {
        let row = self
            .places
            .get(&id)
            .and_then(|place| self.rows.get(to_usize(*place)));
        let above = Classification::ALL
            .into_iter()
            .filter(|level| !level.can_flow_to(clearance))
            .flat_map(|level| [Label::trusted(level), Label::untrusted(level)]);
        row.is_none_or(|row| above.fold(0, |bits, label| bits | label_bit(label)) & row.label == 0)
    }

    /// Moves the points together, over the places of those that are gone.
    fn tidy(&mut self) {
        let mut moved = vec![NONE; self.rows.len()];
        let mut rows = Vec::with_capacity(self.places.len());
        for (row, new) in self.rows.iter().zip(&mut moved) {
            if row.label != 0 {
                *new = u32::try_from(rows.len()).unwrap_or(NONE);
                rows.push(*row);
            }
        }
        let new_place = |old: u32| moved.get(to_usize(old)).copied().filter(|new| *new != NONE);
        self.words.renumber(new_place);
        self.places
            .values_mut()
            .for_each(|place| *place = new_place(*place).unwrap_or(NONE));
        let sparse = std::mem::take(&mut self.sparse);
        self.sparse.extend(
            sparse
                .into_iter()
                .filter_map(|(place, sparse)| Some((new_place(place)?, sparse))),
        );
        self.rows = rows;
    }

    /// Which points pass.
    pub(crate) fn visible(&self, filter: &IndexFilter) -> Visible {
        let mut visible = Visible {
            passes: vec![false; self.rows.len()],
            count: 0,
            length: 0.0,
            languages: 0,
            labels: 0,
        };
        // A name that is asked for and that no point has: nothing passes.
        let number = |text: Option<&str>| match text {
            None => Some(None),
            Some(text) => self.names.known(text).map(Some),
        };
        let (Some(Some(user)), Some(chat), Some(source), Some(artifact_name)) = (
            number(Some(filter.user.as_str())),
            number(filter.chat.as_deref()),
            number(filter.source.as_ref().map(|source| source.as_str())),
            number(filter.artifact_name.as_deref()),
        ) else {
            return visible;
        };
        let labels = filter
            .labels
            .iter()
            .fold(0, |bits, label| bits | label_bit(*label));
        let from_ms = filter.from_ms.unwrap_or(i64::MIN);
        let to_ms = filter.to_ms.unwrap_or(i64::MAX);
        for (passes, row) in visible.passes.iter_mut().zip(&self.rows) {
            *passes = row.label & labels != 0
                && row.user == user
                && chat.is_none_or(|chat| chat == row.chat)
                && source.is_none_or(|source| source == row.source)
                && artifact_name.is_none_or(|name| name == row.artifact_name)
                && from_ms <= row.time_ms
                && row.time_ms <= to_ms
                && filter
                    .alive_at_ms
                    .is_none_or(|now| now < row.expires_ms || row.expires_ms == i64::MAX);
            if *passes {
                visible.count += 1;
                visible.length += f64::from(row.measure.length);
                visible.languages |= language_bit(row.measure.language);
                visible.labels |= row.label;
            }
        }
        visible
    }

    /// The ids of the points that pass.
    pub(crate) fn ids(&self, visible: &Visible) -> Vec<PointId> {
        let rows = self.rows.iter().zip(&visible.passes);
        rows.filter(|(_, passes)| **passes)
            .map(|(row, _)| row.id)
            .collect()
    }

    /// The place of a point that passes.
    pub(crate) fn place(&self, id: PointId, visible: &Visible) -> Option<u32> {
        self.places
            .get(&id)
            .copied()
            .filter(|place| visible.holds(*place))
    }

    /// The best points of those whose vectors are here, best first; of equal scores the smaller id first.
    pub(crate) fn best(
        &self,
        leg: &Leg,
        visible: &Visible,
        limit: usize,
        least: Option<f32>,
    ) -> Vec<IndexHit> {
        let mut best = Best::new(limit);
        let mut offer = |row: &Row, score: f32| {
            if least.is_none_or(|least| score >= least) {
                best.offer(IndexHit { id: row.id, score });
            }
        };
        match leg {
            Leg::Dense(_) if self.dense.is_empty() => {}
            Leg::Dense(query) => {
                for (row, passes) in self.rows.iter().zip(&visible.passes) {
                    if *passes
                        && row.dense != NONE
                        && let Some(dense) = self.dense.row(row.dense)
                        && dense.len() == query.len()
                    {
                        offer(row, scalar_product(query, dense));
                    }
                }
            }
            Leg::Sparse(query) => {
                for (place, sparse) in &self.sparse {
                    let product = sparse_product(query, sparse);
                    if visible.holds(*place)
                        && product > 0.0
                        && let Some(row) = self.rows.get(to_usize(*place))
                    {
                        offer(row, product);
                    }
                }
            }
        }
        best.into_sorted()
    }

    /// The score of the point at `place`: none if its vector is not here.
    pub(crate) fn score(&self, leg: &Leg, place: u32) -> Option<f32> {
        match leg {
            Leg::Dense(query) => {
                let dense = self.dense.row(self.rows.get(to_usize(place))?.dense)?;
                (dense.len() == query.len()).then(|| scalar_product(query, dense))
            }
            Leg::Sparse(query) => {
                let product = sparse_product(query, self.sparse.get(&place)?);
                (product > 0.0).then_some(product)
            }
        }
    }

    /// What the words of `query` give each place; none if no point that passes shares one.
    pub(crate) fn words(&self, query: &str, visible: &Visible) -> Option<Vec<f32>> {
        self.words.search(query, visible, |place| {
            self.rows.get(to_usize(place)).map(|row| row.measure)
        })
    }

    /// How well each source fits as a whole, by its words; sources without a word of `query` are not named.
    pub(crate) fn source_words(&self, query: &str, visible: &Visible) -> BTreeMap<Source, f32> {
        let row = |place: u32| self.rows.get(to_usize(place));
        self.words.search_groups(
            query,
            visible,
            |place| row(place).map(|row| row.measure),
            |place| row(place)?.stand().map(|(source, _)| source),
        )
    }

    /// The points with the best of `scores`, which are by place.
    pub(crate) fn best_of(&self, scores: &[f32], limit: usize) -> Vec<IndexHit> {
        let mut best = Best::new(limit);
        for (row, score) in self.rows.iter().zip(scores) {
            // A score is never 0: every word weighs something.
            if *score > 0.0 {
                best.offer(IndexHit {
                    id: row.id,
                    score: *score,
                });
            }
        }
        best.into_sorted()
    }

    /// Where a chunk stands.
    pub(crate) fn stand(&self, place: u32) -> Option<Stand> {
        self.rows.get(to_usize(place))?.stand()
    }

    /// Where all chunks that pass stand.
    pub(crate) fn stands(&self, visible: &Visible) -> impl Iterator<Item = (PointId, Stand)> {
        let rows = self.rows.iter().zip(&visible.passes);
        rows.filter(|(_, passes)| **passes)
            .filter_map(|(row, _)| Some((row.id, row.stand()?)))
    }
}

/// The score of vectors as they are stored; none if there is no such vector.
pub(crate) fn score(leg: &Leg, vectors: &Vectors) -> Option<f32> {
    match leg {
        Leg::Dense(query) => {
            let dense = of_length_1(&vectors.dense);
            (dense.len() == query.len()).then(|| scalar_product(query, &dense))
        }
        Leg::Sparse(query) => {
            let product = sparse_product(query, vectors.sparse.as_ref()?);
            (product > 0.0).then_some(product)
        }
    }
}

fn sparse_product(left: &SparseVector, right: &SparseVector) -> f32 {
    let lefts = left.indices.iter().zip(&left.values);
    lefts
        .filter_map(|(index, value)| {
            let place = right.indices.binary_search(index).ok()?;
            Some(value * right.values.get(place)?)
        })
        .sum()
}

/// Best first; of equal scores the smaller id first.
pub(crate) fn sort(hits: &mut [IndexHit]) {
    hits.sort_unstable_by(order);
}

fn order(a: &IndexHit, b: &IndexHit) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id))
}

/// The best of many, without sorting all of them.
struct Best {
    limit: usize,
    hits: Vec<IndexHit>,
    /// What is worse than this need not be looked at.
    least: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            hits: Vec::new(),
            least: f32::NEG_INFINITY,
        }
    }

    fn offer(&mut self, hit: IndexHit) {
        if hit.score < self.least {
            return;
        }
        self.hits.push(hit);
        if self.hits.len() >= self.limit.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.hits.len() > self.limit && self.limit > 0 {
            self.hits.select_nth_unstable_by(self.limit - 1, order);
            self.least = self.hits.get(self.limit - 1).map_or(self.least, |hit| hit.score);
        }
        self.hits.truncate(self.limit);
    }

    fn into_sorted(mut self) -> Vec<IndexHit> {
        self.cut();
        sort(&mut self.hits);
        self.hits
    }
}
