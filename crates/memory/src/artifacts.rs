//! Meta-artifacts: long-term memories of what a user prefers and an agent learned.

mod consolidate;
mod export;
mod forget;
mod limits;
mod listing;
mod name;
mod recall;
mod remember;

pub use consolidate::Consolidated;
pub use forget::Forgotten;
pub use limits::{check_memory, check_version};
pub use listing::{ArtifactIndex, IndexedMemory, MemoryListing, Theme};
pub use recall::{MemorySearch, Recalled, RecalledMemory};
pub use remember::{NewMemory, Outcome, Remembered};

use std::collections::BTreeMap;

/// What a memory's importance multiplies its score with, from 1 to 5.
const WEIGHTS: [f32; 5] = [0.55, 0.75, 1.00, 1.30, 1.70];

/// The weight of an importance.
pub(crate) fn weight(importance: u8) -> f32 {
    let place = usize::from(importance.clamp(1, 5)) - 1;
    WEIGHTS.get(place).copied().unwrap_or(1.0)
}

/// How many milliseconds a memory of that importance lives.
pub(crate) fn lifetime_ms(days: &[u32; 5], importance: u8) -> i64 {
    let place = usize::from(importance.clamp(1, 5)) - 1;
    let days = days.get(place).copied().unwrap_or(30);
    i64::from(days).saturating_mul(24 * 60 * 60 * 1_000)
}

/// How often each word occurs, the most frequent first, then by the word.
pub(crate) fn counted(words: impl IntoIterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|(_, a), (_, b)| b.cmp(a));
    counts
}
