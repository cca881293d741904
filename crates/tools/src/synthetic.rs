//! Tools that need the loop itself: `core` recognises and runs them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tidegate_message::{Tier, ToolSpec};

/// The name of the tool that changes the model tier.
pub const NEW_COGNITIVE_LEVEL: &str = "new_cognitive_level";

/// What a model is told of it.
const NEW_COGNITIVE_LEVEL_DESCRIPTION: &str = include_str!("../templates/new_cognitive_level.txt");

/// The arguments of [`new_cognitive_level`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCognitiveLevel {
    /// The tier to change to, as the model wrote it.
    pub target_model: String,
    /// What the next model has to know and do. It reaches it with the history.
    pub transfer_plan: String,
    /// Why.
    pub reason: Option<String>,
}

/// Its spec when `targets`, at least one, may be chosen. They are listed lowest first, each once.
pub fn new_cognitive_level(targets: &[Tier]) -> ToolSpec {
    let offered: Vec<&str> = Tier::ALL
        .into_iter()
        .filter(|tier| targets.contains(tier))
        .map(Tier::as_str)
        .collect();
    ToolSpec {
        name: NEW_COGNITIVE_LEVEL.into(),
        description: NEW_COGNITIVE_LEVEL_DESCRIPTION.trim_end().into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "target_model": {
                    "type": "string",
                    "enum": offered,
                    "description": "The tier to change to."
                },
                "transfer_plan": {
                    "type": "string",
                    "description": "What the next model has to know and do: what is done, what was found, what \
                                    is left, in which order."
                },
                "reason": {
                    "type": "string",
                    "description": "Why another tier suits the task better."
                }
            },
            "required": ["target_model", "transfer_plan"],
            "additionalProperties": false
        }),
    }
}
