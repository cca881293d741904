//! Putting a runtime together by hand.

use crate::config::{Configuration, TrustedFiles};
use crate::lock::Locks;
use crate::memory::{CaughtUp, MemoryAuxiliary};
use crate::provenance::IntegrityCheck;
use crate::resilience::{Account, Jitter};
use crate::runtime::{Extras, ProviderSlot, Runtime, Shared};
use crate::secrets::{self, Secrets};
use crate::{EventBus, RuntimeError, TurnHook};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_builtins::Asker;
use tidegate_builtins::confine::Launcher;
use tidegate_memory::Memory;
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_policy::{Classification, Gate, RuleSet, SecretValues};
use tidegate_prompt::Templates;
use tidegate_providers::Provider;
use tidegate_store::{MemoryRecords, MemoryStore, Records, Store};
use tidegate_tools::Tool;
use tokio::sync::Semaphore;

/// Builds a [`Runtime`]. A store is needed; all else has a default.
#[derive(Default)]
pub struct RuntimeBuilder {
    store: Option<Arc<dyn Store>>,
    providers: BTreeMap<ProviderId, ProviderSlot>,
    tiers: BTreeMap<Tier, Vec<ModelId>>,
    tools: Vec<Arc<dyn Tool>>,
    no_file_tools: bool,
    own_files: Vec<PathBuf>,
    session_workspaces: Option<PathBuf>,
    pub(crate) configuration: Configuration,
    lock_folder: Option<PathBuf>,
    accounts: BTreeMap<String, Arc<Account>>,
    jitter_seed: Option<u64>,
    extras: Extras,
    rules: Option<RuleSet>,
    secret_values: SecretValues,
    templates: Option<Templates>,
    pub(crate) auxiliary: Vec<ModelId>,
    hooks: Vec<Arc<dyn TurnHook>>,
    trusted_files: Option<TrustedFiles>,
    pub(crate) records: Option<Arc<dyn Records>>,
    pub(crate) memory: Option<Arc<Memory>>,
    pub(crate) memory_auxiliary: Option<Arc<MemoryAuxiliary>>,
}

impl RuntimeBuilder {
    /// Where everything is recorded: mostly a [`SqliteStore`](tidegate_store::SqliteStore). For a runtime without a
    /// file there is [`in_memory`](Self::in_memory).
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Records everything in a new [`MemoryStore`]: it is lost at the end of the process. For tests, and for
    /// programs that want no file.
    #[must_use]
    pub fn in_memory(self) -> Self {
        self.store(Arc::new(MemoryStore::new()))
            .records(Arc::new(MemoryRecords::new()))
    }

    /// Adds a provider that may get data up to `clearance`, with at most `max_concurrent` calls at once. A
    /// provider of the same name is replaced.
    #[must_use]
    pub fn provider(
        mut self,
        provider: Arc<dyn Provider>,
        clearance: Classification,
        max_concurrent: usize,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(max_concurrent.clamp(1, Semaphore::MAX_PERMITS)));
        let account = Arc::clone(self.accounts.entry(provider.account()).or_default());
        self.providers.insert(
            provider.id().clone(),
            ProviderSlot {
                provider,
                clearance,
                permits,
                account,
            },
        );
        self
    }

    /// The models of a tier, best first.
    #[must_use]
    pub fn tier(mut self, tier: Tier, models: Vec<ModelId>) -> Self {
        self.tiers.insert(tier, models);
        self
    }

    /// Adds a tool for all sessions, beside the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Leaves the built-in file tools out: sessions then need no workspace.
    #[must_use]
    pub fn without_file_tools(mut self) -> Self {
        self.no_file_tools = true;
        self
    }

    /// Adds `run_command`, which starts commands with this launcher: for programs whose `main` calls
    /// [`confine::main`](tidegate_builtins::confine::main) first of all, or that have `tidegate-confine` beside them.
    #[must_use]
    pub fn commands(mut self, launcher: Launcher) -> Self {
        self.extras.launcher = Some(launcher);
        self
    }

    /// Adds `http_get`, with the levels of `[policy.hosts]`.
    #[must_use]
    pub fn web(mut self) -> Self {
        self.extras.web = true;
        self
    }

    /// Adds `ask_user`, whose questions this asks.
    #[must_use]
    pub fn asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.extras.asker = Some(asker);
        self
    }

    /// Adds `list_tools` and `get_tool_schema` over the tools of the session.
    #[must_use]
    pub fn catalogue(mut self) -> Self {
        self.extras.catalogue = true;
        self
    }

    /// Files and folders of the program's own: RESTRICTED to read, never a sink of any tool.
    #[must_use]
    pub fn own_files(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_files.extend(files);
        self
    }

    /// The folder in which workspaces for sessions lie, though it may be among the own files: what is in it is
    /// theirs to write.
    #[must_use]
    pub fn session_workspaces(mut self, folder: PathBuf) -> Self {
        self.session_workspaces = Some(folder);
        self
    }

    /// Limits, labels, users. Its `providers` and `tiers` are not looked at: add them one by one.
    #[must_use]
    pub fn configuration(mut self, configuration: Configuration) -> Self {
        self.configuration = configuration;
        self
    }

    /// The custom rules. Default: those of the configuration's `policy.rules`, whose errors then have no line.
    #[must_use]
    pub fn rules(mut self, rules: RuleSet) -> Self {
        self.rules = Some(rules);
        self
    }

    /// The values of secrets. Where each may go is in the configuration's `secrets`.
    #[must_use]
    pub fn secret_values(mut self, values: SecretValues) -> Self {
        self.secret_values = values;
        self
    }

    /// What prompts are made with. Default: the built-in templates.
    #[must_use]
    pub fn templates(mut self, templates: Templates) -> Self {
        self.templates = Some(templates);
        self
    }

    /// The models that sum up long conversations, best first. Default: none; summaries are then put together without a
    /// model.
    #[must_use]
    pub fn auxiliary(mut self, models: Vec<ModelId>) -> Self {
        self.auxiliary = models;
        self
    }

    /// With this hook, after those that are there: what it says rides on the user's message.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn TurnHook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// What the owner has looked at: a project file on this list becomes part of the system prompt. Default: none is.
    #[must_use]
    pub fn trusted_files(mut self, trusted: TrustedFiles) -> Self {
        self.trusted_files = Some(trusted);
        self
    }

    /// Where session locks lie. Needed if other processes use the same store; without it, sessions are locked
    /// in this process alone.
    #[must_use]
    pub fn lock_folder(mut self, folder: PathBuf) -> Self {
        self.lock_folder = Some(folder);
        self
    }

    /// Makes the jitter of the waits between tries of a model call a matter of `seed`, for tests. Without it,
    /// chance decides.
    #[must_use]
    pub fn jitter_seed(mut self, seed: u64) -> Self {
        self.jitter_seed = Some(seed);
        self
    }

    /// The runtime.
    ///
    /// # Errors
    /// [`RuntimeError::Incomplete`] without a store; [`RuntimeError::Rules`] if rules of the configuration are wrong.
    pub fn build(self) -> Result<Runtime, RuntimeError> {
        let store = self.store.ok_or(RuntimeError::Incomplete { what: "a store" })?;
        let rules = match self.rules {
            Some(rules) => rules,
            None => RuleSet::of_tables("the configuration", &self.configuration.policy.rules)?,
        };
        let integrity = IntegrityCheck::of(&self.configuration.policy);
        let gate = Gate::default()
            .with_rules(rules)
            .with_secrets(secrets::scopes(&self.configuration)?);
        let shared = Shared {
            integrity,
            secrets: Secrets::new(self.secret_values),
            store,
            providers: self.providers,
            tiers: self.tiers,
            tools: self.tools,
            file_tools: !self.no_file_tools,
            extras: self.extras,
            own_files: self.own_files,
            session_workspaces: self.session_workspaces,
            configuration: self.configuration,
            gate,
            bus: EventBus::default(),
            locks: Arc::new(self.lock_folder.map_or_else(Locks::in_process, Locks::Folder)),
            jitter: Arc::new(Jitter::new(self.jitter_seed)),
            templates: match self.templates {
                Some(templates) => templates,
                None => Templates::builtin()?,
            },
            auxiliary: self.auxiliary,
            hooks: self.hooks,
            trusted_files: self.trusted_files,
            memory: self.memory,
            memory_auxiliary: self.memory_auxiliary,
            records: self.records,
            caught_up: CaughtUp::default(),
        };
        let shared = Arc::new(shared);
        if let Some(auxiliary) = &shared.memory_auxiliary {
            auxiliary.set(&shared);
        }
        Ok(Runtime { shared })
    }
}
