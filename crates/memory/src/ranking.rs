//! Candidates of both legs, and one score for each.

use crate::fusion::{Scores, weighted_sum};
use crate::index::{IndexFilter, Leg, Legs};
use crate::{Embedding, Memory, MemoryError};
use std::sync::Arc;
use tidegate_store::{Collection, PointId};

/// The share of a learned sparse vector, where there is one, of what words have.
const SPARSE_SHARE: f32 = 0.5;

/// The scores of a query, by leg.
#[derive(Debug, Default)]
pub(crate) struct LegScores {
    /// Cosines.
    pub(crate) dense: Scores,
    /// Scalar products of learned sparse vectors.
    pub(crate) sparse: Scores,
    /// BM25.
    pub(crate) lexical: Scores,
}

impl LegScores {
    /// Whoever has a score, by id.
    pub(crate) fn ids(&self) -> Vec<PointId> {
        let mut ids: Vec<PointId> = [&self.dense, &self.sparse, &self.lexical]
            .into_iter()
            .flat_map(|scores| scores.keys().copied())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// One score for each, from 0 to 1, by normalised weighted sum.
    pub(crate) fn fused(self, dense_share: f32) -> Scores {
        let words = 1.0 - dense_share;
        let sparse = if self.sparse.is_empty() { 0.0 } else { words * SPARSE_SHARE };
        weighted_sum([
            (self.dense, dense_share),
            (self.sparse, sparse),
            (self.lexical, words - sparse),
        ])
    }
}

impl Memory {
    /// The best `depth` of each leg, and for all of them the exact scores in every leg.
    pub(crate) async fn leg_scores(
        &self,
        collection: Collection,
        query: &str,
        embedding: Option<&Embedding>,
        filter: &IndexFilter,
        depth: usize,
    ) -> Result<LegScores, MemoryError> {
        let follower = &self.inner.follower;
        let legs = Legs {
            collection,
            filter,
            limit: depth,
            least: None,
        };
        let dense_leg = embedding.map(|embedding| Leg::Dense(crate::embedder::normalised(&embedding.dense).into()));
        let sparse_leg = embedding
            .and_then(|embedding| embedding.sparse.clone())
            .map(|sparse| Leg::Sparse(Arc::new(sparse)));
        let mut scores = LegScores::default();
        if let Some(leg) = &dense_leg {
            let hits = follower.search(&legs, leg).await?;
            scores.dense = hits.iter().map(|hit| (hit.id, hit.score)).collect();
        }
        if let Some(leg) = &sparse_leg {
            let hits = follower.search(&legs, leg).await?;
            scores.sparse = hits.iter().map(|hit| (hit.id, hit.score)).collect();
        }
        // Without a vector words are all there is, whatever was set.
        let words = if self.inner.settings.mode.has_words() || embedding.is_none() {
            follower.words(collection, query, filter)
        } else {
            Vec::new()
        };
        scores.lexical = words.iter().take(depth).copied().collect();
        self.complete(collection, &mut scores, &words, dense_leg.as_ref(), sparse_leg.as_ref())
            .await?;
        Ok(scores)
    }

    /// Gives whoever was found by one leg its exact scores in the others.
    pub(crate) async fn complete(
        &self,
        collection: Collection,
        scores: &mut LegScores,
        words: &[(PointId, f32)],
        dense_leg: Option<&Leg>,
        sparse_leg: Option<&Leg>,
    ) -> Result<(), MemoryError> {
        let follower = &self.inner.follower;
        let ids = scores.ids();
        if let Some(leg) = dense_leg {
            let missing: Vec<PointId> = missing(&ids, &scores.dense);
            scores.dense.extend(follower.scores(collection, &missing, leg).await?);
        }
        if let Some(leg) = sparse_leg {
            let missing: Vec<PointId> = missing(&ids, &scores.sparse);
            scores.sparse.extend(follower.scores(collection, &missing, leg).await?);
        }
        if !words.is_empty() {
            scores
                .lexical
                .extend(words.iter().copied().filter(|(id, _)| ids.binary_search(id).is_ok()));
            // Who shares no word has the score of nothing, which is where the scale begins.
            for id in &ids {
                scores.lexical.entry(*id).or_insert(0.0);
            }
        }
        Ok(())
    }
}

fn missing(ids: &[PointId], scores: &Scores) -> Vec<PointId> {
    ids.iter().filter(|id| !scores.contains_key(id)).copied().collect()
}
