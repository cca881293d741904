//! Whether a pass was worth it.

use serde::{Deserialize, Serialize};

/// How large a transcript is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Messages before.
    pub messages_before: usize,
    /// Messages after.
    pub messages_after: usize,
    /// Tokens of the whole request before.
    pub tokens_before: u64,
    /// Tokens of the whole request after.
    pub tokens_after: u64,
}

impl Progress {
    /// Whether it is progress: fewer messages, or at least 5 % fewer tokens.
    pub fn is_made(&self) -> bool {
        let (before, after) = (u128::from(self.tokens_before), u128::from(self.tokens_after));
        self.messages_after < self.messages_before
            || (after < before && after.saturating_mul(100) <= before.saturating_mul(95))
    }
}
