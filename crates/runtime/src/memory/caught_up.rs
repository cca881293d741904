//! When to look for what other processes wrote.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old what is known of other processes' writes may be at the beginning of a turn. A search by a tool always looks.
const FRESH: Duration = Duration::from_secs(1);

/// Remembers when the journal was read last, so that a turn without memories costs no look at the disk.
#[derive(Debug, Default)]
pub(crate) struct CaughtUp(Mutex<Option<Instant>>);

impl CaughtUp {
    /// Whether it is time to look again; if so, it counts as done.
    pub(crate) fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= FRESH);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}
