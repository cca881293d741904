//! What a model is told about a tool.

use serde::{Deserialize, Serialize};
use tidegate_policy::ToolName;

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments: an object. Its keys are in a stable order.
    pub input_schema: serde_json::Value,
}
