//! Killed processes: whatever the moment, the session goes on where it was, nothing is lost, nothing is done twice,
//! and no model sees a history it would have to refuse.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod checks;
mod child;
mod program;
mod prompts;
mod scenario;
mod steps;
