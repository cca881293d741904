//! One tool call: resolved, judged, approved if that has to be, journalled, judged again, run, and its result judged.

use crate::approvals::{self, Approver, Grant, Permission, Subject};
use crate::capped::{cap, declared_classification};
use crate::runtime::Shared;
use crate::{CancelToken, RuntimeError};
use futures::FutureExt as _;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tidegate_message::{Event, EventKind, ResultStatus, ToolCall, ToolResult, Transcript};
use tidegate_policy::{
    Admission, ApprovalId, ArgumentCheck, Bumper, CallId, Classification, Evaluation, Flow, Integrity, Label,
    Origin, Resource, ResponseFlow, ResponseStatus, Role, SessionFacts, SessionId, SourceId, Taint,
    ToolCallFlow, ToolName, ToolPolicy, TurnId,
};
use tidegate_store::{ApprovalRecord, NewEvent, SessionPatch, SourceText, Write};
use tidegate_tools::{
    ArgumentsError, CallContext, Cancel as _, PreparedCall, Registry, Tool, ToolDefinition, ToolError,
    ToolOutput,
};
use tokio::sync::Mutex;

/// How long a cancelled tool may take to end in order before it is dropped.
const GRACE: Duration = Duration::from_millis(800);

/// What the model is told of a result above the clearance. Fixed, so that it tells nothing of it.
const WITHHELD: &str = "The result was withheld: it is above what this session may read.";

/// The circumstances of the calls of one model message. All are judged with the taint of that message, so the
/// outcome does not depend on which runs first.
pub(crate) struct Calls<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) registry: &'a Registry,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) role: Role,
    pub(crate) clearance: Classification,
    /// The session's taint when the message was made, and until all its results are in.
    pub(crate) taint: &'a Taint,
    /// The label of the message: what produced the arguments.
    pub(crate) produced_by: Label,
    pub(crate) cancel: &'a CancelToken,
    /// Whom to ask, if somebody is there.
    pub(crate) approver: Option<&'a dyn Approver>,
    /// What the owner was asked about the open calls before this process took the turn up.
    pub(crate) asked: &'a BTreeMap<CallId, Vec<ApprovalRecord>>,
    /// Up to which level the owner let the session rise. Calls of one message share it: the owner is asked once.
    pub(crate) acknowledged: &'a std::sync::Mutex<Classification>,
    /// Held while the owner is asked: one question at a time.
    pub(crate) asking: &'a Mutex<()>,
}

/// How a call ended, as far as this run of its turn goes.
pub(crate) enum CallEnd {
    /// It is answered.
    Answered(Box<Answered>),
    /// It waits for the owner.
    Waits(ApprovalId),
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
}

/// The turn, as its calls need it.
pub(crate) trait Record {
    /// Commits `writes` together with everything that waited for the next commit.
    async fn record(&mut self, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), RuntimeError>;

    /// Tells of facts that are stored already.
    fn tell(&self, events: Vec<Event>);

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
        }
        Ok(end)
    }

    async fn judged_and_run<R: Record>(
        &self,
        call: &ToolCall,
        journal: &Mutex<&mut R>,
    ) -> Result<CallEnd, RuntimeError> {
        let mut events = Vec::new();
        let Some(tool) = self.offered(&call.name) else {
            let policy = unknown_tool(&call.name);
            let admission = Admission::NotOffered {
                available: self.registry.names(self.role),
            };
            let flow = self.flow_of(&policy, &admission, &ArgumentCheck::Valid, &[]);
            let evaluation = self.judge(call, &flow);
            return Ok(self.refused(call, ResultStatus::NotRun, evaluation, events));
        };
        let definition = tool.definition();
        let arguments = match self.registry.check(&call.name, &call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                // The model is told its own words; the event, which holds no content, what kind of mistake it is.
                let judged = |problem: String| {
                    let check = ArgumentCheck::Invalid { problem };
                    self.judge(
                        call,
                        &self.flow_of(&definition.policy, &Admission::Offered, &check, &[]),
                    )
                };
                let told = judged(error.to_string()).for_model();
                let evaluation = judged(without_content(&error).to_owned());
                events.push(self.judged(call, evaluation));
                let result = ToolResult::text(call, ResultStatus::NotRun, self.produced_by, told);
                return Ok(CallEnd::plain(result, events, false));
            }
        };
        let cancel = self.cancel.child();
        let context = CallContext {
            session: self.session,
            turn: self.turn,
            call: call.id.clone(),
            label: self.produced_by,
            clearance: self.clearance,
            cancel: Arc::new(cancel.clone()),
        };
        let limit = self.limit(definition);
        let preparing = tokio::select! {
            biased;
            ended = guarded(tool.prepare(arguments, &context)) => ended,
            // Nothing has happened yet, so it can be dropped where it is.
            () = self.cancel.cancelled() => return Ok(CallEnd::NotBegun),
            () = tokio::time::sleep(limit) => Err(ToolError::new(format!(
                "The call was not ready to run after {} s and was not run.",
                limit.as_secs()
            ))),
        };
        let mut prepared = match preparing {
            Ok(prepared) => prepared,
            Err(error) => {
                cancel.cancel();
                return Ok(self.respond(call, definition, &[], Err(error), events, false));
            }
        };
        let resources = prepared.resources().to_vec();
        let mut evaluation = self.judge_resolved(call, definition, &resources, false);
        let mut grant = None;
        if evaluation.needs_approval() {
            let subject = Subject {
                call,
                definition,
                // They were checked a moment ago, and are needed whole only here.
                arguments: self
                    .registry
                    .check(&call.name, &call.arguments)
                    .unwrap_or_default(),
                resources: &resources,
                resolved: prepared.resolved(),
            };
            match self.ask(&subject, journal).await? {
                Permission::Judged(again) => evaluation = again,
                Permission::Granted(granted) => {
                    evaluation = self.judge_subject(&subject, true);
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
        if !evaluation.is_allowed() {
            return Ok(self.refused(call, ResultStatus::Refused, evaluation, events));
        }
        events.push(self.judged(call, evaluation));
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
                return Ok(self.respond(call, definition, &resources, Err(error), events, journalled));
            }
            Ok(now) if now == resources => resources,
            Ok(now) => {
                // A grant was for what the call touched when it was asked about, and for nothing else.
                let evaluation = self.judge_resolved(call, definition, &now, false);
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
            Ended::With(ended) => Ok(self.respond(call, definition, &resources, ended, events, journalled)),
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

    /// Check 12: classifies what came back, withholds what is too high, cuts what is too long.
    fn respond(
        &self,
        call: &ToolCall,
        definition: &ToolDefinition,
        resources: &[Resource],
        ended: Result<ToolOutput, ToolError>,
        mut events: Vec<NewEvent>,
        journalled: bool,
    ) -> CallEnd {
        let (status, content, read) = match ended {
            Ok(output) => (ResultStatus::Ok, output.content, output.label),
            Err(error) => {
                let content = vec![tidegate_message::Content::text(error.message)];
                (ResultStatus::Error, content, error.label)
            }
        };
        let declared = declared_classification(&content);
        let response = ResponseFlow {
            tool: &definition.policy,
            status: if status == ResultStatus::Ok {
                ResponseStatus::Ok
            } else {
                ResponseStatus::Error
            },
            read: read.join(read_label(resources)),
            declared: declared.as_deref(),
        };
        let evaluation = self
            .shared
            .gate
            .judge(Flow::Response(&response), self.facts(&call.id));
        let allowed = evaluation.is_allowed();
        let label = evaluation.label;
        events.push(self.judged(call, evaluation));
        if !allowed {
            let result = ToolResult::text(call, ResultStatus::Refused, self.produced_by, WITHHELD);
            return CallEnd::plain(result, events, journalled);
        }
        let capped = cap(
            content,
            self.shared.configuration.agent.max_output_chars,
            &call.id,
            label,
        );
        let source = capped.sources.first().map(|source| source.id.clone());
        let origin = origin(call, resources, source.clone());
        let result = ToolResult {
            call: call.id.clone(),
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            status,
            content: capped.content,
            label,
            source,
        };
        CallEnd::Answered(Box::new(Answered {
            result,
            raise: Some((label, origin)),
            events,
            sources: capped.sources,
            journalled,
            denied_by_owner: false,
        }))
    }

    fn refused(
        &self,
        call: &ToolCall,
        status: ResultStatus,
        evaluation: Evaluation,
        mut events: Vec<NewEvent>,
    ) -> CallEnd {
        let result = ToolResult::text(call, status, self.produced_by, evaluation.for_model());
        events.push(self.judged(call, evaluation));
        CallEnd::plain(result, events, false)
    }

    /// Answers a call that was not approved.
    fn denied(
        &self,
        call: &ToolCall,
        told: String,
        denied_by_owner: bool,
        events: Vec<NewEvent>,
        journalled: bool,
    ) -> CallEnd {
        let result = ToolResult::text(call, ResultStatus::Refused, self.produced_by, told);
        let mut end = CallEnd::plain(result, events, journalled);
        if let CallEnd::Answered(answered) = &mut end {
            answered.denied_by_owner = denied_by_owner;
        }
        end
    }

    pub(crate) fn judge_subject(&self, subject: &Subject<'_>, granted: bool) -> Evaluation {
        self.judge_resolved(subject.call, subject.definition, subject.resources, granted)
    }

    fn judge_resolved(
        &self,
        call: &ToolCall,
        definition: &ToolDefinition,
        resources: &[Resource],
        granted: bool,
    ) -> Evaluation {
        let flow = ToolCallFlow {
            granted,
            ..self.flow_of(
                &definition.policy,
                &Admission::Offered,
                &ArgumentCheck::Valid,
                resources,
            )
        };
        self.judge(call, &flow)
    }

    /// What the gate is asked about a call, not granted.
    pub(crate) fn flow_of<'f>(
        &self,
        tool: &'f ToolPolicy,
        admission: &'f Admission,
        arguments: &'f ArgumentCheck,
        resources: &'f [Resource],
    ) -> ToolCallFlow<'f> {
        ToolCallFlow {
            tool,
            admission,
            role: self.role,
            arguments,
            produced_by: self.produced_by,
            resources,
            granted: false,
        }
    }

    fn judge(&self, call: &ToolCall, flow: &ToolCallFlow<'_>) -> Evaluation {
        self.shared.gate.judge(Flow::ToolCall(flow), self.facts(&call.id))
    }

    fn facts(&self, call: &CallId) -> SessionFacts<'_> {
        let policy = &self.shared.configuration.policy;
        // A call that somebody was asked about is judged as then, though nobody is there now: the answer counts.
        let attended = self.approver.is_some() || self.asked.contains_key(call);
        let acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        SessionFacts {
            taint: self.taint,
            clearance: self.clearance,
            bumper: (policy.bumpers && attended).then_some(Bumper {
                above: policy.workspace,
                acknowledged: *acknowledged,
            }),
        }
    }

    /// The tool, if the user's role may see it.
    fn offered(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.registry
            .get(name)
            .filter(|tool| tool.definition().policy.role <= self.role)
    }

    pub(crate) fn judged(&self, call: &ToolCall, evaluation: Evaluation) -> NewEvent {
        let label = evaluation.taint_after;
        let kind = EventKind::FlowJudged {
            call: Some(call.id.clone()),
            tool: Some(call.name.clone()),
            evaluation,
        };
        self.event(label, kind)
    }

    pub(crate) fn event(&self, label: Label, kind: EventKind) -> NewEvent {
        NewEvent {
            turn: Some(self.turn),
            label,
            kind,
        }
    }
}

impl CallEnd {
    /// An answer that brings nothing into the session.
    fn plain(result: ToolResult, events: Vec<NewEvent>, journalled: bool) -> Self {
        Self::Answered(Box::new(Answered {
            result,
            raise: None,
            events,
            sources: Vec::new(),
            journalled,
            denied_by_owner: false,
        }))
    }
}

/// The kind of mistake, without a word of the arguments.
fn without_content(error: &ArgumentsError) -> &'static str {
    match error {
        ArgumentsError::UnknownTool { .. } => "there is no such tool",
        ArgumentsError::Unparsable { .. } => "they are not one JSON object",
        ArgumentsError::Unfit { .. } => "an argument is missing, not known, or not of the form asked for",
    }
}

/// What raises a taint when the call has read these things.
fn origin(call: &ToolCall, resources: &[Resource], source: Option<SourceId>) -> Origin {
    Origin::Tool {
        tool: call.name.clone(),
        resources: resources.iter().filter_map(source_name).collect(),
        source,
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

/// The join of the labels of what a call reads.
fn read_label(resources: &[Resource]) -> Label {
    Label::join_all(resources.iter().filter_map(|resource| match resource {
        Resource::Source { label, .. } | Resource::Payload { label, .. } => Some(*label),
        Resource::Sink { .. } => None,
    }))
}

fn source_name(resource: &Resource) -> Option<String> {
    match resource {
        Resource::Source { what, .. } | Resource::Payload { what, .. } => Some(what.name.clone()),
        Resource::Sink { .. } => None,
    }
}

/// What the gate is told of a tool nobody knows.
fn unknown_tool(name: &ToolName) -> ToolPolicy {
    ToolPolicy {
        name: name.clone(),
        role: Role::Guest,
        consequential: true,
        source: Label::new(Classification::Public, Integrity::Untrusted),
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
    }
}
