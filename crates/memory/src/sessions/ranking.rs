//! Which chunks answer best.

use crate::fusion::{Scores, normalise};
use crate::index::{IndexFilter, Source, Stand};
use crate::{Embedding, Memory, MemoryError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidegate_policy::Label;
use tidegate_store::{Collection, PointId};

/// How much of the score of those around it a chunk gets, by distance: an answer stands beside what it answers.
const NEIGHBOURS: [f32; 2] = [0.2, 0.1];

/// The weight of the prior of a chunk's source: where several chunks fit, the source is about it.
const SOURCE: f32 = 0.5;

/// The weight of how well the words of a chunk's source fit as a whole: what is asked is often said over several chunks.
const SOURCE_WORDS: f32 = 0.3;

/// How many of a source's best chunks make its prior.
const BEST: usize = 3;

/// The fewest candidates of each leg.
const CANDIDATES: usize = 100;

/// Where a chunk stands: in which source, and which chunks stand around it, with the share that they get of its score.
struct Place {
    source: Source,
    around: Vec<(PointId, f32)>,
}

/// The places of the candidates and of the chunks around them, and how well the words of sources fit.
#[derive(Default)]
struct Surroundings {
    places: HashMap<PointId, Place>,
    source_words: BTreeMap<Source, f32>,
}

impl Memory {
    /// The chunks that pass, best first, at most `limit`.
    pub(crate) async fn rank_chunks(
        &self,
        query: &str,
        label: Label,
        embedding: Option<&Embedding>,
        filter: &IndexFilter,
        limit: usize,
    ) -> Result<Vec<(PointId, f32)>, MemoryError> {
        let depth = limit.saturating_mul(3).max(CANDIDATES);
        let scores = self
            .leg_scores(Collection::SessionRag, query, label, embedding, filter, depth)
            .await?;
        let fused = scores.fused(self.dense_share(embedding));
        if fused.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.asks_words(embedding).then_some(query);
        let surroundings = self.surroundings(&fused, query, filter);
        let mut ranked: Vec<(PointId, f32)> = surroundings.added_to(&fused).into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked.truncate(limit);
        Ok(ranked)
    }

    /// What stands around the candidates.
    fn surroundings(&self, candidates: &Scores, query: Option<&str>, filter: &IndexFilter) -> Surroundings {
        self.inner.follower.table(Collection::SessionRag, |table| {
            let visible = table.visible(filter);
            let stands: Vec<(PointId, Stand)> = candidates
                .keys()
                .filter_map(|id| Some((*id, table.stand(table.place(*id, &visible)?)?)))
                .collect();
            let sources: BTreeSet<Source> = stands.iter().map(|(_, (source, _))| *source).collect();
            let by_stand: HashMap<Stand, PointId> = table
                .stands(&visible)
                .filter(|(_, (source, _))| sources.contains(source))
                .map(|(id, stand)| (stand, id))
                .collect();
            let mut found = Surroundings::default();
            for (id, (source, ordinal)) in stands {
                let around: Vec<(PointId, f32)> = (1..)
                    .zip(NEIGHBOURS)
                    .flat_map(|(distance, share)| {
                        [ordinal.checked_sub(distance), ordinal.checked_add(distance)]
                            .into_iter()
                            .flatten()
                            .map(move |ordinal| (ordinal, share))
                    })
                    .filter_map(|(ordinal, share)| Some((*by_stand.get(&(source, ordinal))?, share)))
                    .collect();
                for (neighbour, _) in &around {
                    found.places.entry(*neighbour).or_insert(Place {
                        source,
                        around: Vec::new(),
                    });
                }
                found.places.insert(id, Place { source, around });
            }
            // A source alone cannot be told from others.
            if let Some(query) = query.filter(|_| sources.len() > 1) {
                found.source_words = table.source_words(query, &visible);
            }
            found
        })
    }
}

impl Surroundings {
    /// Scores with what neighbours and sources add.
    fn added_to(&self, fused: &Scores) -> Scores {
        let mut sums = Scores::new();
        for (id, score) in fused {
            *sums.entry(*id).or_default() += score;
            for (neighbour, share) in self.places.get(id).into_iter().flat_map(|place| &place.around) {
                *sums.entry(*neighbour).or_default() += share * score;
            }
        }
        let mut words = self.source_words.clone();
        to_its_most(&mut words);
        let priors = self.priors(fused);
        for (id, sum) in &mut sums {
            if let Some(place) = self.places.get(id) {
                let of_source =
                    |scores: &BTreeMap<Source, f32>| scores.get(&place.source).copied().unwrap_or(0.0);
                *sum += SOURCE * of_source(&priors) + SOURCE_WORDS * of_source(&words);
            }
        }
        normalise(&mut sums);
        sums
    }

    /// For each source the mean of its best chunks, from 0 to 1.
    fn priors(&self, fused: &Scores) -> BTreeMap<Source, f32> {
        let mut by_source: BTreeMap<Source, Vec<f32>> = BTreeMap::new();
        for (id, score) in fused {
            if let Some(place) = self.places.get(id) {
                by_source.entry(place.source).or_default().push(*score);
            }
        }
        let mut priors: BTreeMap<Source, f32> = by_source
            .into_iter()
            .map(|(source, mut scores)| {
                scores.sort_unstable_by(|a, b| b.total_cmp(a));
                #[expect(clippy::cast_precision_loss, reason = "three")]
                let mean = scores.iter().take(BEST).sum::<f32>() / BEST as f32;
                (source, mean)
            })
            .collect();
        to_its_most(&mut priors);
        priors
    }
}

/// Scores from 0 to 1, the greatest of which is 1.
fn to_its_most(scores: &mut BTreeMap<Source, f32>) {
    let most = scores.values().copied().fold(0.0, f32::max);
    if most > 0.0 {
        scores.values_mut().for_each(|score| *score /= most);
    }
}
