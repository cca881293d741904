//! Tests of the test helpers: what they are strict about, and that they do fail.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod cassette;
mod check;
mod common;
mod conformance;
mod faults;
mod hashing;
mod prefix;
mod server;
