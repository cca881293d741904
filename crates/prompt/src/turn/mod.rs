//! The context of a turn.

mod builder;
mod context;
mod input;

pub use builder::{Need, TurnBuilder};
pub use context::{CompactionReport, TurnContext};
pub use input::TurnInput;
