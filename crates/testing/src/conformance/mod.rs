//! What every implementation has to do: suites for those who write their own.
//!
//! Each suite is an async function that a test calls with what makes the implementation. It fails by panicking,
//! and says which rule was broken.
#![expect(clippy::panic, reason = "a suite fails by panicking, as tests do")]

mod patience;
mod provider;
mod store;
mod tool;

use patience::in_time;

pub use provider::{Hanging, ProviderCase, provider};
pub use store::store;
pub use tool::{ToolCase, tool};
