//! Tools of a test: their labels, what they touch and what they say are chosen freely.

use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use tidegate_message::{ToolSpec, joined_text};
use tidegate_policy::{
    ActionClass, Classification, Label, Resource, ResourceKind, ResourceRef, Role, SessionId, SinkLevel,
    ToolIntegrity, ToolPolicy, TurnId,
};
use tidegate_runtime::CancelToken;
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput};

type Touches = Arc<dyn Fn(&Value) -> Vec<Resource> + Send + Sync>;
type Resolves = Arc<dyn Fn(&Value) -> Vec<String> + Send + Sync>;
type Work = Arc<dyn Fn(&Value, &CallContext) -> Result<ToolOutput, ToolError> + Send + Sync>;

/// A tool whose every part is a closure.
#[derive(Clone)]
pub(crate) struct TestTool {
    definition: ToolDefinition,
    touches: Touches,
    touches_then: Touches,
    resolves: Resolves,
    work: Work,
}

impl TestTool {
    /// A read-only tool with these text arguments, whose result has this label.
    pub(crate) fn new(
        name: &'static str,
        arguments: &[&str],
        source: Label,
        work: impl Fn(&Value, &CallContext) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|argument| ((*argument).to_owned(), json!({ "type": "string" })))
            .collect();
        let schema = json!({
            "type": "object", "properties": properties, "required": arguments, "additionalProperties": false
        });
        Self {
            definition: ToolDefinition {
                spec: ToolSpec {
                    name: name.into(),
                    description: "A tool of a test.".into(),
                    input_schema: schema,
                },
                policy: ToolPolicy {
                    name: name.into(),
                    role: Role::User,
                    consequential: false,
                    source,
                    floor: Classification::Public,
                    control_arguments: Vec::new(),
                    approval: false,
                    integrity: ToolIntegrity::default(),
                },
                timeout: None,
            },
            touches: Arc::new(|_| Vec::new()),
            touches_then: Arc::new(|_| Vec::new()),
            resolves: Arc::new(|_| Vec::new()),
            work: Arc::new(work),
        }
    }

    /// It changes something: these of its arguments are payload and these name who receives, all others decide what.
    pub(crate) fn consequential(mut self, action: ActionClass, payload: &[&str], receives: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let policy = &mut self.definition.policy;
        policy.consequential = true;
        policy.integrity.action = action;
        policy.integrity.egress = action == ActionClass::Egress;
        policy.integrity.content_arguments = owned(payload);
        policy.integrity.recipient_arguments = owned(receives);
        let properties = self.definition.spec.input_schema["properties"]
            .as_object()
            .unwrap();
        policy.control_arguments = properties
            .keys()
            .filter(|name| !payload.contains(&name.as_str()))
            .cloned()
            .collect();
        self
    }

    /// With these declarations for integrity by value.
    pub(crate) fn integrity(mut self, change: impl FnOnce(&mut ToolIntegrity)) -> Self {
        change(&mut self.definition.policy.integrity);
        self
    }

    /// It touches these, when it is prepared and just before it runs.
    pub(crate) fn touches(
        mut self,
        resources: impl Fn(&Value) -> Vec<Resource> + Send + Sync + 'static,
    ) -> Self {
        self.touches = Arc::new(resources);
        self.touches_then = Arc::clone(&self.touches);
        self
    }

    /// Just before it runs, it touches these.
    pub(crate) fn touches_then(
        mut self,
        resources: impl Fn(&Value) -> Vec<Resource> + Send + Sync + 'static,
    ) -> Self {
        self.touches_then = Arc::new(resources);
        self
    }

    /// What its arguments are resolved to exactly.
    pub(crate) fn resolves(
        mut self,
        resolves: impl Fn(&Value) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.resolves = Arc::new(resolves);
        self
    }

    /// What it says to these arguments, as an error or not.
    pub(crate) fn say(&self, arguments: &Value) -> Result<String, String> {
        let context = CallContext {
            session: SessionId::from_bits(1),
            turn: TurnId::from_bits(1),
            call: "call_1_0".into(),
            label: Label::BOTTOM,
            clearance: Classification::Restricted,
            cancel: Arc::new(CancelToken::new()),
        };
        match (self.work)(arguments, &context) {
            Ok(output) => Ok(joined_text(&output.content)),
            Err(error) => Err(error.message),
        }
    }

    pub(crate) fn shared(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

impl Tool for TestTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        let arguments = Value::Object(arguments);
        let call: Box<dyn PreparedCall> = Box::new(TestCall {
            resources: (self.touches)(&arguments),
            resolved: (self.resolves)(&arguments),
            tool: self.clone(),
            arguments,
        });
        Box::pin(std::future::ready(Ok(call)))
    }
}

struct TestCall {
    tool: TestTool,
    arguments: Value,
    resources: Vec<Resource>,
    resolved: Vec<String>,
}

impl PreparedCall for TestCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        self.resolved.clone()
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        self.resources = (self.tool.touches_then)(&self.arguments);
        Box::pin(std::future::ready(Ok(self.resources.clone())))
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { (self.tool.work)(&self.arguments, &context) })
    }
}

/// Something a call reads.
pub(crate) fn source(name: &str, label: Label) -> Resource {
    let what = reference(ResourceKind::Path, name);
    Resource::Source { what, label }
}

/// Something a call sends to.
pub(crate) fn sink(name: &str, level: Classification) -> Resource {
    Resource::Sink {
        what: reference(ResourceKind::Url, name),
        level: SinkLevel::Level(level),
    }
}

fn reference(kind: ResourceKind, name: &str) -> ResourceRef {
    ResourceRef {
        kind,
        name: name.to_owned(),
    }
}

/// What sinks have received, in order, with their levels.
#[derive(Clone, Default)]
pub(crate) struct Sends(Arc<Mutex<Vec<(Classification, String)>>>);

impl Sends {
    pub(crate) fn note(&self, level: Classification, what: String) {
        self.0.lock().unwrap().push((level, what));
    }

    /// What sinks up to `level` have received.
    pub(crate) fn up_to(&self, level: Classification) -> Vec<String> {
        let all = self.0.lock().unwrap();
        all.iter()
            .filter(|(sink, _)| sink.can_flow_to(level))
            .map(|(sink, what)| format!("{sink}: {what}"))
            .collect()
    }
}
