//! The best of many.

use super::contract::IndexHit;

/// Best first; of equal scores the smaller id first.
pub(crate) fn sort(hits: &mut [IndexHit]) {
    hits.sort_unstable_by(order);
}

fn order(a: &IndexHit, b: &IndexHit) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id))
}

/// The best of many, without sorting all of them.
pub(super) struct Best {
    limit: usize,
    hits: Vec<IndexHit>,
    /// What is worse than this need not be looked at.
    least: f32,
}

impl Best {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            hits: Vec::new(),
            least: f32::NEG_INFINITY,
        }
    }

    pub(super) fn offer(&mut self, hit: IndexHit) {
        if hit.score < self.least {
            return;
        }
        self.hits.push(hit);
        if self.hits.len() >= self.limit.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    /// In no particular order.
    pub(super) fn into_hits(mut self) -> Vec<IndexHit> {
        self.cut();
        self.hits
    }

    fn cut(&mut self) {
        if self.hits.len() > self.limit && self.limit > 0 {
            self.hits.select_nth_unstable_by(self.limit - 1, order);
            self.least = self.hits.get(self.limit - 1).map_or(self.least, |hit| hit.score);
        }
        self.hits.truncate(self.limit);
    }

    /// All of them, best first.
    pub(super) fn into_sorted(mut self) -> Vec<IndexHit> {
        self.cut();
        sort(&mut self.hits);
        self.hits
    }
}
