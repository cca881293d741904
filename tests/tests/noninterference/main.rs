//! Non-interference (spec: "Non-interference, as tested"): the whole runtime, with real stores and files, against a
//! model whose every action depends on every bit it is shown.
//!
//! - [`confidentiality`]: two runs that are equal in all inputs up to a level look the same up to that level.
//! - [`integrity`]: untrusted data changes neither which of the owner's clauses licenses a call nor its values.
//! - [`memory`]: memories above a level have no influence on what is seen up to it.
//! - [`robustness`]: untrusted data changes no grant's bytes or sink.
//!
//! Each has mutants: the same runs with one protection taken away by a wrapper around a tool, the store or a
//! provider. The comparison must find every one of them, or it shows nothing.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod confidentiality;
mod inputs;
mod integrity;
mod ledger;
mod memory;
mod mutant;
mod owner;
mod projection;
mod robustness;
mod run;
mod tools;
mod watched;
