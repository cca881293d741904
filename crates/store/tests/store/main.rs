//! The store through its public face, on real files.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod approvals;
mod common;
mod concurrency;
mod conformance;
mod content;
mod crash;
mod damage;
mod disk;
mod erase;
mod migrations;
mod model;
mod opening;
mod records;
mod writes;
