//! What compaction goes by.

use crate::Prices;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a transcript is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionCause {
    /// It has reached the threshold.
    Threshold,
    /// A provider said that the request does not fit: one pass, at once, whatever the cooldown. The request counts as
    /// large as the window at least, since the estimate was wrong.
    Overflow,
    /// Somebody asked for it. It sums up even if stubs alone would do.
    Manual,
}

impl fmt::Display for CompactionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Manual => "manual",
        })
    }
}

/// What stays and how far compaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSettings {
    /// Messages at the beginning that stay. Default 3.
    pub protect_first: usize,
    /// About how many messages at the end stay, as far as they are not huge. Default 20.
    pub protect_last: usize,
    /// Tool results with more characters than this become stubs. Default 200.
    pub stub_over: usize,
    /// The most passes. Default 3.
    pub max_passes: u32,
    /// The most tokens a request for a summary has, about: half of the auxiliary model's window, say. Default 60,000; never
    /// more than half of the session's own window.
    pub request_tokens: u64,
    /// The most tokens a summary has. Default 4,000; less in small windows.
    pub summary_tokens: u64,
    /// What attachments cost.
    pub prices: Prices,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            protect_first: 3,
            protect_last: 20,
            stub_over: 200,
            max_passes: 3,
            request_tokens: 60_000,
            summary_tokens: 4_000,
            prices: Prices::default(),
        }
    }
}
