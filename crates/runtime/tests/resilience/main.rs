//! Model calls that fail: tries, waits, fallbacks, what sessions share, and what a cancelled call leaves behind.
//!
//! Real requests over real connections, on a clock that stands still until a test moves it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cancelling;
mod classes;
mod common;
mod cuts;
mod fallbacks;
mod shared;
mod waits;
