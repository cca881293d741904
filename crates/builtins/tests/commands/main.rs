//! `run_command`, with real processes. The tests of confinement need a Linux that allows it, and say so where it
//! does not; as root they fail then.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod common;
mod ending;
mod escapes;
mod launchers;
mod levels;
mod limits;
mod own;
mod recorded;
mod unconfined;
mod users;
