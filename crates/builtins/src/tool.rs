//! What the file tools have in common.

use crate::Workspace;
use crate::edit::EditFile;
use crate::error::Failure;
use crate::list::ListFiles;
use crate::read::ReadFile;
use crate::search::SearchFiles;
use crate::write::WriteFile;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use tidegate_message::ToolSpec;
use tidegate_policy::{
    ActionClass, Classification, Label, Resource, Role, RowFields, ToolIntegrity, ToolPolicy,
};
use tidegate_tools::{
    BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput, arguments_schema,
};

/// The file tools over `workspace`: `read_file`, `write_file`, `edit_file`, `list_files`, `search_files`, all for
/// role USER. Writing and editing are consequential, with the control argument `path`. Their own source
/// label is [`Label::BOTTOM`]: what they return has the label of what they read.
pub fn file_tools(workspace: &Arc<Workspace>) -> Vec<Arc<dyn Tool>> {
    vec![
        over::<EditFile>(workspace),
        over::<ListFiles>(workspace),
        over::<ReadFile>(workspace),
        over::<SearchFiles>(workspace),
        over::<WriteFile>(workspace),
    ]
}

pub(crate) type Preparation = BoxFuture<'static, Result<Box<dyn PreparedCall>, Failure>>;

/// One of the file tools.
pub(crate) trait FileTool: Send + Sync + 'static {
    /// What models give it.
    type Arguments: DeserializeOwned + Send;

    /// What it is.
    fn definition() -> ToolDefinition;

    /// What a call touches as far as its path alone tells, whatever is there; none if the path cannot be read.
    fn touches(workspace: &Workspace, arguments: &Self::Arguments) -> Option<Vec<Resource>>;

    /// Resolves arguments to the files they name.
    fn prepare(workspace: Arc<Workspace>, arguments: Self::Arguments, context: CallContext) -> Preparation;
}

/// A definition; a tool with control arguments is consequential.
pub(crate) fn definition<A: JsonSchema>(
    name: &str,
    description: &str,
    control_arguments: &[&str],
) -> ToolDefinition {
    ToolDefinition {
        spec: ToolSpec {
            name: name.into(),
            description: description.trim_end().into(),
            input_schema: arguments_schema::<A>(),
        },
        policy: ToolPolicy {
            name: name.into(),
            role: Role::User,
            consequential: !control_arguments.is_empty(),
            source: Label::BOTTOM,
            floor: Classification::Public,
            control_arguments: control_arguments
                .iter()
                .map(|&argument| argument.into())
                .collect(),
            approval: false,
            // What a tool here returns is content, and names no objects.
            integrity: ToolIntegrity {
                rows: RowFields::none(),
                ..ToolIntegrity::default()
            },
        },
        timeout: None,
    }
}

/// The same for a tool that changes something in the owner's own place; these arguments of it are payload only.
pub(crate) fn local_write(mut definition: ToolDefinition, content_arguments: &[&str]) -> ToolDefinition {
    definition.policy.integrity.action = ActionClass::LocalWrite;
    definition.policy.integrity.content_arguments = content_arguments
        .iter()
        .map(|&argument| argument.into())
        .collect();
    definition
}

/// A file tool over its workspace.
struct Over<T> {
    workspace: Arc<Workspace>,
    definition: ToolDefinition,
    tool: std::marker::PhantomData<T>,
}

fn over<T: FileTool>(workspace: &Arc<Workspace>) -> Arc<dyn Tool> {
    Arc::new(Over::<T> {
        workspace: Arc::clone(workspace),
        definition: T::definition(),
        tool: std::marker::PhantomData,
    })
}

impl<T: FileTool> Tool for Over<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        Box::pin(async move {
            // The schema was checked; what is left are rules of the types that no schema can express.
            let arguments = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
                ToolError::new(format!("arguments of {}: {error}", self.definition.spec.name))
            })?;
            let touches = T::touches(&self.workspace, &arguments);
            let prepared = T::prepare(Arc::clone(&self.workspace), arguments, context.clone()).await;
            match (prepared, touches) {
                (Ok(call), _) => Ok(call),
                (Err(failure), Some(resources))
                    if !failure.label.can_flow_to(context.label.classification) =>
                {
                    let call: Box<dyn PreparedCall> = Box::new(FailedCall {
                        resources,
                        failure: failure.into(),
                    });
                    Ok(call)
                }
                (Err(failure), _) => Err(failure.into()),
            }
        })
    }
}

/// A call that has failed, of which nobody hears before it runs. That it failed tells of something above the context:
/// whether it is judged, asked about and begun must not depend on that.
struct FailedCall {
    resources: Vec<Resource>,
    failure: ToolError,
}

impl PreparedCall for FailedCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.resources.clone())))
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Err(self.failure)))
    }
}
