//! Opening a session: finding or making it, with its workspace, tools and clearance.

use crate::caller::caller;
use crate::config::LOCAL_USER;
use crate::file_labels::StoredLabels;
use crate::memory::{StoredOwners, purge_session};
use crate::runtime::{Shared, find};
use crate::session::{Session, SessionParts};
use crate::start::Start;
use crate::{Runtime, RuntimeError, ids, project_file, prompt};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_builtins::{Catalogue, CommandSettings, HttpSettings, Workspace};
use tidegate_core::Run;
use tidegate_message::{
    Entry, EntrySeq, EventKind, ModelPolicy, Tier, ToolSpec, Transcript, TranscriptError,
};
use tidegate_policy::{
    Classification, Flow, Hook, HostRules, Label, PathRules, ResetFlow, Role, SessionFacts, SessionId,
    SessionName, UserId,
};
use tidegate_prompt::Cooldown;
use tidegate_store::{NewEvent, NewSession, Segment, SessionPatch, SessionRecord, SessionState, Write};
use tidegate_tools::Registry;

/// Which session is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// A new one without a name.
    New,
    /// The one of this name; a new one if there is none.
    Named(SessionName),
    /// One that is there, by name or id.
    Existing(String),
    /// A new one in the place of this one: it takes over its name, and nothing else. Whoever asks for that should
    /// have the other one open, so that nobody else uses it.
    InPlaceOf(SessionId),
}

/// What is wanted of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// Which.
    pub which: Which,
    /// In whose name. Default `local`.
    pub user: UserId,
    /// Its workspace folder. Default: the one it has; for a new session the current folder.
    pub workspace: Option<PathBuf>,
    /// How its model is chosen. Default: as it was; for a new session the configured policy.
    pub model_policy: Option<ModelPolicy>,
    /// What is to stand in its system prompt, after what the program says of itself. Default: nothing; a session that is
    /// there keeps what it began with.
    pub system_message: Option<SystemMessage>,
}

/// What a caller wants to stand in a session's system prompt. It speaks with the voice of the system: give nothing here
/// that the owner does not stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemMessage {
    /// The text: never read as a template.
    pub text: String,
    /// Its label. The session begins with it.
    pub label: Label,
}

impl SessionRequest {
    /// A request with the defaults.
    pub fn new(which: Which) -> Self {
        Self {
            which,
            user: UserId::new(LOCAL_USER),
            workspace: None,
            model_policy: None,
            system_message: None,
        }
    }

    /// With this workspace.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// With this text of the owner's, of this level, in the system prompt.
    #[must_use]
    pub fn system_message(mut self, text: impl Into<String>, level: Classification) -> Self {
        self.system_message = Some(SystemMessage {
            text: text.into(),
            label: Label::trusted(level),
        });
        self
    }

    /// With this model policy.
    #[must_use]
    pub fn model_policy(mut self, policy: ModelPolicy) -> Self {
        self.model_policy = Some(policy);
        self
    }
}

impl Runtime {
    /// Opens a session for use: nobody else can until it is dropped.
    ///
    /// # Errors
    /// If it is unknown, in use, belongs to another workspace, began with another system message than is asked for, or
    /// has no model to start with.
    pub async fn session(&self, request: SessionRequest) -> Result<Session, RuntimeError> {
        let shared = &self.shared;
        let existing = match &request.which {
            Which::New | Which::InPlaceOf(_) => None,
            Which::Named(name) => shared.store.session_named(name).await?,
            Which::Existing(given) => Some(find(&*shared.store, given).await?),
        };
        match existing {
            Some(record) => reopen(shared, record.session.id, request).await,
            None => create(shared, request, Purpose::Turns).await,
        }
    }

    /// The session of this name in the current folder; one that is not there yet is begun, whether or not there is a model
    /// for it: for texts that are saved for it before it is first run. Its clearance is what the configuration and the
    /// user allow until it is opened with [`session`](Self::session), which looks at its models.
    ///
    /// # Errors
    /// Of the store; if the current folder cannot be its workspace.
    pub async fn begin_without_models(&self, name: SessionName) -> Result<SessionId, RuntimeError> {
        let shared = &self.shared;
        if let Some(record) = shared.store.session_named(&name).await? {
            return Ok(record.session.id);
        }
        let request = SessionRequest::new(Which::Named(name));
        Ok(create(shared, request, Purpose::Texts).await?.id())
    }
}

/// What a session is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be run: there have to be models.
    Turns,
    /// To hold texts; its models are looked at when it is opened.
    Texts,
}

async fn reopen(
    shared: &Arc<Shared>,
    id: SessionId,
    request: SessionRequest,
) -> Result<Session, RuntimeError> {
    let lock = shared.lock(id)?;
    // Read again under the lock: what another process wrote before it let go is there now.
    let unknown = || RuntimeError::UnknownSession {
        given: id.to_string(),
    };
    let mut record = shared.store.session(id).await?.ok_or_else(unknown)?;
    if record.state == SessionState::Erased {
        return Err(RuntimeError::SessionErased { session: id });
    }
    if let Some(given) = &request.workspace {
        let given = canonical_folder(given)?;
        if given != record.session.workspace {
            return Err(RuntimeError::OtherWorkspace {
                session: id,
                stored: record.session.workspace,
                given,
            });
        }
    }
    if let Some(message) = &request.system_message
        && !prompt::has_message(&record.session.system_prompt, message)
    {
        return Err(RuntimeError::OtherSystemMessage { session: id });
    }
    let policy = request
        .model_policy
        .clone()
        .unwrap_or_else(|| record.session.model_policy.clone());
    shared.check_policy(&policy)?;
    let clearance = clearance(shared, &request.user, &policy)?;
    let patch = SessionPatch {
        model_policy: (policy != record.session.model_policy).then(|| policy.clone()),
        clearance: (clearance != record.session.clearance).then_some(clearance),
        ..SessionPatch::default()
    };
    let entries = shared.store.entries(id).await?;
    let segments = shared.store.segments(id).await?;
    let log = if segments.is_empty() {
        Vec::new()
    } else {
        entries.clone()
    };
    let transcript =
        current(entries, segments.last()).map_err(|cause| RuntimeError::Transcript { session: id, cause })?;
    let rest = shared.store.compaction_rest(id).await?;
    let role = role(shared, &request.user)?;
    let registry = registry(shared, &record.session.workspace, role)?;
    // Tools that came since are appended; those that went stay listed, and calling them is answered.
    let mut specs = record.session.tools.clone();
    for spec in registry.specs(role) {
        if !specs.iter().any(|known| known.name == spec.name) {
            specs.push(spec);
        }
    }
    let patch = SessionPatch {
        tools: (specs != record.session.tools).then(|| specs.clone()),
        ..patch
    };
    if patch != SessionPatch::default() {
        shared.store.commit(vec![Write::PatchSession(id, patch)]).await?;
    }
    let tier = last_tier(shared, id).await?;
    let tools_before = record.session.tools.len();
    // What nobody has approved rides on the first turn.
    let project_file = if record.turns == 0 {
        let found = project_file::find(shared, &record.session.workspace).await?;
        found.filter(|found| !found.is_approved)
    } else {
        None
    };
    record.session.tools = specs;
    record.session.model_policy = policy;
    record.session.clearance = clearance;
    Ok(Session::new(SessionParts {
        shared: Arc::clone(shared),
        lock,
        record,
        transcript,
        registry,
        role,
        tier,
        project_file,
        rest: Cooldown {
            failures: rest.failures,
            failed_at_ms: rest.failed_at_ms,
        },
        log,
        tools_before,
    }))
}

/// The transcript of a session's last segment.
fn current(entries: Vec<Arc<Entry>>, segment: Option<&Segment>) -> Result<Transcript, TranscriptError> {
    let last = entries.last().map_or(EntrySeq(0), |entry| entry.seq);
    let mut transcript = Transcript::from_entries(of_segment(entries, segment))?;
    transcript.reserve_through(last);
    Ok(transcript)
}

/// The entries of a segment: what it begins with, and all that was stored since.
pub(crate) fn of_segment(entries: Vec<Arc<Entry>>, segment: Option<&Segment>) -> Vec<Arc<Entry>> {
    let Some(segment) = segment else {
        return entries;
    };
    let stored: BTreeMap<EntrySeq, &Arc<Entry>> = entries.iter().map(|entry| (entry.seq, entry)).collect();
    let first = segment
        .made
        .entries
        .iter()
        .filter_map(|seq| stored.get(seq).copied());
    let since = entries.iter().filter(|entry| entry.seq > segment.through);
    first.chain(since).cloned().collect()
}

/// The tier the session's last turn had come to. A machine that cannot be read says nothing of it, and is an error
/// only for the turn it belongs to.
async fn last_tier(shared: &Shared, id: SessionId) -> Result<Option<Tier>, RuntimeError> {
    let saved = shared.store.checkpoint(id).await?;
    let run = saved.and_then(|saved| Run::load(saved.version, &saved.data).ok());
    Ok(run.and_then(|run| run.routing().current()))
}

/// The policy of a new session.
pub(crate) fn policy_of(shared: &Shared, request: &SessionRequest) -> ModelPolicy {
    // Loading has checked the one that is configured.
    let configured = || shared.configuration.agent.model_policy.parse().ok();
    request
        .model_policy
        .clone()
        .or_else(configured)
        .unwrap_or_default()
}

async fn create(
    shared: &Arc<Shared>,
    request: SessionRequest,
    purpose: Purpose,
) -> Result<Session, RuntimeError> {
    let policy = policy_of(shared, &request);
    let clearance = match purpose {
        Purpose::Turns => {
            shared.check_policy(&policy)?;
            clearance(shared, &request.user, &policy)?
        }
        Purpose::Texts => clearance_without_models(shared, &request.user)?,
    };
    let role = role(shared, &request.user)?;
    let workspace = canonical_folder(&request.workspace.unwrap_or_else(|| PathBuf::from(".")))?;
    let registry = registry(shared, &workspace, role)?;
    let tools: Vec<ToolSpec> = registry.specs(role);
    let id = ids::new_session_id();
    let lock = shared.lock(id)?;
    let mut moved = Vec::new();
    let mut reset = None;
    let name = match request.which {
        Which::Named(name) => Some(name),
        Which::New | Which::Existing(_) => None,
        Which::InPlaceOf(before) => {
            let before_it = shared.store.session(before).await?;
            if let Some(record) = &before_it {
                judge_reset(shared, record, role).await?;
            }
            if let Some(record) = &before_it {
                reset = Some((record.session.user.clone(), before));
                moved.push(Write::PurgeContext(before));
            }
            let name = before_it.and_then(|record| record.session.name);
            moved.extend(name.is_some().then_some(Write::MoveName { from: before, to: id }));
            name
        }
    };
    let caller = caller(&request.user, role, name.as_ref(), false);
    let mut start = Start::default();
    let system_message = match &request.system_message {
        Some(message) => Some(start.system_message(shared, clearance, caller, message)?),
        None => None,
    };
    let system_message = system_message.as_deref().map(|text| (text, start.taint.label()));
    let approved = match project_file::find(shared, &workspace).await? {
        Some(found) if found.is_approved => start.approved(shared, clearance, caller, &found)?,
        Some(found) => {
            start.project_file = Some(found);
            None
        }
        None => None,
    };
    let label = start.taint.label();
    let system_prompt = prompt::system_prompt(
        shared,
        approved.as_ref().map(|file| (file, label)),
        system_message,
    )?
    .text;
    let mut session = NewSession {
        id,
        // A name that moves is still the other's when this one is made.
        name: name.clone().filter(|_| reset.is_none()),
        user: request.user,
        model_policy: policy,
        clearance,
        taint: start.taint,
        workspace,
        system_prompt: system_prompt.into(),
        tools,
    };
    let created = NewEvent {
        turn: None,
        label: Label::BOTTOM,
        kind: EventKind::SessionCreated {
            name: name.clone(),
            clearance,
        },
    };
    let mut writes = vec![Write::CreateSession(Box::new(session.clone()))];
    writes.extend(moved);
    let mut events = vec![created];
    events.append(&mut start.events);
    writes.push(Write::Events(id, events));
    let committed = shared.store.commit(writes).await?;
    if let Some((user, before)) = reset {
        purge_session(shared, &user, before).await?;
    }
    session.name = name;
    for event in committed.events {
        shared.bus.publish(&event);
    }
    let record = SessionRecord {
        session,
        state: SessionState::Idle,
        turns: 0,
        acknowledged: Classification::Public,
        created_ms: 0,
        changed_ms: 0,
    };
    let transcript = Transcript::default();
    Ok(Session::new(SessionParts {
        shared: Arc::clone(shared),
        lock,
        record,
        transcript,
        registry,
        role,
        tier: None,
        project_file: start.project_file,
        rest: Cooldown::default(),
        log: Vec::new(),
        tools_before: usize::MAX,
    }))
}

/// Asks the owner's rules whether a session may be reset, and records the answer with it.
async fn judge_reset(shared: &Shared, before: &SessionRecord, role: Role) -> Result<(), RuntimeError> {
    let session = &before.session;
    let facts = SessionFacts {
        taint: &session.taint,
        clearance: session.clearance,
        bumper: None,
        caller: caller(&session.user, role, session.name.as_ref(), false),
    };
    let reset = ResetFlow { carries_draft: false };
    let evaluation = shared.gate.judge(Flow::SessionReset(&reset), facts);
    let refused = (!evaluation.is_allowed()).then(|| evaluation.explanation.clone().unwrap_or_default());
    let judged = NewEvent {
        turn: None,
        label: session.taint.label(),
        kind: EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        },
    };
    // Without rules there is nothing to tell of.
    if !shared.gate.rules().at(Hook::SessionReset).is_empty() {
        let writes = vec![Write::Events(session.id, vec![judged])];
        for event in shared.store.commit(writes).await?.events {
            shared.bus.publish(&event);
        }
    }
    refused.map_or(Ok(()), |explanation| {
        Err(RuntimeError::ResetRefused { explanation })
    })
}

/// The lowest of: configured, the user's, and the highest among the session's providers.
fn clearance(shared: &Shared, user: &UserId, policy: &ModelPolicy) -> Result<Classification, RuntimeError> {
    let clearance = clearance_without_models(shared, user)?;
    Ok(clearance.min(shared.highest_clearance(policy)))
}

/// The lower of: configured, the user's. What the models of a session may get is not looked at.
pub(crate) fn clearance_without_models(
    shared: &Shared,
    user: &UserId,
) -> Result<Classification, RuntimeError> {
    let of_user = shared.configuration.users.clearance(user.as_str());
    let of_user = of_user.ok_or_else(|| RuntimeError::UnknownUser { user: user.clone() })?;
    Ok(shared.configuration.policy.clearance.min(of_user))
}

pub(crate) fn role(shared: &Shared, user: &UserId) -> Result<Role, RuntimeError> {
    let role = shared.configuration.users.role(user.as_str());
    role.ok_or_else(|| RuntimeError::UnknownUser { user: user.clone() })
}

/// The tools of a session in this workspace, for a user of this role.
pub(crate) fn registry(shared: &Shared, workspace: &Path, role: Role) -> Result<Arc<Registry>, RuntimeError> {
    let mut registry = Registry::default();
    let mut add = |tool| registry.register(configured(shared, tool));
    if shared.file_tools {
        let rules = path_rules(shared, workspace)?;
        let labels = Arc::new(StoredLabels(Arc::clone(&shared.store)));
        let workspace = Workspace::open(workspace, rules, labels)?;
        for tool in tidegate_builtins::file_tools(&workspace) {
            add(tool)?;
        }
        if let Some(launcher) = &shared.extras.launcher
            && shared.configuration.agent.commands
        {
            let settings = CommandSettings::new(&workspace, launcher.clone())
                .own_files(shared.own_files.clone())
                .limits(shared.configuration.commands.limits());
            add(tidegate_builtins::run_command(settings))?;
        }
    }
    if shared.extras.web {
        let hosts = shared.configuration.policy.hosts.iter();
        let hosts = HostRules::new(hosts.map(|(pattern, level)| (pattern.as_str(), *level)))?;
        let settings = HttpSettings::new(Arc::new(hosts));
        add(tidegate_builtins::http_get(settings))?;
    }
    if let Some(asker) = &shared.extras.asker {
        add(tidegate_builtins::ask_user(Arc::clone(asker)))?;
    }
    add(tidegate_builtins::current_time(jiff::ZonedDateTime::now))?;
    if let Some(memory) = &shared.memory {
        let owners = Arc::new(StoredOwners(Arc::clone(&shared.store)));
        for tool in tidegate_memory::memory_tools(memory, Arc::clone(&owners) as _) {
            add(tool)?;
        }
        for tool in tidegate_memory::registry_tools(memory, owners) {
            add(tool)?;
        }
    }
    for tool in &shared.tools {
        add(Arc::clone(tool))?;
    }
    if shared.extras.catalogue {
        let catalogue = Catalogue::new(registry.specs(role));
        registry.register(configured(
            shared,
            tidegate_builtins::list_tools(catalogue.clone()),
        ))?;
        registry.register(configured(shared, tidegate_builtins::get_tool_schema(catalogue)))?;
    }
    Ok(Arc::new(registry))
}

pub(crate) fn path_rules(shared: &Shared, workspace: &Path) -> Result<PathRules, RuntimeError> {
    let policy = &shared.configuration.policy;
    let mut builder = PathRules::builder(workspace).workspace_level(policy.workspace);
    for (pattern, level) in &policy.paths {
        builder = builder.pattern(pattern.as_str(), *level);
    }
    for file in &shared.own_files {
        builder = builder.own(file);
    }
    for folder in &policy.trusted_folders {
        // A folder that is not there has no files to trust.
        if let Ok(folder) = workspace.join(folder).canonicalize() {
            builder = builder.trusted(folder);
        }
    }
    // Workspaces the program made for sessions lie in its data folder and are theirs to write.
    if shared
        .session_workspaces
        .as_ref()
        .is_some_and(|folder| workspace.starts_with(folder))
    {
        builder = builder.session_workspace(workspace);
    }
    Ok(builder.build()?)
}

pub(crate) fn canonical_folder(folder: &Path) -> Result<PathBuf, RuntimeError> {
    let wrong = |cause| RuntimeError::Folder {
        what: "workspace",
        path: folder.to_path_buf(),
        hint: "it has to be a folder that is there; choose one with --workspace DIR",
        cause,
    };
    let canonical = folder.canonicalize().map_err(wrong)?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(wrong(std::io::ErrorKind::NotADirectory.into()))
    }
}

/// The tool with what `[policy.tools.NAME]` says of it.
fn configured(shared: &Shared, tool: Arc<dyn tidegate_tools::Tool>) -> Arc<dyn tidegate_tools::Tool> {
    let Some(settings) = shared
        .configuration
        .policy
        .tools
        .get(tool.definition().spec.name.as_str())
    else {
        return tool;
    };
    crate::configured_tool::configured(tool, settings)
}
