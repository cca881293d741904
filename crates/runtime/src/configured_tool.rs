//! A tool under `[policy.tools.NAME]`.

use crate::config::ToolSettings;
use serde_json::{Map, Value};
use std::sync::Arc;
use tidegate_policy::Label;
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError};

/// A tool whose policy is the configured one.
struct ConfiguredTool {
    inner: Arc<dyn Tool>,
    definition: ToolDefinition,
}

/// `tool` with the floor and source label of `settings` where these are given, and approved where `settings` or the
/// tool itself ask for that.
pub(crate) fn configured(tool: Arc<dyn Tool>, settings: &ToolSettings) -> Arc<dyn Tool> {
    let mut definition = tool.definition().clone();
    if let Some(source) = settings.source {
        definition.policy.source = Label::new(source.level, source.integrity);
    }
    if let Some(floor) = settings.floor {
        definition.policy.floor = floor;
    }
    definition.policy.approval |= settings.approval;
    Arc::new(ConfiguredTool {
        inner: tool,
        definition,
    })
}

impl Tool for ConfiguredTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        self.inner.prepare(arguments, context)
    }
}
