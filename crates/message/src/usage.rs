//! What model calls cost, in tokens.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Tokens of one or more model calls, by kind. The kinds do not overlap: input is the sum of the first three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input computed anew.
    pub uncached: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Output, thinking included.
    pub output: u64,
}

impl Usage {
    /// All input tokens.
    pub fn input(&self) -> u64 {
        self.uncached
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.uncached = self.uncached.saturating_add(other.uncached);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
    }
}
