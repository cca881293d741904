//! Tools that need the loop itself: `core` recognises and runs them.
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_message::{Tier, ToolSpec};

/// The name of the tool that changes the model tier.
pub const NEW_COGNITIVE_LEVEL: &str = "new_cognitive_level";

/// Its arguments.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct NewCognitiveLevel {
    /// The tier to change to.
    pub target_model: String,
    /// What the next model has to know and do. It reaches it with the history.
    pub transfer_plan: String,
    /// Why.
    pub reason: Option<String>,
}

/// Its spec when `targets` may be chosen.
pub fn new_cognitive_level(_targets: &[Tier]) -> ToolSpec {
    ToolSpec { name: NEW_COGNITIVE_LEVEL.into(), description: String::new(), input_schema: serde_json::Value::Null }
}
