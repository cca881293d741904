//! What can go wrong outside a turn.

use std::io;
use std::path::PathBuf;
use tidegate_core::RunError;
use tidegate_message::{ModelId, ModelPolicy, ProviderId, TranscriptError};
use tidegate_policy::{ApprovalId, Classification, EventId, SessionId, UserId};
use tidegate_store::{ApprovalState, StoreError};

/// An error of the runtime. What a model or tool does wrong is no such error: it ends up in the turn's report.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The store failed. What was committed before stays; the session can be resumed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No session of this name or id.
    #[error("there is no session {given:?}; `tidegate sessions list` shows those there are")]
    UnknownSession {
        /// What was asked for.
        given: String,
    },
    /// No event of this id.
    #[error("there is no event {event}; `tidegate events --kind flow --json` lists decisions with their ids")]
    UnknownEvent {
        /// What was asked for.
        event: EventId,
    },
    /// The event is no decision of the gate.
    #[error(
        "event {event} is of the kind {kind}, which is no decision; `tidegate events --kind flow` lists those there are"
    )]
    NoDecision {
        /// The event.
        event: EventId,
        /// Its kind.
        kind: &'static str,
    },
    /// A decision whose call cannot be released.
    #[error("what event {event} refused cannot be released: {why}")]
    NotReleasable {
        /// The event.
        event: EventId,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Another process, or another task of this one, uses the session.
    #[error("session {session} is in use; wait until its turn is over, or start another session")]
    SessionBusy {
        /// The session.
        session: SessionId,
    },
    /// The session's content was erased.
    #[error("session {session} was deleted")]
    SessionErased {
        /// The session.
        session: SessionId,
    },
    /// The session belongs to another workspace.
    #[error(
        "session {session} works in {stored}, not in {given}\n  possible: leave --workspace out, or start another session with --session NAME"
    )]
    OtherWorkspace {
        /// The session.
        session: SessionId,
        /// Its workspace.
        stored: PathBuf,
        /// The one asked for.
        given: PathBuf,
    },
    /// A folder or file of the program's own, or the workspace, cannot be used.
    #[error("the {what} {path} cannot be used; {hint}")]
    Folder {
        /// What it is to the program.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// What to do.
        hint: &'static str,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// One of the program's own files, which hold keys and everything that was ever said.
    #[error("{path} is one of the program's own files, and is not handed to a session; choose another")]
    OwnFile {
        /// Which.
        path: PathBuf,
    },
    /// A scenario file that came with the work is new or has changed since the owner trusted it.
    #[error(
        "the scenario {file} came with the configuration of the working folder and is not trusted as it is now, so it is not played\n  look at it, then run: tidegate config trust {file}"
    )]
    UntrustedScenario {
        /// The file, canonical.
        file: PathBuf,
    },
    /// A secret of the configuration cannot be used.
    #[error(transparent)]
    Secrets(#[from] crate::SecretsError),
    /// Custom rules are wrong.
    #[error(transparent)]
    Rules(#[from] tidegate_policy::RuleErrors),
    /// The owner's rules do not let the session be reset.
    #[error("{explanation}")]
    ResetRefused {
        /// Why, for people.
        explanation: String,
    },
    /// A reply was judged by rules that are not in effect any more, so it is neither kept nor shown.
    #[error(transparent)]
    Redaction(tidegate_policy::UnknownRedaction),
    /// A reply that was redacted cannot be written.
    #[error("a redacted reply cannot be written")]
    Verbatim(#[source] serde_json::Error),
    /// The list of trusted files cannot be used.
    #[error(transparent)]
    Trust(#[from] crate::config::TrustError),
    /// The user is not configured.
    #[error("user {user} is not configured; add [users.{user}]")]
    UnknownUser {
        /// The user.
        user: UserId,
    },
    /// No model is configured for what is wanted.
    #[error(
        "no model is configured for {wanted}\n  possible: add a provider and a tier to tidegate.toml, for example\n    [providers.local]\n    kind = \"openai\"\n    base_url = \"http://127.0.0.1:8080/v1\"\n    [tiers]\n    lite = [\"local:small\"]\n  or see the program work without one: tidegate demo"
    )]
    NoModel {
        /// `tier LITE` or a policy.
        wanted: String,
    },
    /// A model policy names a provider that is not configured.
    #[error("model policy {policy}: there is no provider {provider}; there are: {known}")]
    UnknownProvider {
        /// The policy.
        policy: ModelPolicy,
        /// The provider it names.
        provider: ProviderId,
        /// Those there are.
        known: String,
    },
    /// A provider cannot be set up.
    #[error("provider {provider}: {message}")]
    Provider {
        /// The provider.
        provider: ProviderId,
        /// What is wrong and what to do.
        message: String,
        /// The cause, if there is a deeper one.
        #[source]
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The memories cannot be opened or used.
    #[error(transparent)]
    Memory(Box<tidegate_memory::MemoryError>),
    /// The key of a service that the memories use is not there.
    #[error("{section}: {message}")]
    MemoryKey {
        /// The section of the configuration.
        section: &'static str,
        /// What is wrong and what to do.
        message: String,
        /// The cause, if there is a deeper one.
        #[source]
        cause: Option<io::Error>,
    },
    /// A tool cannot be registered.
    #[error(transparent)]
    Registry(#[from] tidegate_tools::RegistryError),
    /// The path patterns cannot be used.
    #[error(transparent)]
    Paths(#[from] tidegate_policy::PathRulesError),
    /// The host patterns cannot be used.
    #[error(transparent)]
    Hosts(#[from] tidegate_policy::HostRulesError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] tidegate_builtins::FileError),
    /// The stored transcript is no valid sequence.
    #[error(
        "session {session}: the stored transcript is damaged; `tidegate sessions export` still reads its rows"
    )]
    Transcript {
        /// The session.
        session: SessionId,
        /// What is wrong with it.
        #[source]
        cause: TranscriptError,
    },
    /// The machine of the turn cannot go on.
    #[error("session {session}: the turn cannot go on")]
    Run {
        /// The session.
        session: SessionId,
        /// Why.
        #[source]
        cause: RunError,
    },
    /// A turn's machine ended without an outcome.
    #[error("session {session}: the turn ended without an outcome; resume the session to run it again")]
    Unfinished {
        /// The session.
        session: SessionId,
    },
    /// A prompt, the context of a turn or a compacted conversation cannot be made.
    #[error(transparent)]
    Prompt(Box<tidegate_prompt::PromptError>),
    /// The templates of `[prompt] templates_dir` cannot be used.
    #[error("the templates in {folder} cannot be used: {cause}")]
    Templates {
        /// The folder.
        folder: PathBuf,
        /// What is wrong, and where.
        cause: Box<tidegate_prompt::PromptError>,
    },
    /// A template came with the work and nobody has trusted it as it is.
    #[error(
        "the template {file} came with the configuration of the working folder and is not trusted as it is now, so it is not used\n  look at it, then run: tidegate config trust {file}"
    )]
    UntrustedTemplate {
        /// The file, canonical.
        file: PathBuf,
    },
    /// A turn is open, so that what was asked for has to wait.
    #[error(
        "session {session} has a turn that was not finished; resume it, or say something new, and then try again"
    )]
    TurnOpen {
        /// The session.
        session: SessionId,
    },
    /// The session has no turn of this number.
    #[error("session {session} has no turn {turn}; it has {turns}")]
    UnknownTurn {
        /// The session.
        session: SessionId,
        /// Which turn was asked for, from 1.
        turn: u32,
        /// How many turns it has.
        turns: u32,
    },
    /// Nothing was sent to a model there.
    #[error("session {session}: in turn {turn} no such request was sent to a model; {sent}")]
    NothingSent {
        /// The session.
        session: SessionId,
        /// The turn, from 1.
        turn: u32,
        /// What was sent.
        sent: String,
    },
    /// Who asks may not read what the session has read.
    #[error(
        "session {session} holds {level} data, and user {reader} may read at most {clearance}, so nothing of it is shown or deleted\n  possible: have somebody with that clearance look, or raise clearance in [users.{reader}]"
    )]
    AboveReader {
        /// The session.
        session: SessionId,
        /// Its level.
        level: Classification,
        /// Who asks.
        reader: UserId,
        /// What they may read.
        clearance: Classification,
    },
    /// A rule of the owner's does not let it be shown.
    #[error("session {session}: the rule {rule} does not let user {reader} see what its models were sent")]
    NotToBeShown {
        /// The session.
        session: SessionId,
        /// Who asks.
        reader: UserId,
        /// The rule.
        rule: String,
    },
    /// The caller's system message may not enter the session.
    #[error("{explanation}")]
    SystemMessageRefused {
        /// Why, for people.
        explanation: String,
    },
    /// A stored session has a system message of its own already.
    #[error(
        "session {session} has begun with another system message or none, and keeps it; begin a new session for this one"
    )]
    OtherSystemMessage {
        /// The session.
        session: SessionId,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(Box<crate::config::ConfigError>),
    /// The configuration file is not there any more.
    #[error(
        "{file} is gone or another configuration file comes before it; a restart takes up what there is now"
    )]
    ConfigurationGone {
        /// The file.
        file: PathBuf,
    },
    /// A changed configuration names a model of a provider that came with it.
    #[error(
        "{model} cannot be used before a restart: [providers.{provider}] is new, and providers are set up at the start"
    )]
    NeedsRestart {
        /// The model.
        model: ModelId,
        /// Its provider.
        provider: ProviderId,
    },
    /// The configuration file cannot be watched.
    #[error(
        "{folder} cannot be watched for changes of the configuration; changes take effect after a restart"
    )]
    Watch {
        /// The folder of the file.
        folder: PathBuf,
        /// Why.
        #[source]
        cause: notify::Error,
    },
    /// A file cannot be attached.
    #[error(transparent)]
    Attachment(#[from] crate::AttachmentError),
    /// A schema cannot be used.
    #[error(transparent)]
    Schema(#[from] crate::SchemaError),
    /// Something that waits is a question, which needs an answer and not a grant.
    #[error(
        "{question} is a question of the model, not a call that waits for approval\n  to answer it: tidegate run --session {session} --resume --question {question} --answer TEXT\n  to let the model go on without: tidegate approvals refuse {question}"
    )]
    IsQuestion {
        /// The question.
        question: ApprovalId,
        /// Its session.
        session: SessionId,
    },
    /// An answer was given, and nothing was asked.
    #[error(
        "session {session} waits for no answer{}; to go on: tidegate run --session {session} --resume",
        .which.map(|id| format!(" to {id}")).unwrap_or_default()
    )]
    NoQuestion {
        /// The session.
        session: SessionId,
        /// The question that was meant, if one was named.
        which: Option<ApprovalId>,
    },
    /// A question was answered that cannot be answered any more.
    #[error("question {question} {}; resume the session to go on", match .state {
        ApprovalState::Granted | ApprovalState::Used => "was answered before",
        ApprovalState::Refused => "was refused before",
        ApprovalState::Waiting | ApprovalState::Expired => "has expired: its time was up before it was answered",
    })]
    QuestionSettled {
        /// The question.
        question: ApprovalId,
        /// What became of it.
        state: ApprovalState,
    },
    /// A note cannot be written.
    #[error("a note cannot be written")]
    Note(#[source] serde_json::Error),
    /// The builder was not given something it needs.
    #[error("a runtime needs {what}")]
    Incomplete {
        /// What is missing.
        what: &'static str,
    },
}

impl From<crate::config::ConfigError> for RuntimeError {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::Configuration(Box::new(error))
    }
}

impl From<tidegate_prompt::PromptError> for RuntimeError {
    fn from(error: tidegate_prompt::PromptError) -> Self {
        Self::Prompt(Box::new(error))
    }
}

impl From<tidegate_memory::MemoryError> for RuntimeError {
    fn from(error: tidegate_memory::MemoryError) -> Self {
        Self::Memory(Box::new(error))
    }
}
