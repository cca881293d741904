//! One score of several.

use std::collections::BTreeMap;
use tidegate_store::PointId;

/// Scores by id.
pub(crate) type Scores = BTreeMap<PointId, f32>;

/// `scores` moved to 0 to 1 (min-max). Scores that are all the same become 1.
///
/// Cosines of different models lie in different places, and BM25 has no upper bound at all: only after this they may
/// be added.
pub(crate) fn normalise(scores: &mut Scores) {
    let least = scores.values().copied().fold(f32::INFINITY, f32::min);
    let most = scores.values().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = most - least;
    for score in scores.values_mut() {
        *score = if range > f32::EPSILON { (*score - least) / range } else { 1.0 };
    }
}

/// The weighted sum of normalised scores, divided by the sum of the weights. Who is missing in one has 0 there.
pub(crate) fn weighted_sum(legs: impl IntoIterator<Item = (Scores, f32)>) -> Scores {
    let mut sums = Scores::new();
    let mut total = 0.0;
    for (mut scores, weight) in legs {
        if weight <= 0.0 || scores.is_empty() {
            continue;
        }
        total += weight;
        normalise(&mut scores);
        for (id, score) in scores {
            *sums.entry(id).or_default() += weight * score;
        }
    }
    if total > 0.0 {
        sums.values_mut().for_each(|sum| *sum /= total);
    }
    sums
}
