//! Waiting for what should take no time.

use std::time::Duration;

/// How long something may take that should take no time. Nothing waits for this to pass: it is there so that a
/// broken implementation fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// The outcome of `work`.
///
/// # Panics
/// If it takes forever; `rule` says what should have happened.
pub(super) async fn in_time<T>(rule: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{rule}: nothing happened within {} s", PATIENCE.as_secs()),
    }
}
