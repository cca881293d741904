//! The file tools on real folders.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod common;
mod editing;
mod labels;
mod listing;
mod opening;
mod races;
mod reading;
mod recorded;
mod searching;
mod secrets;
mod writing;
