//! What every implementation has to do: suites for those who write their own.
//!
//! Each suite is an async function that a test calls with what makes the implementation. It fails by panicking,
//! and says which rule was broken.
#![expect(clippy::panic, reason = "a suite fails by panicking, as tests do")]

mod provider;
mod store;
mod tool;

pub use provider::{Hanging, ProviderCase, provider};
pub use store::store;
pub use tool::{ToolCase, tool};

use std::time::Duration;

/// How long something may take that should take no time. Nothing waits for this to pass: it is there so that a
/// broken implementation fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// The outcome of `work`.
///
/// # Panics
/// If it takes forever; `rule` says what should have happened.
async fn in_time<T>(rule: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{rule}: nothing happened within {} s", PATIENCE.as_secs()),
    }
}
