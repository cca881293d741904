//! A workspace in a temporary folder, and calls as the runtime makes them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tidegate_builtins::{Workspace, file_tools};
use tidegate_message::joined_text;
use tidegate_policy::{
    Classification, Gate, Label, PathRules, PathRulesBuilder, Resource, SessionFacts, SessionId, SinkLevel,
    Taint, TurnId,
};
use tidegate_tools::{
    BoxFuture, CallContext, FileLabels, FileLabelsError, KnownFile, LabelQuery, NeverCancelled,
    PendingWrites, PreparedCall, Registry, ToolError,
};

type Look = Box<dyn Fn(&Path) + Send>;

/// Labels of files, in memory.
#[derive(Default)]
pub(crate) struct Labels {
    files: Mutex<BTreeMap<PathBuf, KnownFile>>,
    pub(crate) pending: Mutex<Vec<PendingWrites>>,
    broken: Mutex<bool>,
    /// Called before a label is recorded.
    before_put: Mutex<Option<Look>>,
}

impl Labels {
    pub(crate) fn get_now(&self, path: &Path) -> Option<KnownFile> {
        self.files.lock().unwrap().get(path).copied()
    }

    pub(crate) fn set(&self, path: &Path, known: KnownFile) {
        self.files.lock().unwrap().insert(path.to_owned(), known);
    }

    pub(crate) fn break_down(&self, broken: bool) {
        *self.broken.lock().unwrap() = broken;
    }

    pub(crate) fn before_put(&self, look: impl Fn(&Path) + Send + 'static) {
        *self.before_put.lock().unwrap() = Some(Box::new(look));
    }

    fn check(&self, action: &'static str) -> Result<(), FileLabelsError> {
        if *self.broken.lock().unwrap() {
            return Err(FileLabelsError {
                action,
                cause: "the database is locked".into(),
            });
        }
        Ok(())
    }
}

impl FileLabels for Labels {
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>> {
        Box::pin(async move {
            self.check("read")?;
            Ok(self.get_now(path))
        })
    }

    fn find(&self, query: LabelQuery) -> BoxFuture<'_, Result<Vec<(PathBuf, KnownFile)>, FileLabelsError>> {
        Box::pin(async move {
            self.check("read")?;
            let mut found: Vec<(PathBuf, KnownFile)> =
                self.files.lock().unwrap().clone().into_iter().collect();
            found.retain(|(path, known)| query.asks_for(path, known.label));
            found.sort_by_key(|(path, _)| path.as_os_str().as_encoded_bytes().to_vec());
            found.truncate(query.limit);
            Ok(found)
        })
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, FileLabelsError>> {
        Box::pin(async move {
            self.check("read")?;
            Ok(self.pending.lock().unwrap().clone())
        })
    }

    fn begin(&self, work: PendingWrites) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        Box::pin(async move {
            self.pending.lock().unwrap().push(work);
            Ok(())
        })
    }

    fn settle(
        &self,
        id: String,
        files: Vec<(PathBuf, KnownFile)>,
    ) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        Box::pin(async move {
            self.put(files).await?;
            self.pending.lock().unwrap().retain(|work| work.id != id);
            Ok(())
        })
    }

    fn put(&self, files: Vec<(PathBuf, KnownFile)>) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        Box::pin(async move {
            self.check("written")?;
            for (path, known) in files {
                if let Some(look) = &*self.before_put.lock().unwrap() {
                    look(&path);
                }
                self.set(&path, known);
            }
            // As a real store does, let others have a turn.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }
}

/// A workspace `space` in a temporary folder, beside which `outside` lies.
pub(crate) struct Space {
    pub(crate) home: TempDir,
    pub(crate) labels: Arc<Labels>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) tools: Arc<Registry>,
}

/// How a call ended, as the runtime sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// `ok`, `error`, or the rule that refused it.
    pub(crate) how: String,
    pub(crate) text: String,
    pub(crate) label: Label,
}

impl Space {
    pub(crate) fn new() -> Self {
        Self::with_rules(|rules| rules)
    }

    pub(crate) fn with_rules(rules: impl FnOnce(PathRulesBuilder) -> PathRulesBuilder) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap().join("space");
        fs::create_dir(&root).unwrap();
        fs::create_dir(home.path().join("outside")).unwrap();
        fs::write(home.path().join("outside/secret.txt"), "OUTSIDE").unwrap();
        let rules = rules(PathRules::builder(&root)).build().unwrap();
        let labels = Arc::new(Labels::default());
        let workspace = Workspace::open(&root, rules, Arc::clone(&labels) as Arc<dyn FileLabels>).unwrap();
        let mut tools = Registry::new();
        for tool in file_tools(&workspace) {
            tools.register(tool).unwrap();
        }
        Self {
            home,
            labels,
            workspace,
            tools: Arc::new(tools),
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.home
            .path()
            .canonicalize()
            .unwrap()
            .join("outside")
            .join(path)
    }

    /// Puts a file there as a person would, making folders.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    /// The names in a folder, hidden ones too.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Checks the arguments and prepares the call.
    pub(crate) async fn prepare(
        &self,
        tool: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = self
            .tools
            .check(&tool.into(), &arguments.to_string())
            .unwrap_or_else(|error| panic!("the test's arguments do not fit: {error}"));
        self.tools
            .get(&tool.into())
            .unwrap()
            .prepare(arguments, context)
            .await
    }

    /// Makes a call as the runtime does: prepare, judge, read the labels again, judge again, run.
    pub(crate) async fn call_in(&self, tool: &str, arguments: Value, context: CallContext) -> Ended {
        let ended = |how: &str, text: String, label| Ended {
            how: how.into(),
            text,
            label,
        };
        let error = |error: ToolError| ended("error", error.message, error.label);
        let refused = |rule: String| ended(&rule, String::new(), Label::BOTTOM);
        let mut prepared = match self.prepare(tool, arguments, &context).await {
            Ok(prepared) => prepared,
            Err(failure) => return error(failure),
        };
        if let Some(rule) = self.refused(tool, prepared.resources(), &context) {
            return refused(rule);
        }
        match prepared.reread().await {
            Ok(again) => {
                if let Some(rule) = self.refused(tool, &again, &context) {
                    return refused(rule);
                }
            }
            Err(failure) => return error(failure),
        }
        match prepared.run(context).await {
            Ok(output) => ended("ok", joined_text(&output.content), output.label),
            Err(failure) => error(failure),
        }
    }

    /// The rule of the gate that refuses the call, if one does.
    fn refused(&self, tool: &str, resources: &[Resource], context: &CallContext) -> Option<String> {
        use tidegate_policy::{Admission, ArgumentCheck, Flow, Role, ToolCallFlow};
        let taint = Taint::new(context.label);
        let call = ToolCallFlow {
            tool: &self.tools.get(&tool.into()).unwrap().definition().policy,
            admission: &Admission::Offered,
            role: Role::User,
            arguments: &ArgumentCheck::Valid,
            produced_by: context.label,
            resources,
            granted: false,
            released: false,
            integrity: None,
            facts: tidegate_policy::CallFacts::default(),
        };
        let facts = SessionFacts {
            taint: &taint,
            clearance: context.clearance,
            bumper: None,
            caller: tidegate_policy::Caller::default(),
        };
        Gate::default()
            .judge(Flow::ToolCall(&call), facts)
            .rule
            .map(|rule| rule.to_string())
    }

    /// The same in a PUBLIC and TRUSTED context that may read all.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Ended {
        self.call_in(tool, arguments, context()).await
    }
}

pub(crate) fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(1),
        call: "call_1_0".into(),
        label: Label::BOTTOM,
        clearance: Classification::Restricted,
        cancel: Arc::new(NeverCancelled),
    }
}

pub(crate) fn cleared(clearance: Classification) -> CallContext {
    CallContext {
        clearance,
        ..context()
    }
}

pub(crate) fn tainted(label: Label) -> CallContext {
    CallContext { label, ..context() }
}

/// The level of the first sink.
pub(crate) fn sink(resources: &[Resource]) -> Option<SinkLevel> {
    resources.iter().find_map(|resource| match resource {
        Resource::Sink { level, .. } => Some(*level),
        Resource::Source { .. } | Resource::Payload { .. } => None,
    })
}

/// A runtime with few threads.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}
