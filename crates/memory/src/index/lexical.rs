//! Where words stand, and what they weigh (BM25) among what may be seen.

use super::table::Visible;
use crate::text::{Language, content_words, hash_of, terms};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// How fast a word that comes again counts less (BM25's usual value; smaller ones help one corpus and ruin another).
const K1: f32 = 1.2;

/// How much the length of a text counts (BM25's usual value).
const B: f32 = 0.75;

/// Where each term stands, and how often.
///
/// What a word weighs is computed for each search from the points that may be seen alone: nothing about others can be
/// told from a score.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    lists: HashMap<u32, Vec<(u32, f32)>, BuildHasherDefault<Spread>>,
}

/// What a search has to know of a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) language: Language,
    pub(crate) length: f32,
}

/// Terms are numbers that are hashes already: they only have to be spread over all bits.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Postings {
    /// The point at `place` has these terms.
    pub(crate) fn add(&mut self, place: u32, terms: &[u32], counts: &[f32]) {
        for (term, count) in terms.iter().zip(counts) {
            self.lists.entry(*term).or_default().push((place, *count));
        }
    }

    /// Points have other places now; those without one are gone.
    pub(crate) fn renumber(&mut self, new_place: impl Fn(u32) -> Option<u32>) {
        self.lists.retain(|_, list| {
            list.retain_mut(|(place, _)| match new_place(*place) {
                Some(new) => {
                    *place = new;
                    true
                }
                None => false,
            });
            list.shrink_to_fit();
            !list.is_empty()
        });
    }

    /// The score of each place; 0 for a point that shares no word with `query` or may not be seen. None if no point that
    /// may be seen shares one.
    pub(crate) fn search(
        &self,
        query: &str,
        visible: &Visible,
        measure: impl Fn(u32) -> Option<Measure>,
    ) -> Option<Vec<f32>> {
        let count = visible.count();
        let mean = visible.mean_length().max(1.0);
        let mut scores: Option<Vec<f32>> = None;
        for forms in query_terms(query, visible.languages()) {
            let places = self.places(&forms, visible, &measure);
            if places.is_empty() {
                continue;
            }
            let weight = rarity(count, places.len());
            let scores = scores.get_or_insert_with(|| vec![0.0; visible.places()]);
            for (place, times, length) in places {
                if let Some(score) = scores.get_mut(to_usize(place)) {
                    *score += weight * saturated(times, length / mean);
                }
            }
        }
        scores
    }

    /// The score of each group of points, taken as one long text. Groups without a word of `query` are not named.
    pub(crate) fn search_groups<G: Copy + Ord>(
        &self,
        query: &str,
        visible: &Visible,
        measure: impl Fn(u32) -> Option<Measure>,
        group: impl Fn(u32) -> Option<G>,
    ) -> BTreeMap<G, f32> {
        let mut lengths: BTreeMap<G, f32> = BTreeMap::new();
        for place in (0..).take(visible.places()).filter(|place| visible.holds(*place)) {
            if let (Some(group), Some(measure)) = (group(place), measure(place)) {
                *lengths.entry(group).or_default() += measure.length;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of groups")]
        let count = lengths.len() as f32;
        let mean = (lengths.values().sum::<f32>() / count.max(1.0)).max(1.0);
        let mut scores: BTreeMap<G, f32> = BTreeMap::new();
        for forms in query_terms(query, visible.languages()) {
            let mut times: BTreeMap<G, f32> = BTreeMap::new();
            for (place, more, _) in self.places(&forms, visible, &measure) {
                if let Some(group) = group(place) {
                    *times.entry(group).or_default() += more;
                }
            }
            let weight = rarity(count, times.len());
            for (group, times) in times {
                let length = lengths.get(&group).copied().unwrap_or(mean);
                *scores.entry(group).or_default() += weight * saturated(times, length / mean);
            }
        }
        scores
    }

    /// Where one of the forms stands in a point of its language: place, how often, length of the point.
    fn places(
        &self,
        forms: &BTreeMap<Language, u32>,
        visible: &Visible,
        measure: &impl Fn(u32) -> Option<Measure>,
    ) -> Vec<(u32, f32, f32)> {
        let mut numbers: Vec<u32> = forms.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut places = Vec::new();
        for number in numbers {
            for (place, times) in self.lists.get(&number).into_iter().flatten() {
                if !visible.holds(*place) {
                    continue;
                }
                let Some(measure) = measure(*place) else { continue };
                if forms.get(&measure.language) == Some(&number) {
                    places.push((*place, *times, measure.length));
                }
            }
        }
        places
    }
}

/// What a word weighs that stands in `frequency` of `count` texts.
fn rarity(count: f32, frequency: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a number of texts")]
    let frequency = frequency as f32;
    (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// What a word counts that stands so many times in a text, whose length is given in mean lengths.
fn saturated(times: f32, length: f32) -> f32 {
    times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length))
}

/// The numbers of the query's terms, each with the form it has in every language of what may be seen: that others
/// hold more languages must not tell.
fn query_terms(query: &str, languages: Vec<Language>) -> Vec<BTreeMap<Language, u32>> {
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

pub(crate) fn to_usize(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}
