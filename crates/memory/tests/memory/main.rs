//! The memories through their public face.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod artifacts;
mod chunks;
mod clearance;
mod common;
mod conformance;
mod crash;
mod dates;
mod evaluation;
mod extraction;
mod ingestion;
#[cfg(unix)]
mod killed;
mod labels;
mod models;
mod opening;
mod outage;
mod ranking;
mod sessions;
mod tools;
