//! `cargo xtask bench`: what can be measured, each against a baseline of the same run.

mod catalogue;
mod endpoint;
mod sample;
mod start;

pub(crate) use catalogue::run;
