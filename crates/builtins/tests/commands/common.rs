//! A workspace in a temporary folder, and commands run in it as the runtime does.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tidegate_builtins::confine::Launcher;
use tidegate_builtins::{CommandSettings, Workspace, confinement_available, file_tools, run_command};
use tidegate_message::joined_text;
use tidegate_policy::{
    Classification, Label, PathRules, PathRulesBuilder, Resource, ResourceKind, SessionId, SinkLevel, TurnId,
};
use tidegate_tools::{
    BoxFuture, CallContext, Cancel, ContentHash, FileLabels, FileLabelsError, KnownFile, LabelQuery,
    MemoryLabels, NeverCancelled, PendingWrites, PreparedCall, Registry, ToolError,
};
use tokio_util::sync::CancellationToken;

/// Labels of files, in memory.
#[derive(Default)]
pub(crate) struct Labels {
    kept: MemoryLabels,
    broken: Mutex<Broken>,
}

/// What cannot be done any more.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Broken {
    #[default]
    Nothing,
    Begin,
    Settle,
    /// Settling never ends, as if the program had been killed before it.
    Killed,
}

impl Labels {
    pub(crate) fn break_down(&self, what: Broken) {
        *self.broken.lock().unwrap() = what;
    }

    fn check(&self, what: Broken) -> Result<(), FileLabelsError> {
        if *self.broken.lock().unwrap() == what {
            return Err(FileLabelsError {
                action: "written",
                cause: "the disk is full".into(),
            });
        }
        Ok(())
    }

    pub(crate) async fn of(&self, path: &Path) -> Option<Label> {
        self.kept.get(path).await.unwrap().map(|known| known.label)
    }

    pub(crate) async fn set(&self, path: &Path, label: Label) {
        let hash = ContentHash::NONE;
        let known = KnownFile { hash, label };
        self.kept.put(vec![(path.to_owned(), known)]).await.unwrap();
    }

    pub(crate) async fn pending_now(&self) -> Vec<PendingWrites> {
        self.kept.pending().await.unwrap()
    }
}

impl FileLabels for Labels {
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>> {
        self.kept.get(path)
    }

    fn find(&self, query: LabelQuery) -> BoxFuture<'_, Result<Vec<(PathBuf, KnownFile)>, FileLabelsError>> {
        self.kept.find(query)
    }

    fn put(&self, files: Vec<(PathBuf, KnownFile)>) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        self.kept.put(files)
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, FileLabelsError>> {
        self.kept.pending()
    }

    fn begin(&self, work: PendingWrites) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        match self.check(Broken::Begin) {
            Ok(()) => self.kept.begin(work),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn settle(
        &self,
        id: String,
        files: Vec<(PathBuf, KnownFile)>,
    ) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        if self.check(Broken::Killed).is_err() {
            return Box::pin(std::future::pending());
        }
        match self.check(Broken::Settle) {
            Ok(()) => self.kept.settle(id, files),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// A workspace `space` in a temporary folder, with `outside` and the program's own folder `own` beside it.
pub(crate) struct Space {
    pub(crate) home: PathBuf,
    root: PathBuf,
    pub(crate) labels: Arc<Labels>,
    tools: Registry,
    _folder: TempDir,
}

/// How a call ended, as the runtime sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) ok: bool,
    pub(crate) text: String,
    pub(crate) label: Label,
}

impl Ended {
    /// What the command said, after a line that it ended well.
    #[track_caller]
    pub(crate) fn output(&self) -> &str {
        match self.text.strip_prefix("exit code 0\n") {
            Some(output) if self.ok => output,
            _ => panic!("it did not end well: {self:?}"),
        }
    }
}

/// Not below `/tmp`, which is another folder to a confined command.
pub(crate) fn folder() -> TempDir {
    TempDir::new_in("/var/tmp").unwrap()
}

/// Names another copy of the launcher: another user may not be able to reach the one that was built.
pub(crate) const LAUNCHER: &str = "TIDEGATE_TEST_LAUNCHER";

pub(crate) fn launcher() -> Launcher {
    Launcher::program(std::env::var_os(LAUNCHER).unwrap_or(env!("CARGO_BIN_EXE_tidegate-confine").into()))
}

/// What is said where nothing is tested.
pub(crate) const NOT_TESTED: &str = "not tested, since this system cannot confine";

/// Whether commands can be confined here. Root always can on the systems these tests are for.
pub(crate) async fn confines() -> bool {
    match confinement_available(&launcher()).await {
        Ok(()) => true,
        Err(error) => {
            assert!(
                !rustix::process::geteuid().is_root(),
                "root cannot confine: {error}"
            );
            eprintln!("{NOT_TESTED}: {error}");
            false
        }
    }
}

impl Space {
    /// Where commands are confined; none if this system cannot.
    pub(crate) async fn confined() -> Option<Self> {
        Self::with(|rules| rules, |settings| settings).await
    }

    pub(crate) async fn with(
        rules: impl FnOnce(PathRulesBuilder) -> PathRulesBuilder,
        settings: impl FnOnce(CommandSettings) -> CommandSettings,
    ) -> Option<Self> {
        confines().await.then(|| Self::new(rules, settings))
    }

    /// Where commands are confined, with more files of the program's own than usual.
    pub(crate) fn with_own(more: impl FnOnce(&Path) -> PathBuf) -> Self {
        let folder = folder();
        let root = folder.path().canonicalize().unwrap().join("space");
        fs::create_dir(&root).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        let own = more(&root);
        let rules = PathRules::builder(&root).own(&own).build().unwrap();
        Self::at(folder, &root, rules, |settings| settings.own_files([own]))
    }

    pub(crate) fn unconfined() -> Self {
        Self::new(|rules| rules, CommandSettings::unconfined)
    }

    fn new(
        rules: impl FnOnce(PathRulesBuilder) -> PathRulesBuilder,
        settings: impl FnOnce(CommandSettings) -> CommandSettings,
    ) -> Self {
        let folder = folder();
        let home = folder.path().canonicalize().unwrap();
        for name in ["space", "outside", "own"] {
            fs::create_dir(home.join(name)).unwrap();
        }
        fs::write(home.join("outside/secret.txt"), "OUTSIDE").unwrap();
        fs::write(home.join("own/keys.txt"), "OWN").unwrap();
        let root = home.join("space");
        let builder = PathRules::builder(&root)
            .own(home.join("own"))
            .own(root.join("tidegate.toml"));
        // Where nothing was, a command could put its own.
        fs::write(root.join("tidegate.toml"), "").unwrap();
        let own = [home.join("own"), root.join("tidegate.toml")];
        let rules = rules(builder).build().unwrap();
        Self::at(folder, &root, rules, |all| settings(all.own_files(own)))
    }

    /// A workspace somewhere in `folder`.
    pub(crate) fn at(
        folder: TempDir,
        root: &Path,
        rules: PathRules,
        settings: impl FnOnce(CommandSettings) -> CommandSettings,
    ) -> Self {
        Self::started_by(launcher(), folder, root, rules, settings)
    }

    /// With a launcher that is not what it should be.
    pub(crate) fn with_launcher(launcher: Launcher) -> Self {
        let folder = folder();
        let root = folder.path().canonicalize().unwrap().join("space");
        fs::create_dir(&root).unwrap();
        let rules = PathRules::builder(&root).build().unwrap();
        Self::started_by(launcher, folder, &root, rules, CommandSettings::unconfined)
    }

    fn started_by(
        launcher: Launcher,
        folder: TempDir,
        root: &Path,
        rules: PathRules,
        settings: impl FnOnce(CommandSettings) -> CommandSettings,
    ) -> Self {
        let labels = Arc::new(Labels::default());
        let workspace = Workspace::open(root, rules, Arc::clone(&labels) as Arc<dyn FileLabels>).unwrap();
        let mut tools = Registry::new();
        for tool in file_tools(&workspace) {
            tools.register(tool).unwrap();
        }
        tools
            .register(run_command(settings(CommandSettings::new(&workspace, launcher))))
            .unwrap();
        Self {
            home: folder.path().canonicalize().unwrap(),
            root: root.to_owned(),
            labels,
            tools,
            _folder: folder,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
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

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    pub(crate) async fn prepare(
        &self,
        arguments: Value,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, ToolError> {
        self.prepare_tool("run_command", arguments, context).await
    }

    async fn prepare_tool(
        &self,
        tool: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, ToolError> {
        let name = tool.into();
        let arguments = self.tools.check(&name, &arguments.to_string()).unwrap();
        self.tools.get(&name).unwrap().prepare(arguments, context).await
    }

    pub(crate) async fn call(&self, arguments: Value, context: CallContext) -> Ended {
        self.call_tool("run_command", arguments, context).await
    }

    /// Another tool in the same workspace, whatever the gate would say.
    pub(crate) async fn call_tool(&self, tool: &str, arguments: Value, context: CallContext) -> Ended {
        let work = async {
            let mut prepared = self.prepare_tool(tool, arguments, &context).await?;
            prepared.reread().await?;
            prepared.run(context).await
        };
        match work.await {
            Ok(output) => Ended {
                ok: true,
                text: joined_text(&output.content),
                label: output.label,
            },
            Err(error) => Ended {
                ok: false,
                text: error.message,
                label: error.label,
            },
        }
    }

    /// Runs a command in a PUBLIC context that may read up to CONFIDENTIAL.
    pub(crate) async fn sh(&self, command: &str) -> Ended {
        self.call(json!({ "command": command }), context()).await
    }

    pub(crate) async fn sh_at(&self, level: Classification, command: &str) -> Ended {
        let context = CallContext {
            label: Label::untrusted(level),
            clearance: level.max(Classification::Confidential),
            ..context()
        };
        self.call(json!({ "command": command }), context).await
    }

    /// What the gate would be told: the level as a source, and as a sink.
    pub(crate) async fn judged(&self, arguments: Value, context: &CallContext) -> (Label, Classification) {
        let mut prepared = self.prepare(arguments, context).await.unwrap();
        let resources = prepared.resources().to_vec();
        assert_eq!(prepared.reread().await.unwrap(), resources);
        let [
            Resource::Source { what, label },
            Resource::Sink {
                what: written,
                level: SinkLevel::Level(level),
            },
        ] = resources.as_slice()
        else {
            panic!("{resources:?}")
        };
        assert_eq!(what, written);
        assert_eq!(what.kind, ResourceKind::Command);
        (*label, *level)
    }
}

pub(crate) fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(1),
        call: "call_1_0".into(),
        label: Label::BOTTOM,
        clearance: Classification::Confidential,
        cancel: Arc::new(NeverCancelled),
    }
}

/// A cancellation a test pulls.
#[derive(Clone, Default)]
pub(crate) struct Pull(pub(crate) CancellationToken);

impl Cancel for Pull {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.cancelled())
    }
}
