//! One tool call: resolved, judged, journalled, judged again, run, and its result judged.

use crate::capped::{cap, declared_classification};
use crate::runtime::Shared;
use crate::{CancelToken, RuntimeError};
use futures::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_message::{EventKind, ResultStatus, ToolCall, ToolResult};
use tidegate_policy::{
    Admission, ArgumentCheck, Classification, Evaluation, Flow, Integrity, Label, Origin, Resource,
    ResponseFlow, ResponseStatus, Role, SessionFacts, SessionId, Taint, ToolCallFlow, ToolName, ToolPolicy,
    TurnId,
};
use tidegate_store::{NewEvent, SourceText, Write};
use tidegate_tools::{
    CallContext, Cancel as _, PreparedCall, Registry, Tool, ToolDefinition, ToolError, ToolOutput,
};

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
}

/// Records what must be durable before a call runs. Gives the events back with their place and time.
pub(crate) trait Record {
    /// Commits `writes` together with everything that waited for the next commit.
    async fn record(&mut self, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), RuntimeError>;
}

impl Calls<'_> {
    /// Answers one call. A consequential one is recorded as started with `record` before it runs; read-only
    /// ones need no journal, since running them again changes nothing.
    pub(crate) async fn answer<R: Record>(
        &self,
        call: &ToolCall,
        record: Option<&mut R>,
    ) -> Result<Answered, RuntimeError> {
        let started = Instant::now();
        let mut answered = self.judged_and_run(call, record).await?;
        let kind = EventKind::ToolFinished {
            call: call.id.clone(),
            tool: call.name.clone(),
            status: answered.result.status,
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            source: answered.result.source.clone(),
        };
        answered.events.push(self.event(answered.result.label, kind));
        Ok(answered)
    }

    async fn judged_and_run<R: Record>(
        &self,
        call: &ToolCall,
        record: Option<&mut R>,
    ) -> Result<Answered, RuntimeError> {
        let mut events = Vec::new();
        let Some(tool) = self.offered(&call.name) else {
            let policy = unknown_tool(&call.name);
            let admission = Admission::NotOffered {
                available: self.registry.names(self.role),
            };
            let evaluation = self.judge_call(&policy, &admission, &ArgumentCheck::Valid, &[]);
            return Ok(self.refused(call, ResultStatus::NotRun, evaluation, events));
        };
        let definition = tool.definition();
        let arguments = match self.registry.check(&call.name, &call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let check = ArgumentCheck::Invalid {
                    problem: error.to_string(),
                };
                let evaluation = self.judge_call(&definition.policy, &Admission::Offered, &check, &[]);
                return Ok(self.refused(call, ResultStatus::NotRun, evaluation, events));
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
        let mut prepared = match guarded(tool.prepare(arguments, &context)).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(self.respond(call, definition, &[], Err(error), events, false)),
        };
        let resources = prepared.resources().to_vec();
        let evaluation = self.judge_call(
            &definition.policy,
            &Admission::Offered,
            &ArgumentCheck::Valid,
            &resources,
        );
        if !evaluation.is_allowed() {
            return Ok(self.refused(call, ResultStatus::Refused, evaluation, events));
        }
        events.push(self.judged(call, evaluation));
        let start = EventKind::ToolStarted {
            call: call.id.clone(),
            tool: call.name.clone(),
        };
        events.push(self.event(self.produced_by, start));
        let mut journalled = false;
        if let Some(record) = record {
            let write = Write::CallStarted {
                session: self.session,
                turn: self.turn,
                call: call.id.clone(),
                tool: call.name.clone(),
            };
            record.record(vec![write], std::mem::take(&mut events)).await?;
            journalled = true;
        }
        // Check 11: what was judged may have changed while it was judged and recorded.
        let resources = match guarded(prepared.reread()).await {
            Err(error) => {
                return Ok(self.respond(call, definition, &resources, Err(error), events, journalled));
            }
            Ok(now) if now == resources => resources,
            Ok(now) => {
                let evaluation = self.judge_call(
                    &definition.policy,
                    &Admission::Offered,
                    &ArgumentCheck::Valid,
                    &now,
                );
                if !evaluation.is_allowed() {
                    let mut answered = self.refused(call, ResultStatus::Refused, evaluation, events);
                    answered.journalled = journalled;
                    return Ok(answered);
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
                Ok(Answered {
                    result,
                    raise: None,
                    events,
                    sources: Vec::new(),
                    journalled,
                })
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
        let limit = definition
            .timeout
            .unwrap_or_else(|| Duration::from_secs(self.shared.configuration.agent.tool_timeout_s));
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

    /// Check 12: classifies what came back, withholds what is too high, cuts what is too long.
    fn respond(
        &self,
        call: &ToolCall,
        definition: &ToolDefinition,
        resources: &[Resource],
        ended: Result<ToolOutput, ToolError>,
        mut events: Vec<NewEvent>,
        journalled: bool,
    ) -> Answered {
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
        let evaluation = self.shared.gate.judge(Flow::Response(&response), self.facts());
        let allowed = evaluation.is_allowed();
        let label = evaluation.label;
        events.push(self.judged(call, evaluation));
        if !allowed {
            let result = ToolResult::text(call, ResultStatus::Refused, self.produced_by, WITHHELD);
            return Answered {
                result,
                raise: None,
                events,
                sources: Vec::new(),
                journalled,
            };
        }
        let capped = cap(
            content,
            self.shared.configuration.agent.max_output_chars,
            &call.id,
            label,
        );
        let source = capped.sources.first().map(|source| source.id.clone());
        let origin = Origin::Tool {
            tool: call.name.clone(),
            resources: resources.iter().filter_map(source_name).collect(),
            source: source.clone(),
        };
        let result = ToolResult {
            call: call.id.clone(),
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            status,
            content: capped.content,
            label,
            source,
        };
        Answered {
            result,
            raise: Some((label, origin)),
            events,
            sources: capped.sources,
            journalled,
        }
    }

    fn refused(
        &self,
        call: &ToolCall,
        status: ResultStatus,
        evaluation: Evaluation,
        mut events: Vec<NewEvent>,
    ) -> Answered {
        let result = ToolResult::text(call, status, self.produced_by, evaluation.for_model());
        events.push(self.judged(call, evaluation));
        Answered {
            result,
            raise: None,
            events,
            sources: Vec::new(),
            journalled: false,
        }
    }

    fn judge_call(
        &self,
        tool: &ToolPolicy,
        admission: &Admission,
        arguments: &ArgumentCheck,
        resources: &[Resource],
    ) -> Evaluation {
        let flow = ToolCallFlow {
            tool,
            admission,
            role: self.role,
            arguments,
            produced_by: self.produced_by,
            resources,
        };
        self.shared.gate.judge(Flow::ToolCall(&flow), self.facts())
    }

    fn facts(&self) -> SessionFacts<'_> {
        SessionFacts {
            taint: self.taint,
            clearance: self.clearance,
        }
    }

    /// The tool, if the user's role may see it.
    fn offered(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.registry
            .get(name)
            .filter(|tool| tool.definition().policy.role <= self.role)
    }

    fn judged(&self, call: &ToolCall, evaluation: Evaluation) -> NewEvent {
        let label = evaluation.taint_after;
        let kind = EventKind::FlowJudged {
            call: Some(call.id.clone()),
            tool: Some(call.name.clone()),
            evaluation,
        };
        self.event(label, kind)
    }

    fn event(&self, label: Label, kind: EventKind) -> NewEvent {
        NewEvent {
            turn: Some(self.turn),
            label,
            kind,
        }
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
    }
}
