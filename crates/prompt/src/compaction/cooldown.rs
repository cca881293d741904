//! How long compaction rests after it failed.

use serde::{Deserialize, Serialize};

/// Failures of compaction in a row, to be stored with the session so that a restart does not forget them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// How many failures since the last success.
    pub failures: u32,
    /// When the last one was: milliseconds since 1970-01-01 UTC.
    pub failed_at_ms: i64,
}

impl Cooldown {
    /// How long it rests after this many failures: 0, 60, 300, then 900 seconds.
    pub const fn seconds(failures: u32) -> u32 {
        match failures {
            0 => 0,
            1 => 60,
            2 => 300,
            _ => 900,
        }
    }

    /// The state after one more failure.
    #[must_use]
    pub fn failed(self, now_ms: i64) -> Self {
        Self {
            failures: self.failures.saturating_add(1),
            failed_at_ms: now_ms,
        }
    }

    /// Milliseconds from `now_ms` on in which it is not tried; 0 if it may be. A clock that was set back makes the wait no
    /// longer than the whole of it.
    pub fn remaining_ms(self, now_ms: i64) -> u64 {
        let whole = u64::from(Self::seconds(self.failures)).saturating_mul(1_000);
        let passed = u64::try_from(now_ms.saturating_sub(self.failed_at_ms)).unwrap_or(0);
        whole.saturating_sub(passed)
    }
}
