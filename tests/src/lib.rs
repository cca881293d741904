//! What the tests of the whole workspace share: reading it, the rules it is held to, and the program that is built
//! from it.
//!
//! A rule is a function from plain inputs to findings, so that a test can show both that the workspace keeps it
//! and that a breach would be found. The tests themselves are in the folder `tests` beside this one.
//!
//! **Not here:** what tests of one crate need; that is in the crate, or in `tidegate-testing`.

pub mod crash;
pub mod house;
pub mod invariants;
pub mod layers;
mod program;
pub mod purity;
mod source;
mod workspace;

pub use program::{ProgramError, tidegate_binary};
pub use source::{Function, Source};
pub use workspace::{File, WorkspaceError, cargo, files, listing, root};
