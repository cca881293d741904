//! Placeholder.
use crate::{ArgumentsError, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;
use tidegate_message::ToolSpec;
use tidegate_policy::{Role, ToolName};

/// The tools of a session, sorted by name.
#[derive(Clone, Default)]
pub struct Registry {}

/// A tool that cannot be registered.
#[derive(Debug, thiserror::Error)]
#[error("placeholder")]
pub struct RegistryError {}

impl Registry {
    /// Adds a tool. Refuses a second one of the same name, and an invalid schema or name.
    pub fn register(&mut self, _tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        Ok(())
    }

    /// The tool of that name, whatever the role.
    pub fn get(&self, _name: &ToolName) -> Option<&Arc<dyn Tool>> {
        None
    }

    /// What `role` may see, sorted by name.
    pub fn specs(&self, _role: Role) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Parses and checks raw arguments of a call to `name`.
    pub fn check(&self, _name: &ToolName, _arguments: &str) -> Result<Map<String, Value>, ArgumentsError> {
        Ok(Map::new())
    }
}
