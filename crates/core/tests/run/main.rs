//! One turn after another: what the machine says to whatever comes in.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod guards;
mod inputs;
mod outcomes;
mod properties;
mod turn;
mod waiting;
