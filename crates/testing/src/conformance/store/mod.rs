//! The contract of [`Store`].

mod approvals;
mod content;
mod events;
mod made;
mod prompts;
mod sessions;
mod suite;

use suite::{Make, commit, read, refused};

pub use suite::store;
