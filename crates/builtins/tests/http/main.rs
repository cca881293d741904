//! `http_get`, with real servers on the loopback interface.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod addresses;
mod bodies;
mod common;
mod headers;
mod redirects;
mod secure;
