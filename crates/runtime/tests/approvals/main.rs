//! Calls that need the owner: asked at once, left waiting, granted by another process, refused, expired; and turns
//! that get nowhere or take too long.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod batch;
mod bumpers;
mod guards;
mod inline;
mod kills;
mod owner;
mod questions;
mod resolved;
mod unattended;
#[path = "../turns/world.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod world;
