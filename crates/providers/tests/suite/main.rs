//! Tests of the providers against the strict fake server, and of the scripted model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod assembly;
mod common;
mod encoding;
mod errors;
mod history;
mod names;
mod scripted;
mod streaming;
