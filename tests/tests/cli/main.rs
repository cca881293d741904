//! The real program, as a person or a script uses it: its commands, what they print, how they end, and what
//! they say when something is wrong.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod config;
mod demo;
mod disk;
mod events;
mod harness;
mod help;
mod models;
mod paths;
mod prompt;
mod readers;
mod run;
mod secrets;
mod sessions;
mod terminal;
mod trust;
