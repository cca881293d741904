//! Which chunks answer best.

use crate::fusion::{Scores, normalise};
use crate::index::IndexFilter;
use crate::{Embedding, Memory, MemoryError};
use std::collections::{BTreeMap, HashMap};
use tidegate_policy::SourceId;
use tidegate_store::{Collection, PointId};
use std::sync::Arc;

/// How much of its neighbours' score a chunk gets: an answer stands beside what it answers.
const NEIGHBOUR: f32 = 0.2;

/// The weight of the prior of a chunk's source: where several chunks fit, the source is about it.
const SOURCE: f32 = 0.5;

/// How many of a source's best chunks make its prior.
const BEST: usize = 3;

/// The fewest candidates of each leg.
const CANDIDATES: usize = 100;

/// Where a chunk stands.
type Place = (Arc<str>, SourceId, u32);

impl Memory {
    /// The chunks that pass, best first, at most `limit`.
    pub(crate) async fn rank_chunks(
        &self,
        query: &str,
        embedding: Option<&Embedding>,
        filter: &IndexFilter,
        limit: usize,
    ) -> Result<Vec<(PointId, f32)>, MemoryError> {
        let depth = limit.saturating_mul(3).max(CANDIDATES);
        let scores = self
            .leg_scores(Collection::SessionRag, query, embedding, filter, depth)
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
        let places: HashMap<PointId, Place> = self
            .inner
            .follower
            .passing(Collection::SessionRag, filter)
            .into_iter()
            .filter_map(|(id, payload)| Some((id, (payload.chat, payload.source?, payload.ordinal?))))
            .collect();
        let mut ranked: Vec<(PointId, f32)> = with_surroundings(&fused, &places).into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked.truncate(limit);
        Ok(ranked)
    }
}

/// Scores with what neighbours and sources add.
fn with_surroundings(fused: &Scores, places: &HashMap<PointId, Place>) -> Scores {
    let by_place: HashMap<&Place, PointId> = places.iter().map(|(id, place)| (place, *id)).collect();
    let priors = priors(fused, places);
    let mut sums = Scores::new();
    let neighbour = |place: &Place, step: i64| {
        let ordinal = i64::from(place.2).checked_add(step)?;
        let there = (Arc::clone(&place.0), place.1.clone(), u32::try_from(ordinal).ok()?);
        by_place.get(&there).copied()
    };
    for (id, score) in fused {
        *sums.entry(*id).or_default() += score;
        let Some(place) = places.get(id) else { continue };
        for step in [-1, 1] {
            if let Some(neighbour) = neighbour(place, step) {
                *sums.entry(neighbour).or_default() += NEIGHBOUR * score;
            }
        }
    }
    for (id, sum) in &mut sums {
        if let Some((chat, source, _)) = places.get(id) {
            *sum += SOURCE * priors.get(&(Arc::clone(chat), source.clone())).copied().unwrap_or(0.0);
        }
    }
    normalise(&mut sums);
    sums
}

/// For each source the mean of its best chunks, from 0 to 1.
fn priors(fused: &Scores, places: &HashMap<PointId, Place>) -> BTreeMap<(Arc<str>, SourceId), f32> {
    let mut by_source: BTreeMap<(Arc<str>, SourceId), Vec<f32>> = BTreeMap::new();
    for (id, score) in fused {
        if let Some((chat, source, _)) = places.get(id) {
            by_source.entry((Arc::clone(chat), source.clone())).or_default().push(*score);
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
