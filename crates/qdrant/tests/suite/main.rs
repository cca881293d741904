//! Both indexes against the contract, crashes, and a server that goes away.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod common;
mod conformance;
mod crash;
mod embedded;
mod many;
mod outage;
mod peer;
mod server;
