//! Models, endpoints and fetching.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod folders;
mod hub;
mod hub_server;
mod local;
mod memories;
mod minilm;
#[cfg(unix)]
mod packages;
mod places;
mod remote;
