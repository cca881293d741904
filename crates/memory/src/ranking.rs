//! Candidates of both legs, and one score for each.

use crate::fusion::{Scores, weighted_sum};
use crate::index::{IndexFilter, Leg, Question};
use crate::{Embedding, Memory, MemoryError};
use std::sync::Arc;
use tidegate_policy::Label;
use tidegate_store::{Collection, PointId};

/// The share of a learned sparse vector, where there is one, of what words have.
const SPARSE_SHARE: f32 = 0.5;

/// The scores of a query, by leg.
#[derive(Debug)]
pub(crate) struct LegScores {
    /// Cosines.
    pub(crate) dense: Scores,
    /// Scalar products of learned sparse vectors.
    pub(crate) sparse: Scores,
    /// BM25.
    pub(crate) lexical: Scores,
    /// The join of the labels of all items that were looked at.
    pub(crate) label: Label,
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

    /// Whether this one shares no word with the query, and is no nearer to it than chance has it.
    pub(crate) fn is_noise(&self, id: PointId, noise: f32) -> bool {
        let of = |scores: &Scores| scores.get(&id).copied().unwrap_or(0.0);
        of(&self.lexical) <= 0.0 && of(&self.sparse) <= 0.0 && of(&self.dense) <= noise
    }

    /// One score for each, from 0 to 1, by normalised weighted sum.
    pub(crate) fn fused(self, dense_share: f32) -> Scores {
        let words = 1.0 - dense_share;
        let sparse = if self.sparse.is_empty() {
            0.0
        } else {
            words * SPARSE_SHARE
        };
        weighted_sum([
            (self.dense, dense_share),
            (self.sparse, sparse),
            (self.lexical, words - sparse),
        ])
    }
}

impl Memory {
    /// Whether words are asked beside `embedding`. Without one they are all there is, whatever was set.
    pub(crate) fn asks_words(&self, embedding: Option<&Embedding>) -> bool {
        self.inner.settings.mode.has_words() || embedding.is_none()
    }

    /// The share of the dense leg in a fused score.
    pub(crate) fn dense_share(&self, embedding: Option<&Embedding>) -> f32 {
        match embedding {
            None => 0.0,
            Some(_) if self.asks_words(embedding) => self.inner.embedder.dense_share(),
            Some(_) => 1.0,
        }
    }

    /// The best `depth` of each leg, and for all of them the exact scores in every leg. `label` is the query's.
    pub(crate) async fn leg_scores(
        &self,
        collection: Collection,
        query: &str,
        label: Label,
        embedding: Option<&Embedding>,
        filter: &IndexFilter,
        depth: usize,
    ) -> Result<LegScores, MemoryError> {
        let dense =
            embedding.map(|embedding| Leg::Dense(crate::embedder::normalised(&embedding.dense).into()));
        let sparse = embedding
            .and_then(|embedding| embedding.sparse.clone())
            .map(|sparse| Leg::Sparse(Arc::new(sparse)));
        let question = Question {
            collection,
            text: query.to_owned(),
            label,
            dense,
            sparse,
            words: self.asks_words(embedding),
            filter: filter.clone(),
            depth,
        };
        self.inner.follower.leg_scores(question).await
    }
}
