//! A runtime with a store in memory, a model that plays its part, and tools made for a test.

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tidegate_message::{
    Body, Entry, Event, FinishReason, ModelId, ProviderId, Reply, ReplyPart, Tier, ToolResult, Usage,
    joined_text,
};
use tidegate_policy::{Classification, UserId};
use tidegate_providers::{ModelRequest, Provider, ReplyStream, StreamEvent, validate_history};
use tidegate_runtime::config::Configuration;
use tidegate_runtime::{Runtime, RuntimeBuilder, Session, SessionRequest, TurnOptions, TurnReport, Which};
use tidegate_store::{EventFilter, MemoryStore, Store};
use tidegate_tools::{CallContext, Tool, ToolError, TypedTool};

/// What the model says to one request.
pub(crate) type Line = Box<dyn FnOnce(ModelRequest) -> BoxFuture<'static, Vec<ReplyPart>> + Send>;

/// A line that depends on the request, or looks at the world first.
pub(crate) fn line<F>(say: impl FnOnce(ModelRequest) -> F + Send + 'static) -> Line
where
    F: Future<Output = Vec<ReplyPart>> + Send + 'static,
{
    Box::new(|request| say(request).boxed())
}

/// A text.
pub(crate) fn says(text: &str) -> Line {
    let part = ReplyPart::Text(text.to_owned());
    line(|_| async { vec![part] })
}

/// Calls, each a tool and its arguments as JSON.
pub(crate) fn asks<const N: usize>(calls: [(&str, Value); N]) -> Line {
    let calls = calls.map(|(tool, arguments)| (tool.to_owned(), arguments.to_string()));
    line(|_| async { parts(calls) })
}

/// A call whose arguments are this text.
pub(crate) fn asks_raw(tool: &str, arguments: &str) -> Line {
    let calls = [(tool.to_owned(), arguments.to_owned())];
    line(|_| async { parts(calls) })
}

/// The parts of a reply that asks for calls.
pub(crate) fn parts(calls: impl IntoIterator<Item = (String, String)>) -> Vec<ReplyPart> {
    calls
        .into_iter()
        .enumerate()
        .map(|(index, (name, arguments))| ReplyPart::Call {
            provider_id: format!("id_{index}"),
            name: name.as_str().into(),
            arguments,
        })
        .collect()
}

/// A model that says its lines, one a request, and takes no history that a real one would refuse.
pub(crate) struct Actor {
    id: ProviderId,
    lines: Mutex<VecDeque<Line>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl Actor {
    pub(crate) fn new<const N: usize>(name: &str, lines: [Line; N]) -> Arc<Self> {
        Self::of(name, lines.into())
    }

    pub(crate) fn of(name: &str, lines: Vec<Line>) -> Arc<Self> {
        Arc::new(Self {
            id: ProviderId::new(name),
            lines: Mutex::new(lines.into()),
            requests: Mutex::default(),
        })
    }

    /// What it was asked so far.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Checks that every line was said.
    #[track_caller]
    pub(crate) fn done(&self) {
        assert_eq!(
            self.lines.lock().unwrap().len(),
            0,
            "lines of {} were not asked for",
            self.id
        );
    }
}

impl Provider for Actor {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        validate_history(&request.history).unwrap();
        self.requests.lock().unwrap().push(request.clone());
        let line = self.lines.lock().unwrap().pop_front();
        let line =
            line.unwrap_or_else(|| panic!("{} has nothing left to say to {:?}", self.id, request.history));
        let model = ModelId::new(self.id.clone(), &*request.model);
        let done = async move {
            let reply = Reply {
                model,
                parts: line(request).await,
                verbatim: None,
                usage: Usage::default(),
                finish: FinishReason::Stop,
            };
            Ok(StreamEvent::Done(Box::new(reply)))
        };
        futures::stream::once(done).boxed()
    }
}

/// Everything a test needs, in a folder of its own.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) configuration: Configuration,
    tools: Vec<Arc<dyn Tool>>,
    file_tools: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        Self {
            folder,
            store: Arc::new(MemoryStore::new()),
            configuration: Configuration::default(),
            tools: Vec::new(),
            file_tools: false,
        }
    }

    /// With this tool.
    pub(crate) fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// With the file tools, and these files.
    pub(crate) fn files<const N: usize>(mut self, files: [(&str, &str); N]) -> Self {
        self.file_tools = true;
        for (file, content) in files {
            let path = self.workspace().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        self
    }

    /// With another configuration.
    pub(crate) fn configured(mut self, change: impl FnOnce(&mut Configuration)) -> Self {
        change(&mut self.configuration);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn builder(&self) -> RuntimeBuilder {
        let mut builder = Runtime::builder()
            .store(Arc::clone(&self.store))
            .configuration(self.configuration.clone());
        for tool in &self.tools {
            builder = builder.tool(Arc::clone(tool));
        }
        if !self.file_tools {
            builder = builder.without_file_tools();
        }
        builder
    }

    /// A runtime whose only model, for every tier, is this one, cleared for everything.
    pub(crate) fn runtime(&self, model: &Arc<Actor>) -> Runtime {
        let models = vec![ModelId::new(model.id.clone(), "m")];
        self.builder()
            .provider(model.clone(), Classification::Restricted, 8)
            .tier(Tier::Lite, models.clone())
            .tier(Tier::Flash, models)
            .build()
            .unwrap()
    }

    /// The session of this world, for `user`.
    pub(crate) async fn session_of(&self, runtime: &Runtime, user: &str) -> Session {
        let mut request = SessionRequest::new(Which::Named("s".parse().unwrap())).workspace(self.workspace());
        request.user = UserId::new(user);
        runtime.session(request).await.unwrap()
    }

    /// The session of this world, for its owner.
    pub(crate) async fn session(&self, runtime: &Runtime) -> Session {
        self.session_of(runtime, "local").await
    }

    /// Runs one turn against `model`, which has to say all its lines.
    pub(crate) async fn turn(&self, model: &Arc<Actor>) -> (Session, TurnReport) {
        let mut session = self.session(&self.runtime(model)).await;
        let report = session.run("the task", TurnOptions::default()).await.unwrap();
        model.done();
        (session, report)
    }

    /// All events, in order.
    pub(crate) async fn events(&self) -> Vec<Event> {
        let stored = self.store.events(EventFilter::default()).await.unwrap();
        stored.into_iter().map(|stored| stored.event).collect()
    }

    /// The dotted names of all events.
    pub(crate) async fn event_names(&self) -> Vec<&'static str> {
        self.events()
            .await
            .iter()
            .map(|event| event.kind.name())
            .collect()
    }
}

/// The arguments of most tools here.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// A read-only tool that says what `say` makes of its text.
pub(crate) fn tool(
    name: &'static str,
    say: impl Fn(&str) -> String + Send + Sync + 'static,
) -> TypedTool<Text> {
    TypedTool::new(
        name,
        "A tool for a test.",
        move |arguments: Text, _: CallContext| {
            let said = say(&arguments.text);
            async move { Ok::<_, ToolError>(said) }
        },
    )
}

/// A consequential tool, and the texts it was run with.
pub(crate) fn effect(name: &'static str) -> (TypedTool<Text>, Arc<Mutex<Vec<String>>>) {
    let effects = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&effects);
    let tool = tool(name, move |text| {
        record.lock().unwrap().push(text.to_owned());
        "done".to_owned()
    });
    (tool.consequential(["text"]), effects)
}

/// Stops the clock of this test's runtime: time passes when a tool says so.
///
/// tokio's paused clock runs ahead to the next timer when no task can go on, and the threads of the store are no
/// tasks. It does not while a blocking task runs: this one, until the runtime drops its tasks.
pub(crate) fn stop_clock() {
    tokio::time::pause();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || stopped.recv());
    tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(stop);
    });
}

/// What was said, in short: `user: …`, `assistant: …`, `calls: …`, `results: …`.
pub(crate) fn script(entries: &[Arc<Entry>]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| match &entry.body {
            Body::User(message) => format!("user: {}", joined_text(&message.content)),
            Body::Assistant(message) if message.calls().next().is_some() => {
                let names: Vec<&str> = message.calls().map(|call| call.name.as_str()).collect();
                format!("calls: {}", names.join(", "))
            }
            Body::Assistant(message) => format!("assistant: {}", message.text()),
            Body::Results(results) => {
                let texts: Vec<String> = results.results.iter().map(text_of).collect();
                format!("results: {}", texts.join(", "))
            }
        })
        .collect()
}

/// All results of a session, in order.
pub(crate) fn results(session: &Session) -> Vec<ToolResult> {
    let entries = session.transcript().entries().iter();
    entries
        .filter_map(|entry| match &entry.body {
            Body::Results(results) => Some(results.results.clone()),
            Body::User(_) | Body::Assistant(_) => None,
        })
        .flatten()
        .collect()
}

/// The text of a result.
pub(crate) fn text_of(result: &ToolResult) -> String {
    joined_text(&result.content)
}
