//! The contract of [`Tool`].

use super::in_time;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Label, SessionId, TurnId};
use tidegate_tools::{BoxFuture, CallContext, Cancel, NeverCancelled, Registry, Tool};
use tokio::sync::watch;

/// A tool under test, with arguments for it.
pub struct ToolCase<'a> {
    /// Makes the tool. Called several times; the tools it makes may share what they work on.
    pub tool: &'a dyn Fn() -> Arc<dyn Tool>,
    /// Arguments with which it does what it is for, as JSON. At least one.
    pub good: Vec<Value>,
    /// Arguments it must not take: of the wrong type, unknown, or without meaning. At least one.
    pub bad: Vec<Value>,
    /// Arguments with which it works until it is cancelled, if there are any.
    pub endless: Option<Value>,
    /// Folders that [`Tool::prepare`] must leave as they are.
    pub watched: Vec<PathBuf>,
}

/// Checks a tool against the contract of [`Tool`]:
///
/// - its definition is constant, the same for each that is made, and can be registered; name and policy agree;
///   control arguments are arguments;
/// - good arguments are prepared, twice with the same resources, and reading them again changes nothing;
/// - preparing leaves the watched folders as they are, whether it succeeds or not;
/// - bad arguments are a message for the model: of the schema's check, or a
///   [`ToolError`](tidegate_tools::ToolError) of prepare or run that says something;
/// - a call that was prepared can be dropped without effect;
/// - good arguments run to their end; a call that works on ends when it is cancelled, before it begins or after.
///
/// # Panics
/// If it breaks a rule.
pub async fn tool(case: &ToolCase<'_>) {
    definition_is_valid(case);
    for arguments in &case.good {
        good_arguments_are_prepared_without_effect(case, arguments).await;
    }
    for arguments in &case.bad {
        bad_arguments_are_told(case, arguments).await;
    }
    for arguments in &case.good {
        let tool = (case.tool)();
        let prepared = prepare(&*tool, arguments, &context()).await;
        let ran = in_time("a call with good arguments ends", prepared.run(context())).await;
        if let Err(error) = ran {
            panic!("good arguments {arguments} are not an error: {error}");
        }
    }
    if let Some(arguments) = &case.endless {
        cancelling_ends_it(case, arguments).await;
    }
}

fn definition_is_valid(case: &ToolCase<'_>) {
    let tool = (case.tool)();
    let definition = tool.definition();
    let name = &definition.spec.name;
    assert_eq!(definition, tool.definition(), "the definition is constant");
    assert_eq!(
        definition,
        (case.tool)().definition(),
        "the definition is the same for each that is made"
    );
    assert_eq!(
        *name, definition.policy.name,
        "the name is the same for models and the gate"
    );
    assert!(
        !definition.spec.description.trim().is_empty(),
        "models are told what {name} does"
    );
    let mut registry = Registry::new();
    if let Err(error) = registry.register(Arc::clone(&tool)) {
        panic!("{name} can be registered: {error}");
    }
    let properties = definition.spec.input_schema.get("properties");
    for argument in &definition.policy.control_arguments {
        assert!(
            properties.is_some_and(|properties| properties.get(argument).is_some()),
            "control argument {argument:?} of {name} is an argument"
        );
    }
    assert!(
        definition.policy.consequential || definition.policy.control_arguments.is_empty(),
        "{name} is not consequential: nothing decides what it does"
    );
}

async fn good_arguments_are_prepared_without_effect(case: &ToolCase<'_>, arguments: &Value) {
    let tool = (case.tool)();
    let name = &tool.definition().spec.name;
    let mut registry = Registry::new();
    if let Err(error) = registry.register(Arc::clone(&tool)) {
        panic!("{name} can be registered: {error}");
    }
    if let Err(error) = registry.check(name, &arguments.to_string()) {
        panic!("good arguments {arguments} pass the schema of {name}: {error}");
    }
    let before = folders(&case.watched);
    let mut prepared = prepare(&*tool, arguments, &context()).await;
    let resources = prepared.resources().to_vec();
    let again = prepare(&*tool, arguments, &context()).await;
    assert_eq!(
        resources,
        again.resources(),
        "the same arguments name the same resources"
    );
    drop(again);
    match in_time("labels are read again", prepared.reread()).await {
        Ok(reread) => assert_eq!(resources, reread, "nothing has changed: the labels are the same"),
        Err(error) => panic!("labels can be read again: {error}"),
    }
    drop(prepared);
    assert_eq!(
        before,
        folders(&case.watched),
        "preparing {arguments} has no effect"
    );
}

async fn bad_arguments_are_told(case: &ToolCase<'_>, arguments: &Value) {
    let tool = (case.tool)();
    let name = &tool.definition().spec.name;
    let mut registry = Registry::new();
    if let Err(error) = registry.register(Arc::clone(&tool)) {
        panic!("{name} can be registered: {error}");
    }
    let before = folders(&case.watched);
    let message = match registry.check(name, &arguments.to_string()) {
        Err(error) => error.to_string(),
        Ok(_) => {
            let map = as_map(arguments);
            let context = context();
            let told = match in_time("preparing ends", tool.prepare(map, &context)).await {
                Err(error) => Some(error.message),
                Ok(prepared) => in_time("running ends", prepared.run(context))
                    .await
                    .err()
                    .map(|error| error.message),
            };
            told.unwrap_or_else(|| panic!("{name} does not take {arguments}"))
        }
    };
    assert!(
        !message.trim().is_empty(),
        "what is wrong with {arguments} is said"
    );
    assert_eq!(
        before,
        folders(&case.watched),
        "bad arguments {arguments} have no effect"
    );
}

async fn cancelling_ends_it(case: &ToolCase<'_>, arguments: &Value) {
    let tool = (case.tool)();
    for beforehand in [true, false] {
        let stop = Stop::default();
        if beforehand {
            stop.0.send_replace(true);
        }
        let context = CallContext {
            cancel: Arc::new(stop.clone()),
            ..context()
        };
        let prepared = prepare(&*tool, arguments, &context).await;
        let mut running = prepared.run(context);
        if !beforehand {
            // Polled once, it has begun.
            assert!(
                futures::poll!(&mut running).is_pending(),
                "{arguments} makes the tool work until it is cancelled"
            );
            stop.0.send_replace(true);
        }
        let _ended = in_time("a cancelled call ends", running).await;
    }
}

async fn prepare(
    tool: &dyn Tool,
    arguments: &Value,
    context: &CallContext,
) -> Box<dyn tidegate_tools::PreparedCall> {
    match in_time("preparing ends", tool.prepare(as_map(arguments), context)).await {
        Ok(prepared) => prepared,
        Err(error) => panic!("good arguments {arguments} are prepared: {error}"),
    }
}

fn as_map(arguments: &Value) -> Map<String, Value> {
    match arguments {
        Value::Object(map) => map.clone(),
        other => panic!("arguments are an object, not {other}"),
    }
}

fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(1),
        call: "call_2_0".into(),
        label: Label::BOTTOM,
        clearance: Classification::Restricted,
        cancel: Arc::new(NeverCancelled),
    }
}

#[derive(Clone, Default)]
struct Stop(Arc<watch::Sender<bool>>);

impl Cancel for Stop {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut stop = self.0.subscribe();
            // The sender lives as long as `self`.
            let _stopped = stop.wait_for(|stop| *stop).await;
        })
    }
}

/// Every file below these folders, with its content.
fn folders(watched: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in watched {
        read_folder(folder, &mut files);
    }
    files
}

fn read_folder(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            read_folder(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
        }
    }
}
