//! Which chunks answer best.

use crate::fusion::{Scores, normalise};
use crate::index::{IndexFilter, Source, Stand};
use crate::{Embedding, Memory, MemoryError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidegate_policy::Label;
use tidegate_store::{Collection, PointId};

/// How much of its neighbours' score a chunk gets: an answer stands beside what it answers.
const NEIGHBOUR: f32 = 0.2;

/// The weight of the prior of a chunk's source: where several chunks fit, the source is about it.
const SOURCE: f32 = 0.5;

/// How many of a source's best chunks make its prior.
const BEST: usize = 3;

/// The fewest candidates of each leg.
const CANDIDATES: usize = 100;

/// Where a chunk stands: in which source, and which chunks stand beside it.
struct Place {
    source: Source,
    beside: Vec<PointId>,
}

/// The places of the candidates and of the chunks beside them.
type Places = HashMap<PointId, Place>;

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
        let share = if embedding.is_none() {
            0.0
        } else if self.inner.settings.mode.has_words() {
            self.inner.embedder.dense_share()
        } else {
            1.0
        };
        let fused = scores.fused(share);
        if fused.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.places(&fused, filter);
        let mut ranked: Vec<(PointId, f32)> = with_surroundings(&fused, &places).into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked.truncate(limit);
        Ok(ranked)
    }

    /// Where the candidates stand.
    fn places(&self, candidates: &Scores, filter: &IndexFilter) -> Places {
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
            let mut places = Places::new();
            for (id, (source, ordinal)) in stands {
                let beside: Vec<PointId> = [ordinal.checked_sub(1), ordinal.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .filter_map(|ordinal| by_stand.get(&(source, ordinal)).copied())
                    .collect();
                for neighbour in &beside {
                    places.entry(*neighbour).or_insert(Place {
                        source,
                        beside: Vec::new(),
                    });
                }
                places.insert(id, Place { source, beside });
            }
            places
        })
    }
}

/// Scores with what neighbours and sources add.
fn with_surroundings(fused: &Scores, places: &Places) -> Scores {
    let priors = priors(fused, places);
    let mut sums = Scores::new();
    for (id, score) in fused {
        *sums.entry(*id).or_default() += score;
        for neighbour in places.get(id).into_iter().flat_map(|place| &place.beside) {
            *sums.entry(*neighbour).or_default() += NEIGHBOUR * score;
        }
    }
    for (id, sum) in &mut sums {
        if let Some(place) = places.get(id) {
            *sum += SOURCE * priors.get(&place.source).copied().unwrap_or(0.0);
        }
    }
    normalise(&mut sums);
    sums
}

/// For each source the mean of its best chunks, from 0 to 1.
fn priors(fused: &Scores, places: &Places) -> BTreeMap<Source, f32> {
    let mut by_source: BTreeMap<Source, Vec<f32>> = BTreeMap::new();
    for (id, score) in fused {
        if let Some(place) = places.get(id) {
            by_source.entry(place.source).or_default().push(*score);
        }
    }
    let mut priors: BTreeMap<_, f32> = by_source
        .into_iter()
        .map(|(source, mut scores)| {
            scores.sort_unstable_by(|a, b| b.total_cmp(a));
            #[expect(clippy::cast_precision_loss, reason = "three")]
            let mean = scores.iter().take(BEST).sum::<f32>() / BEST as f32;
            (source, mean)
        })
        .collect();
    let most = priors.values().copied().fold(0.0, f32::max);
    if most > 0.0 {
        priors.values_mut().for_each(|prior| *prior /= most);
    }
    priors
}
