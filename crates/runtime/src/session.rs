//! An open session.

use crate::caller::caller;
use crate::lock::SessionLock;
use crate::project_file::FoundProjectFile;
use crate::provenance::Provenance;
use crate::runtime::Shared;
use crate::tool_call::OwnersAnswer;
use crate::turn::{LastRequest, Turn};
use crate::{
    Approver, CancelToken, Compacted, Observer, PendingQuestion, RuntimeError, TurnReport, ids, notes,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_core::{Profile, Routing, Run};
use tidegate_message::{
    Entry, ModelId, ModelPolicy, Tier, ToolSpec, Transcript, TurnStatus, Usage, UserMessage,
};
use tidegate_policy::{
    ApprovalId, Caller, Classification, Label, Role, SessionId, SessionName, Taint, TurnId,
};
use tidegate_prompt::{Cooldown, Note, PrefixBreakCause, Window, estimate_text};
use tidegate_providers::ToolSet;
use tidegate_store::{ApprovalFilter, ApprovalRecord, ApprovalState, SessionRecord, SessionState};
use tidegate_tools::Registry;
use tokio::sync::mpsc;

/// A session in use. It holds the session's lock: nobody else can use it until this is dropped.
///
/// A store error in the middle of a turn leaves this value behind what is stored: drop it and open the session
/// again; nothing that was committed is lost.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) record: SessionRecord,
    pub(crate) transcript: Transcript,
    pub(crate) registry: Arc<Registry>,
    pub(crate) role: Role,
    pub(crate) provenance: Provenance,
    /// The tier its last turn had come to; none if it has had no turn, or its model is fixed.
    pub(crate) tier: Option<Tier>,
    /// A project file that nobody has approved: for the first turn.
    pub(crate) project_file: Option<FoundProjectFile>,
    /// How often compaction has failed.
    pub(crate) rest: Cooldown,
    /// What the last request of this process was made of.
    pub(crate) last_request: Option<LastRequest>,
    /// What has happened since that breaks the prefix.
    pub(crate) announced: Vec<PrefixBreakCause>,
    /// How many tools it had when it was opened.
    pub(crate) tools_before: usize,
    tool_sets: BTreeMap<Option<Tier>, Arc<ToolSet>>,
    /// About how many tokens its tools have.
    pub(crate) tools_tokens: u64,
    _lock: SessionLock,
}

pub(crate) struct SessionParts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lock: SessionLock,
    pub(crate) record: SessionRecord,
    pub(crate) transcript: Transcript,
    pub(crate) registry: Arc<Registry>,
    pub(crate) role: Role,
    pub(crate) tier: Option<Tier>,
    pub(crate) project_file: Option<FoundProjectFile>,
    pub(crate) rest: Cooldown,
    /// What was said before the transcript begins or that it holds in a shorter form, and its own entries.
    pub(crate) log: Vec<Arc<Entry>>,
    /// How many of its tools it had before, if it was opened again.
    pub(crate) tools_before: usize,
}

/// How to run a turn.
#[derive(Default)]
pub struct TurnOptions<'a> {
    /// The classification of the task's text. Default PUBLIC. Its integrity is TRUSTED: it is owner text.
    pub level: Classification,
    /// Cancels the turn.
    pub cancel: CancelToken,
    /// Watches it.
    pub observer: Option<&'a dyn Observer>,
    /// Who can be asked to approve calls. Without one the turn is unattended: `[policy] unattended` decides, and the
    /// owner is not asked before the session rises (`[policy] bumpers`).
    pub approver: Option<&'a dyn Approver>,
    /// Files that are attached to the message, by path, 20 at most: images (PNG, JPEG, GIF, WebP) of up to 1 MiB; text and
    /// documents ([`READABLE`](tidegate_memory::READABLE)) of up to 64 MiB, whose text rides on the message below 32 KiB
    /// and else is kept as a source of the session. They are UNTRUSTED, of the level that their place and the record say.
    pub attachments: Vec<PathBuf>,
    /// Notes that ride on the message beside those that were left for it.
    pub notes: Vec<Note>,
    /// Messages for the running turn: each enters as soon as no call is open.
    pub steering: Option<mpsc::UnboundedReceiver<UserMessage>>,
}

impl Session {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let SessionParts {
            shared,
            lock,
            record,
            transcript,
            registry,
            role,
            tier,
            project_file,
            rest,
            log,
            tools_before,
        } = parts;
        let has_new_tools = tools_before < record.session.tools.len() && !transcript.entries().is_empty();
        let mut provenance = Provenance::default();
        if !log.is_empty() {
            provenance.read_entries(&shared.integrity, &log, &registry);
        }
        let tools_tokens = record
            .session
            .tools
            .iter()
            .map(tokens_of)
            .fold(0, u64::saturating_add);
        Self {
            tools_tokens,
            provenance,
            shared,
            record,
            transcript,
            registry,
            role,
            tier,
            project_file,
            rest,
            last_request: None,
            announced: if has_new_tools {
                vec![PrefixBreakCause::AppendedTool]
            } else {
                Vec::new()
            },
            tools_before,
            tool_sets: BTreeMap::new(),
            _lock: lock,
        }
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.record.session.id
    }

    /// Its name, if a person gave it one.
    pub fn name(&self) -> Option<&SessionName> {
        self.record.session.name.as_ref()
    }

    /// What it has been in touch with.
    pub fn taint(&self) -> &Taint {
        &self.record.session.taint
    }

    /// The highest level it may read.
    pub fn clearance(&self) -> Classification {
        self.record.session.clearance
    }

    /// What was said so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The turn that was interrupted, if one was.
    pub fn interrupted(&self) -> Option<TurnId> {
        match self.record.state {
            SessionState::InTurn(turn) => Some(turn),
            SessionState::Idle | SessionState::Erased => None,
        }
    }

    /// Runs a task. A turn that was interrupted before is closed first: its open calls get honest synthetic
    /// results, and the new task comes after them. So is one whose calls wait for approval: they are not run.
    ///
    /// # Errors
    /// Of the store, mostly. What a model or tool does wrong is in the report.
    pub async fn run(
        &mut self,
        task: impl Into<String>,
        options: TurnOptions<'_>,
    ) -> Result<TurnReport, RuntimeError> {
        let message = UserMessage::person(task);
        self.run_message(message, options).await
    }

    /// Runs a task of any content.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_message(
        &mut self,
        message: UserMessage,
        options: TurnOptions<'_>,
    ) -> Result<TurnReport, RuntimeError> {
        let label = Label::trusted(options.level);
        self.run_labelled(message, label, options).await
    }

    /// Runs a message of any label.
    pub(crate) async fn run_labelled(
        &mut self,
        message: UserMessage,
        label: Label,
        options: TurnOptions<'_>,
    ) -> Result<TurnReport, RuntimeError> {
        if let Some(turn) = self.interrupted() {
            Turn::interrupted(self, turn).await?;
        }
        Turn::begin(self, ids::new_turn_id(), message, label, options).await
    }

    /// Finishes an interrupted turn, and goes on with one whose calls waited for approval: those granted meanwhile run,
    /// those refused are answered, and if others wait still the report says so again. Tries a turn again that ended with an error before its answer. With
    /// nothing to finish, gives the last answer again.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn resume(&mut self, options: TurnOptions<'_>) -> Result<TurnReport, RuntimeError> {
        match self.interrupted() {
            Some(turn) => Turn::resume(self, turn, None, options).await,
            None => match self.unanswered_turn() {
                Some(turn) => Turn::again(self, turn, options).await,
                None => {
                    let report = self.last_report();
                    Turn::repeat(self, report).await
                }
            },
        }
    }

    /// The questions that the open turn waits for, oldest first; none if it waits for none.
    ///
    /// # Errors
    /// Of the store.
    pub async fn questions(&self) -> Result<Vec<PendingQuestion>, RuntimeError> {
        let questions = self.all_questions().await?;
        let waiting = questions
            .iter()
            .filter(|record| record.state == ApprovalState::Waiting);
        Ok(waiting.filter_map(PendingQuestion::read).collect())
    }

    /// Answers a question that the open turn waits for, and goes on with the turn as [`resume`](Self::resume) does:
    /// `which`, or the oldest. The answer is the owner's own words: TRUSTED, of the level that `options` say. The number of
    /// one of the choices, from 1, or its words choose it.
    ///
    /// Over crashes and processes, an answer is used once: if the process ends before that is stored, the question
    /// waits still.
    ///
    /// # Errors
    /// [`RuntimeError::NoQuestion`], [`RuntimeError::QuestionSettled`] for one that was answered, refused, given up, or
    /// whose time is up: [`resume`](Self::resume) goes on without an answer then. Those of [`run`](Self::run).
    pub async fn answer(
        &mut self,
        which: Option<ApprovalId>,
        text: impl Into<String>,
        options: TurnOptions<'_>,
    ) -> Result<TurnReport, RuntimeError> {
        let session = self.id();
        let questions = self.all_questions().await?;
        let chosen = match which {
            Some(id) => questions.iter().find(|record| record.id == id),
            None => {
                let waits = |record: &&ApprovalRecord| record.state == ApprovalState::Waiting;
                // The last one tells why none waits.
                questions.iter().find(waits).or(questions.last())
            }
        };
        let (Some(turn), Some(chosen)) = (self.interrupted(), chosen) else {
            return Err(RuntimeError::NoQuestion { session, which });
        };
        if chosen.state != ApprovalState::Waiting {
            return Err(RuntimeError::QuestionSettled {
                question: chosen.id,
                state: chosen.state,
            });
        }
        let answer = OwnersAnswer {
            question: chosen.id,
            text: text.into(),
            label: Label::trusted(options.level),
        };
        Turn::resume(self, turn, Some(answer), options).await
    }

    /// All questions of the open turn, whatever became of them.
    async fn all_questions(&self) -> Result<Vec<ApprovalRecord>, RuntimeError> {
        let Some(turn) = self.interrupted() else {
            return Ok(Vec::new());
        };
        let filter = ApprovalFilter {
            session: Some(self.id()),
            state: None,
        };
        let mut records = self.shared.store.approvals(filter).await?;
        records.retain(|record| record.turn == turn && PendingQuestion::read(record).is_some());
        Ok(records)
    }

    /// Makes the conversation shorter now: old results become stubs, its middle a summary. All of it stays stored. Of
    /// `options`, the level and steering do not matter.
    ///
    /// # Errors
    /// [`RuntimeError::TurnOpen`] while a turn is open; those of the store. That it did not become shorter is in the
    /// result.
    pub async fn compact(&mut self, options: TurnOptions<'_>) -> Result<Compacted, RuntimeError> {
        if self.interrupted().is_some() {
            return Err(RuntimeError::TurnOpen { session: self.id() });
        }
        Turn::compact(self, options).await
    }

    /// Leaves a note for the next turn: it rides on the user's message, once. Others can leave one, too, while the
    /// session is in use: [`Runtime::leave_note`](crate::Runtime::leave_note).
    ///
    /// # Errors
    /// Of the store.
    pub async fn leave_note(&self, note: Note) -> Result<(), RuntimeError> {
        notes::leave(&*self.shared.store, self.id(), &note).await
    }

    /// The last turn, if it ended without an answer.
    fn unanswered_turn(&self) -> Option<TurnId> {
        let last = self.transcript.entries().last()?;
        match last.body {
            tidegate_message::Body::Assistant(_) => None,
            tidegate_message::Body::User(_) | tidegate_message::Body::Results(_) => Some(last.turn),
        }
    }

    fn last_report(&self) -> TurnReport {
        let last = self.transcript.last_assistant();
        let mut usage = Usage::default();
        let turn = last.map(|(entry, _)| entry.turn);
        for entry in self
            .transcript
            .entries()
            .iter()
            .filter(|entry| Some(entry.turn) == turn)
        {
            if let tidegate_message::Body::Assistant(message) = &entry.body {
                usage += message.usage;
            }
        }
        TurnReport {
            session: self.id(),
            name: self.name().cloned(),
            turn,
            status: TurnStatus::Success,
            answer: last.map(|(_, message)| message.text()).unwrap_or_default(),
            model: last.map(|(_, message)| message.model.clone()),
            rounds: 0,
            calls_used: 0,
            label: self.taint().label(),
            usage,
            warning: None,
            question: None,
            approvals: Vec::new(),
            questions: Vec::new(),
            error: None,
        }
    }

    pub(crate) fn new_run(&self, turn: TurnId) -> Run {
        let start = Routing::new(&self.record.session.model_policy);
        // At the tier of the turn before, so that the model goes on with what it knows, and its provider's cache.
        let routing = match self.tier {
            Some(tier) => start.resumed_at(tier),
            None => start,
        };
        Run::start(
            Profile::main(self.shared.configuration.agent.max_rounds),
            routing,
            turn,
        )
    }

    /// The tools as they are sent at `tier`: the session's own, and the one that changes the tier where it can
    /// be changed. The same for the same tier, so that going back finds the provider's cache.
    pub(crate) fn tool_set(&mut self, tier: Option<Tier>, targets: &[Tier]) -> Arc<ToolSet> {
        let tools = &self.record.session.tools;
        let set = self
            .tool_sets
            .entry(tier)
            .or_insert_with(|| Arc::new(ToolSet::new(with_switch(tools, targets))));
        Arc::clone(set)
    }

    /// The window of the model that is called at `tier`.
    pub(crate) fn window(&self, tier: Option<Tier>) -> Window {
        self.shared.window(self.policy(), tier)
    }

    /// The model that would be called first, if it takes no images.
    pub(crate) fn without_images(&self) -> Option<ModelId> {
        let run = self.new_run(ids::new_turn_id());
        let tier = run.routing().current();
        let first = self.shared.candidates(self.policy(), tier).into_iter().next();
        first.filter(|model| !self.shared.takes_images(model))
    }

    /// Who is behind it, as rules see them.
    pub(crate) fn caller(&self, attended: bool) -> Caller<'_> {
        caller(&self.record.session.user, self.role, self.name(), attended)
    }

    pub(crate) fn policy(&self) -> &ModelPolicy {
        &self.record.session.model_policy
    }
}

/// The tools with the one that switches to another of the tiers in `targets`, if there are any.
pub(crate) fn with_switch(tools: &[ToolSpec], targets: &[Tier]) -> Vec<ToolSpec> {
    let mut specs = tools.to_vec();
    if !targets.is_empty() {
        let switch = tidegate_tools::new_cognitive_level(targets);
        let place = specs.partition_point(|spec| spec.name < switch.name);
        specs.insert(place, switch);
    }
    specs
}

/// About how many tokens a tool has as it is sent.
fn tokens_of(tool: &ToolSpec) -> u64 {
    // A schema is JSON.
    let schema = serde_json::to_string(tool).unwrap_or_default();
    estimate_text(&schema)
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
