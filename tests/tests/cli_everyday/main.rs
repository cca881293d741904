//! The commands of every day, with the real program: chat over a pipe and at a terminal, approvals across
//! processes, doctor, init, completions.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod approvals;
mod asking;
mod attachments;
mod chat;
mod completions;
mod doctor;
#[expect(dead_code, reason = "shared with the tests of the other commands")]
#[path = "../cli/harness.rs"]
mod harness;
mod init;
mod lines;
mod questions;
mod reload;
mod screen;
mod tools;
