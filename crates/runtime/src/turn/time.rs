//! How long a turn may take.

use crate::CancelToken;
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// The end of a turn's time, counted from when this process began it or took it up (`[agent] turn_timeout_s`).
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimit {
    allowed: Duration,
    /// None if it lies beyond what the clock can count.
    until: Option<Instant>,
}

impl TimeLimit {
    pub(super) fn new(seconds: u64) -> Self {
        let allowed = Duration::from_secs(seconds);
        Self {
            allowed,
            until: Instant::now().checked_add(allowed),
        }
    }

    pub(super) fn allowed(self) -> Duration {
        self.allowed
    }

    pub(super) fn is_up(self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Does `work`, and cancels it when the time is up; it still ends in its own way then.
    pub(super) async fn limits<T>(self, cancel: &CancelToken, work: impl Future<Output = T>) -> T {
        let Some(until) = self.until else {
            return work.await;
        };
        let mut work = pin!(work);
        tokio::select! {
            biased;
            ended = &mut work => ended,
            () = tokio::time::sleep_until(until) => {
                cancel.cancel();
                work.await
            }
        }
    }
}
