//! What every implementation has to do: suites for those who write their own.
//!
//! Each suite is an async function that a test calls with what makes the implementation. It fails by panicking,
//! and says which rule was broken.
#![expect(clippy::panic, reason = "a suite fails by panicking, as tests do")]

mod embedder;
mod patience;
mod provider;
mod records;
mod store;
mod tool;
mod vector_index;

use patience::in_time;

pub use embedder::embedder;
pub use provider::{Hanging, ProviderCase, provider};
pub use records::records;
pub use store::store;
pub use tool::{ToolCase, tool};
pub use vector_index::vector_index;
