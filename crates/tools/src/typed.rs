//! Tools made of async functions.

use crate::{
    BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput, arguments_schema,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::ToolSpec;
use tidegate_policy::{Classification, Label, Resource, Role, ToolName, ToolPolicy};

type Work<A> = Arc<dyn Fn(A, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;
type Resolve<A> = Arc<dyn Fn(&A) -> Vec<Resource> + Send + Sync>;

/// A tool made of an async function: its argument type gives the JSON schema, doc comments on the fields
/// describe the arguments to models, and arguments the type does not name are refused. (That holds for the
/// arguments themselves; a type nested in them says so with `#[serde(deny_unknown_fields)]`.)
///
/// Unless told otherwise it is for role USER, read-only, without a floor and a timeout of its own, touches
/// nothing the gate has to see, and its result is PUBLIC and UNTRUSTED: a result is somebody else's word
/// unless it is known to be none.
pub struct TypedTool<A> {
    definition: ToolDefinition,
    work: Work<A>,
    resolve: Resolve<A>,
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> TypedTool<A> {
    /// The tool `name`, told to models as `description`, that does `work`.
    ///
    /// Name and schema are checked when the tool is registered.
    pub fn new<W, F, T>(name: impl Into<Arc<str>>, description: impl Into<String>, work: W) -> Self
    where
        W: Fn(A, CallContext) -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
        T: IntoOutput,
    {
        let name = ToolName::new(name);
        let policy = ToolPolicy {
            name: name.clone(),
            role: Role::User,
            consequential: false,
            source: Label::untrusted(Classification::Public),
            floor: Classification::Public,
            control_arguments: Vec::new(),
            approval: false,
            integrity: tidegate_policy::ToolIntegrity::default(),
        };
        let spec = ToolSpec {
            name,
            description: description.into(),
            input_schema: arguments_schema::<A>(),
        };
        let work = Arc::new(work);
        Self {
            definition: ToolDefinition {
                spec,
                policy,
                timeout: None,
            },
            work: Arc::new(move |arguments, context| {
                let work = Arc::clone(&work);
                Box::pin(async move { work(arguments, context).await?.into_output() })
            }),
            resolve: Arc::new(|_| Vec::new()),
        }
    }

    /// The least role that may see and run it.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.definition.policy.role = role;
        self
    }

    /// Says that a call changes something outside the conversation, and which arguments decide what it does:
    /// ids, addresses, paths, URLs, amounts. Declare its sinks with [`resources`](Self::resources).
    #[must_use]
    pub fn consequential<N: Into<String>>(mut self, control_arguments: impl IntoIterator<Item = N>) -> Self {
        self.definition.policy.consequential = true;
        self.definition.policy.control_arguments = control_arguments.into_iter().map(Into::into).collect();
        self
    }

    /// The label of what it returns, whatever it was asked.
    #[must_use]
    pub fn source(mut self, label: Label) -> Self {
        self.definition.policy.source = label;
        self
    }

    /// The least session taint to use it.
    #[must_use]
    pub fn floor(mut self, floor: Classification) -> Self {
        self.definition.policy.floor = floor;
        self
    }

    /// How long a call may run, instead of the configured default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.definition.timeout = Some(timeout);
        self
    }

    /// What a call with these arguments touches. It is asked when the call is prepared and again just before
    /// it runs; it must have no effect.
    #[must_use]
    pub fn resources(mut self, resolve: impl Fn(&A) -> Vec<Resource> + Send + Sync + 'static) -> Self {
        self.resolve = Arc::new(resolve);
        self
    }
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for TypedTool<A> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        Box::pin(ready(self.parse(arguments)))
    }
}

impl<A: DeserializeOwned + Send + 'static> TypedTool<A> {
    fn parse(&self, arguments: Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        // The schema was checked; what is left are rules of the type that no schema can express.
        let arguments: A = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::new(format!("arguments of {}: {error}", self.definition.spec.name))
        })?;
        let resources = (self.resolve)(&arguments);
        Ok(Box::new(TypedCall {
            arguments,
            resources,
            work: Arc::clone(&self.work),
            resolve: Arc::clone(&self.resolve),
        }))
    }
}

struct TypedCall<A> {
    arguments: A,
    resources: Vec<Resource>,
    work: Work<A>,
    resolve: Resolve<A>,
}

impl<A: Send + 'static> PreparedCall for TypedCall<A> {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        self.resources = (self.resolve)(&self.arguments);
        Box::pin(ready(Ok(self.resources.clone())))
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        (self.work)(self.arguments, context)
    }
}

/// What an async function may return as a tool's result.
pub trait IntoOutput {
    /// The result, with [`Label::BOTTOM`] where it has no label of its own.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self))
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self))
    }
}

impl IntoOutput for Value {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.to_string()))
    }
}

/// A result given as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(
    /// What is written as JSON.
    pub T,
);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        // By way of a value, as any other JSON.
        serde_json::to_value(self.0)
            .map_err(|error| ToolError::new(format!("the result cannot be written as JSON: {error}")))?
            .into_output()
    }
}
