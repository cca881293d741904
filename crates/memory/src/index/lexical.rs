//! Search by words (BM25) over what may be seen.

use super::point::{IndexFilter, IndexPoint, PointPayload};
use crate::text::{Language, content_words, hash_of, terms};
use std::collections::{BTreeMap, HashMap};
use tidegate_store::PointId;

/// How fast a word that comes again counts less (BM25's usual value; smaller ones help one corpus and ruin another).
const K1: f32 = 1.2;

/// How much the length of a text counts (BM25's usual value).
const B: f32 = 0.75;

/// The words of all points of a collection.
///
/// What a word weighs is computed for each search from the points that pass its filter alone: nothing about others
/// can be told from a score.
#[derive(Debug, Default)]
pub(crate) struct LexicalTable {
    slots: Vec<Option<Slot>>,
    by_id: HashMap<PointId, u32>,
    /// Where a term stands, and how often. Slots that were emptied may still be named.
    postings: HashMap<u32, Vec<(u32, f32)>>,
    languages: BTreeMap<Language, usize>,
}

#[derive(Debug)]
struct Slot {
    id: PointId,
    payload: PointPayload,
    language: Language,
    length: f32,
    terms: Vec<u32>,
    values: Vec<f32>,
}

/// Who found what: score by id, best first.
pub(crate) type LexicalHits = Vec<(PointId, f32)>;

impl LexicalTable {
    pub(crate) fn upsert(&mut self, point: &IndexPoint) {
        self.delete(point.id);
        let language = Language::of_code(&point.payload.language);
        let place = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        for (term, count) in point.lexical.indices.iter().zip(&point.lexical.values) {
            self.postings.entry(*term).or_default().push((place, *count));
        }
        *self.languages.entry(language).or_default() += 1;
        self.by_id.insert(point.id, place);
        self.slots.push(Some(Slot {
            id: point.id,
            payload: point.payload.clone(),
            language,
            length: point.lexical.values.iter().sum(),
            terms: point.lexical.indices.clone(),
            values: point.lexical.values.clone(),
        }));
    }

    pub(crate) fn delete(&mut self, id: PointId) {
        let Some(place) = self.by_id.remove(&id) else { return };
        let slot = self.slots.get_mut(to_usize(place)).and_then(Option::take);
        if let Some(slot) = slot
            && let Some(count) = self.languages.get_mut(&slot.language)
        {
            *count = count.saturating_sub(1);
        }
        // Taking it out of every list would cost as much as the longest of them.
        if self.slots.len() > 1_024 && self.by_id.len() < self.slots.len() / 2 {
            self.tidy();
        }
    }

    /// Makes the lists anew, without empty slots.
    fn tidy(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        self.postings.clear();
        for slot in slots.into_iter().flatten() {
            let place = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
            for (term, count) in slot.terms.iter().zip(&slot.values) {
                self.postings.entry(*term).or_default().push((place, *count));
            }
            self.by_id.insert(slot.id, place);
            self.slots.push(Some(slot));
        }
    }

    /// All points that pass, with their payloads.
    pub(crate) fn passing<'a>(
        &'a self,
        filter: &'a IndexFilter,
    ) -> impl Iterator<Item = (PointId, &'a PointPayload)> {
        self.slots
            .iter()
            .flatten()
            .filter(|slot| filter.passes(&slot.payload))
            .map(|slot| (slot.id, &slot.payload))
    }

    /// Every point that passes and shares a word with `query`.
    pub(crate) fn search(&self, query: &str, filter: &IndexFilter) -> LexicalHits {
        let mut visible = vec![false; self.slots.len()];
        let (mut count, mut length) = (0.0_f32, 0.0_f32);
        for (seen, slot) in visible.iter_mut().zip(&self.slots) {
            if let Some(slot) = slot
                && filter.passes(&slot.payload)
            {
                *seen = true;
                count += 1.0;
                length += slot.length;
            }
        }
        if count == 0.0 {
            return Vec::new();
        }
        let mean = (length / count).max(1.0);
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for alternatives in self.query_terms(query) {
            let places = self.places(&alternatives, &visible);
            #[expect(clippy::cast_precision_loss, reason = "a number of points")]
            let frequency = places.len() as f32;
            let weight = (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln();
            for (place, times, length) in places {
                let saturated = times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / mean));
                *scores.entry(place).or_default() += weight * saturated;
            }
        }
        let mut hits: LexicalHits = scores
            .into_iter()
            .filter_map(|(place, score)| {
                let slot = self.slots.get(to_usize(place))?.as_ref()?;
                Some((slot.id, score))
            })
            .collect();
        hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        hits
    }

    /// The numbers of the query's terms, each with the form it has in every language that occurs.
    fn query_terms(&self, query: &str) -> Vec<BTreeMap<Language, u32>> {
        let languages = self.languages.iter().filter(|(_, count)| **count > 0);
        let languages: Vec<Language> = languages.map(|(language, _)| *language).collect();
        let mut wanted: Vec<BTreeMap<Language, u32>> = Vec::new();
        for word in content_words(query) {
            // A word without spaces gives several terms, the same ones in each language.
            let forms: Vec<Vec<String>> = languages.iter().map(|language| terms(&word, *language)).collect();
            for place in 0..forms.iter().map(Vec::len).max().unwrap_or(0) {
                let numbers: BTreeMap<Language, u32> = languages
                    .iter()
                    .zip(&forms)
                    .filter_map(|(language, forms)| Some((*language, hash_of(forms.get(place)?))))
                    .collect();
                if !wanted.contains(&numbers) {
                    wanted.push(numbers);
                }
            }
        }
        wanted
    }

    /// Where one of the forms stands in a point of its language: place, how often, length of the point.
    fn places(&self, forms: &BTreeMap<Language, u32>, visible: &[bool]) -> Vec<(u32, f32, f32)> {
        let mut numbers: Vec<u32> = forms.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut places = Vec::new();
        for number in numbers {
            for (place, times) in self.postings.get(&number).into_iter().flatten() {
                if !visible.get(to_usize(*place)).is_some_and(|seen| *seen) {
                    continue;
                }
                let Some(slot) = self.slots.get(to_usize(*place)).and_then(Option::as_ref) else {
                    continue;
                };
                if forms.get(&slot.language) == Some(&number) {
                    places.push((*place, *times, slot.length));
                }
            }
        }
        places
    }
}

fn to_usize(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}
