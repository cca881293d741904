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

/// `tool` with what `settings` say where they say something; consequential and approved where they or the tool itself
/// say so.
pub(crate) fn configured(tool: Arc<dyn Tool>, settings: &ToolSettings) -> Arc<dyn Tool> {
    let mut definition = tool.definition().clone();
    if let Some(source) = settings.source {
        definition.policy.source = Label::new(source.level, source.integrity);
    }
    if let Some(floor) = settings.floor {
        definition.policy.floor = floor;
    }
    definition.policy.consequential |= settings.consequential;
    let integrity = &mut definition.policy.integrity;
    if let Some(action) = settings.action {
        integrity.action = action;
    }
    if let Some(recipients) = &settings.recipients {
        integrity.recipient_arguments.clone_from(recipients);
    }
    if let Some(content) = &settings.content {
        integrity.content_arguments.clone_from(content);
    }
    if let Some(trusted) = &settings.trusted_fields {
        integrity.trusted_fields.clone_from(trusted);
    }
    if let Some(control) = &settings.control {
        definition.policy.control_arguments.clone_from(control);
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
