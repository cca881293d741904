//! A model that plays a script.

mod place;
mod player;
mod reply;
mod scenario;
mod table;

pub use place::Place;
pub use player::Scripted;
pub use reply::{ScriptedCall, ScriptedError, ScriptedReply};
pub use scenario::ScenarioError;
