//! One tool call: resolved, judged, approved if that has to be, journalled, judged again, run, and its result judged.

mod ending;
mod judge;
mod question;
mod release;
mod resolve;
mod secret;

use self::ending::{Came, origin, read_label};
pub(crate) use self::judge::Consent;
pub(crate) use self::question::{OwnersAnswer, QUESTION_FORM};
pub(crate) use self::release::is_write_down;
use self::resolve::{Resolved, Unresolved};
use self::secret::{SecretCall, WithoutSecrets};
use crate::approvals::{self, Approver, Grant, Permission, Subject, question_settled};
use crate::provenance::Known;
use crate::runtime::Shared;
use crate::{CancelToken, PendingQuestion, RuntimeError};
use futures::FutureExt as _;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_message::{Event, EventKind, QuestionEnd, ResultStatus, ToolCall, ToolResult, Transcript};
use tidegate_policy::{
    ApprovalId, CallId, Caller, Classification, Label, Origin, Role, SessionId, Taint, TurnId,
};
use tidegate_store::{ApprovalRecord, NewEvent, SessionPatch, SourceText, Write};
use tidegate_tools::{
    CallContext, Cancel as _, PreparedCall, Registry, ToolDefinition, ToolError, ToolOutput,
};
use tokio::sync::Mutex;

/// How long a cancelled tool may take to end in order before it is dropped.
const GRACE: Duration = Duration::from_millis(800);

/// What the model is told of a result above the clearance. Fixed, so that it tells nothing of it.
const WITHHELD: &str = "The call ran. Its result was withheld: it is above what this session may read.";

/// The same of a call that failed before it ran.
const WITHHELD_BEFORE: &str =
    "The call was not run. Why was withheld: it is above what this session may read.";

/// The circumstances of the calls of one model message. All are judged with the taint of that message, so the
/// outcome does not depend on which runs first.
pub(crate) struct Calls<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) registry: &'a Registry,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) role: Role,
    /// Who is behind the session, as rules see them.
    pub(crate) caller: Caller<'a>,
    /// How many calls the message holds.
    pub(crate) parallel: u64,
    pub(crate) clearance: Classification,
    /// The session's taint when the message was made, and until all its results are in.
    pub(crate) taint: &'a Taint,
    /// The label of the message: what produced the arguments.
    pub(crate) produced_by: Label,
    /// What is known of the values of consequential calls, each as before it; none where check 7 does not apply.
    pub(crate) known: &'a BTreeMap<CallId, Known>,
    pub(crate) cancel: &'a CancelToken,
    /// Whom to ask, if somebody is there.
    pub(crate) approver: Option<&'a dyn Approver>,
    /// What the owner was asked about the open calls before this process took the turn up.
    pub(crate) asked: &'a BTreeMap<CallId, Vec<ApprovalRecord>>,
    /// The questions that the open calls asked before this process took the turn up.
    pub(crate) questions: &'a BTreeMap<CallId, ApprovalRecord>,
    /// The owner's answer to one of them.
    pub(crate) answer: Option<&'a OwnersAnswer>,
    /// Up to which level the owner let the session rise before this message. Its calls are judged by that, in whatever
    /// order they run: whether the owner is asked about one of them must not tell what another has come upon.
    pub(crate) acknowledged: Classification,
    /// Up to which level with what is granted to calls of this message: it counts from the next one on.
    pub(crate) granted: &'a std::sync::Mutex<Classification>,
    /// Held while the owner is asked: one question at a time.
    pub(crate) asking: &'a Mutex<()>,
}

/// How a call ended, as far as this run of its turn goes.
pub(crate) enum CallEnd {
    /// It is answered.
    Answered(Box<Answered>),
    /// It waits for the owner.
    Waits(ApprovalId),
    /// It waits for the owner's answer to this.
    Asks(Box<PendingQuestion>),
    /// The turn was cancelled before it began.
    NotBegun,
}

/// What came of a call.
pub(crate) struct Answered {
    pub(crate) result: ToolResult,
    /// What the session's taint is joined with, and why.
    pub(crate) raise: Option<(Label, Origin)>,
    /// Facts to be recorded with the result.
    pub(crate) events: Vec<NewEvent>,
    /// Full texts of what was cut.
    pub(crate) sources: Vec<SourceText>,
    /// Whether it was journalled as started.
    pub(crate) journalled: bool,
    /// Whether the owner refused it, or did not answer in time.
    pub(crate) denied_by_owner: bool,
    /// The question that it settles.
    pub(crate) settles: Option<Settles>,
}

/// What becomes of a question with the result of the call that asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settles {
    /// The result is the owner's answer, which is used up by it.
    Answered(ApprovalId),
    /// Its time is up, or it was answered or refused some other way.
    Unanswered(ApprovalId),
}

/// The turn, as its calls need it.
pub(crate) trait Record {
    /// Commits `writes` together with everything that waited for the next commit.
    async fn record(&mut self, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), RuntimeError>;

    /// Tells of facts that are stored already.
    fn tell(&self, events: Vec<Arc<Event>>);

    /// Notes that a request for approval is about to be stored.
    fn asked(&mut self);

    /// What was said so far.
    fn transcript(&self) -> &Transcript;
}

impl Calls<'_> {
    /// Answers one call. A consequential one, and one that was approved, is recorded as started in `journal` before
    /// it runs; others need no journal, since running them again changes nothing.
    pub(crate) async fn answer<R: Record>(
        &self,
        call: &ToolCall,
        journal: &Mutex<&mut R>,
    ) -> Result<CallEnd, RuntimeError> {
        let started = Instant::now();
        let mut end = self.judged_and_run(call, journal).await?;
        if let CallEnd::Answered(answered) = &mut end {
            let kind = EventKind::ToolFinished {
                call: call.id.clone(),
                tool: call.name.clone(),
                status: answered.result.status,
                duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                source: answered.result.source.clone(),
            };
            let event = self.event(answered.result.label, kind);
            answered.events.push(event);
            self.store_settled(answered, journal).await?;
        }
        Ok(end)
    }

    async fn judged_and_run<R: Record>(
        &self,
        call: &ToolCall,
        journal: &Mutex<&mut R>,
    ) -> Result<CallEnd, RuntimeError> {
        let mut events = Vec::new();
        let cancel = self.cancel.child();
        let context = CallContext {
            session: self.session,
            turn: self.turn,
            call: call.id.clone(),
            label: self.produced_by,
            clearance: self.clearance,
            cancel: Arc::new(cancel.clone()),
        };
        let Resolved {
            definition,
            arguments,
            mut prepared,
        } = match self.resolve(call, &context).await {
            Ok(resolved) => resolved,
            Err(Unresolved::Refused { evaluation, told }) => {
                events.push(self.judged(call, *evaluation));
                let result = ToolResult::text(call, ResultStatus::NotRun, self.produced_by, told);
                return Ok(CallEnd::plain(result, events, false));
            }
            Err(Unresolved::Failed { definition, error }) => {
                cancel.cancel();
                return Ok(self.respond(call, definition, &[], Came::Before(error), events, false));
            }
            Err(Unresolved::Cancelled) => return Ok(CallEnd::NotBegun),
        };
        let limit = self.limit(definition);
        let resources = prepared.resources().to_vec();
        let mut evaluation = self.judge_resolved(call, definition, &arguments, &resources, Consent::None);
        let mut grant = None;
        // What it was resolved to is not asked of a call that just runs.
        let subject = |prepared: &dyn PreparedCall| Subject {
            call,
            definition,
            arguments: &arguments,
            resources: &resources,
            resolved: prepared.resolved(),
        };
        if evaluation.needs_approval() {
            let subject = subject(&*prepared);
            match self.ask(&subject, evaluation, journal).await? {
                Permission::Granted(granted) => {
                    evaluation = self.judge_subject(&subject, Consent::Granted);
                    grant = Some(granted);
                }
                Permission::Waits(approval) => return Ok(CallEnd::Waits(approval)),
                Permission::Cancelled => return Ok(CallEnd::NotBegun),
                Permission::Denied {
                    told,
                    by_owner,
                    events,
                } => return Ok(self.denied(call, told, by_owner, events, false)),
            }
        }
        if is_write_down(&evaluation)
            && let Some((released, again)) = self.released(&subject(&*prepared)).await?
        {
            evaluation = again;
            grant = Some(released);
        }
        if !evaluation.is_allowed() {
            return Ok(self.refused(call, ResultStatus::Refused, evaluation, events));
        }
        events.push(self.judged(call, evaluation));
        if self.asked_before(&call.id).is_some()
            && let Some(settled) = self.settled_question(&call.id).await?
        {
            events.push(settled.event);
            let mut end = self.respond(call, definition, &resources, settled.came, events, false);
            if let CallEnd::Answered(answered) = &mut end {
                answered.settles = Some(settled.settles);
            }
            return Ok(end);
        }
        let secrets = SecretCall {
            call,
            definition,
            arguments: &arguments,
            resources: &resources,
            granted: grant.is_some(),
        };
        match self.with_secrets(&secrets, &context, &mut events).await {
            Ok(None) => {}
            Ok(Some(with_values)) => prepared = with_values,
            Err(WithoutSecrets::Denied(told)) => return Ok(self.denied(call, told, false, events, false)),
            Err(WithoutSecrets::Failed(error)) => {
                cancel.cancel();
                return Ok(self.respond(call, definition, &resources, Came::Before(error), events, false));
            }
            Err(WithoutSecrets::Cancelled) => return Ok(CallEnd::NotBegun),
        }
        let mut writes = Vec::new();
        if let Some(Grant {
            approval,
            rule,
            acknowledged,
        }) = &grant
        {
            // In the commit that says the call began: whatever happens, the grant is good for one run.
            writes.push(Write::UseApproval { approval: *approval });
            if acknowledged.is_some() {
                let patch = SessionPatch {
                    acknowledged: *acknowledged,
                    ..SessionPatch::default()
                };
                writes.push(Write::PatchSession(self.session, patch));
            }
            let used = EventKind::ApprovalUsed {
                approval: *approval,
                call: call.id.clone(),
                tool: call.name.clone(),
                rule: rule.clone(),
            };
            events.push(self.event(self.produced_by, used));
        }
        let start = EventKind::ToolStarted {
            call: call.id.clone(),
            tool: call.name.clone(),
        };
        events.push(self.event(self.produced_by, start));
        let journalled = definition.policy.consequential || grant.is_some();
        if journalled {
            writes.push(Write::CallStarted {
                session: self.session,
                turn: self.turn,
                call: call.id.clone(),
                tool: call.name.clone(),
            });
            let events = std::mem::take(&mut events);
            journal.lock().await.record(writes, events).await?;
        }
        // Check 11: what was judged may have changed while it was judged and recorded.
        let again = tokio::select! {
            biased;
            ended = guarded(prepared.reread()) => ended,
            () = self.cancel.cancelled() => {
                Err(ToolError::new("The call was cancelled before it ran."))
            }
            () = tokio::time::sleep(limit) => Err(ToolError::new(format!(
                "The call was not ready to run after {} s and was not run.",
                limit.as_secs()
            ))),
        };
        let resources = match again {
            Err(error) => {
                return Ok(self.respond(
                    call,
                    definition,
                    &resources,
                    Came::Before(error),
                    events,
                    journalled,
                ));
            }
            Ok(now) if now == resources => resources,
            Ok(now) => {
                // A grant was for what the call touched when it was asked about, and for nothing else.
                let evaluation = self.judge_resolved(call, definition, &arguments, &now, Consent::None);
                if evaluation.needs_approval() {
                    let told = if grant.is_some() {
                        approvals::CHANGED.to_owned()
                    } else {
                        approvals::denied_by_change(&evaluation.for_model())
                    };
                    events.push(self.judged(call, evaluation));
                    return Ok(self.denied(call, told, false, events, journalled));
                }
                if !evaluation.is_allowed() {
                    let mut end = self.refused(call, ResultStatus::Refused, evaluation, events);
                    if let CallEnd::Answered(answered) = &mut end {
                        answered.journalled = journalled;
                    }
                    return Ok(end);
                }
                events.push(self.judged(call, evaluation));
                now
            }
        };
        match self.run(definition, prepared, context, &cancel).await {
            // A call in the journal has begun, and does not begin a second time: it does not wait.
            Ended::With(Err(ToolError {
                question: Some(question),
                ..
            })) if !journalled => {
                self.keep_question(call, &arguments, &question, events, journal)
                    .await
            }
            Ended::With(ended) => {
                if let Some(record) = self.asked_before(&call.id) {
                    events.push(question_settled(record, QuestionEnd::Answered));
                }
                let came = Came::OfRunning(ended);
                let mut end = self.respond(call, definition, &resources, came, events, journalled);
                if let CallEnd::Answered(answered) = &mut end {
                    let record = self.asked_before(&call.id);
                    answered.settles = record.map(|record| Settles::Unanswered(record.id));
                }
                Ok(end)
            }
            Ended::Unknown(text) => {
                let label = self.produced_by.join(read_label(&resources));
                let result = ToolResult::text(call, ResultStatus::Unknown, label, text);
                let mut end = CallEnd::plain(result, events, journalled);
                if let CallEnd::Answered(answered) = &mut end {
                    // That it did not end in time may tell of what it read.
                    answered.raise = Some((label, origin(call, &resources, None)));
                }
                Ok(end)
            }
        }
    }

    /// Runs a prepared call within its time.
    async fn run(
        &self,
        definition: &ToolDefinition,
        prepared: Box<dyn PreparedCall>,
        context: CallContext,
        cancel: &CancelToken,
    ) -> Ended {
        let limit = self.limit(definition);
        let mut running = std::pin::pin!(guarded(prepared.run(context)));
        let expired = tokio::select! {
            ended = &mut running => return Ended::With(ended),
            () = self.cancel.cancelled() => false,
            () = tokio::time::sleep(limit) => true,
        };
        cancel.cancel();
        if let Ok(ended) = tokio::time::timeout(GRACE, &mut running).await
            && (ended.is_ok() || !expired)
        {
            return Ended::With(ended);
        }
        let what = if expired {
            format!("The call ran longer than {} s and was stopped", limit.as_secs())
        } else {
            "The call was cancelled while it ran".to_owned()
        };
        if definition.policy.consequential {
            Ended::Unknown(format!(
                "{what}; it may have happened. Look before you try again."
            ))
        } else {
            Ended::With(Err(ToolError::new(format!("{what}."))))
        }
    }

    fn limit(&self, definition: &ToolDefinition) -> Duration {
        let configured = self.shared.configuration.agent.tool_timeout_s;
        definition
            .timeout
            .unwrap_or_else(|| Duration::from_secs(configured))
    }
}

/// How a run ended.
enum Ended {
    With(Result<ToolOutput, ToolError>),
    /// Nobody can say whether it happened.
    Unknown(String),
}

/// A tool that panics has failed; it must not take the session with it.
async fn guarded<T>(work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(ended) => ended,
        Err(_) => Err(ToolError::new(
            "The tool failed inside (a fault of the tool, not of the arguments).",
        )),
    }
}
