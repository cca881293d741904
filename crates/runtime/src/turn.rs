//! One turn: performs the machine's steps and persists it at each.

use crate::model_call::ModelEnd;
use crate::tool_call::{Answered, Calls, Record};
use crate::{CancelToken, Observer, RuntimeError, Session, Signal, TurnOptions, TurnReport};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_core::{Advance, Failure, Outcome, Run, Step, ToolFacts};
use tidegate_message::{
    Body, Event, EventKind, ModelId, ResultStatus, ToolCall, ToolResult, TurnStatus, Usage, UserMessage,
};
use tidegate_policy::{AnswerFlow, CallId, ContextFlow, Flow, Label, Origin, SessionFacts, ToolName, TurnId};
use tidegate_store::{CallState, Checkpoint, NewEvent, SessionPatch, SessionState, Store, Write};
use tidegate_tools::{Cancel as _, Registry};
use tokio::sync::mpsc;

/// A turn that runs.
pub(crate) struct Turn<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) run: Run,
    pub(crate) turn: TurnId,
    pub(crate) model: Option<ModelId>,
    pub(crate) cancel: CancelToken,
    pub(crate) observer: Option<&'a dyn Observer>,
    steering: Option<mpsc::UnboundedReceiver<UserMessage>>,
    /// Waits for the next commit.
    waiting: Waiting,
}

/// What waits for the next commit.
#[derive(Default)]
struct Waiting {
    writes: Vec<Write>,
    events: Vec<NewEvent>,
}

struct Facts<'a>(&'a Registry);

impl ToolFacts for Facts<'_> {
    fn is_consequential(&self, name: &ToolName) -> bool {
        self.0
            .get(name)
            .is_some_and(|tool| tool.definition().policy.consequential)
    }
}

/// How the calls of a message ended.
enum CallsEnd {
    /// All are answered.
    Answered(Vec<ToolResult>),
    /// The turn was cancelled: these are answered, and these had begun.
    Cancelled {
        known: Vec<ToolResult>,
        begun: BTreeSet<CallId>,
    },
}

impl<'a> Turn<'a> {
    /// Begins a turn with a user message and runs it to its end.
    pub(crate) async fn begin(
        session: &'a mut Session,
        turn: TurnId,
        message: UserMessage,
        label: Label,
        options: TurnOptions<'a>,
    ) -> Result<TurnReport, RuntimeError> {
        let run = session.new_run(turn);
        let mut this = Self::new(session, run, turn, options);
        let flow = ContextFlow {
            what: "the task",
            label,
        };
        let evaluation = this.session.shared.gate.judge(Flow::Context(&flow), this.facts());
        if !evaluation.is_allowed() {
            let explanation = evaluation.explanation.clone();
            this.note(EventKind::FlowJudged {
                call: None,
                tool: None,
                evaluation,
            });
            this.commit(Vec::new()).await?;
            return Ok(this.report(Outcome {
                status: TurnStatus::Blocked,
                answer: String::new(),
                calls_used: 0,
                rounds: 0,
                usage: Usage::default(),
                warning: None,
                question: None,
                error: explanation,
            }));
        }
        this.note(EventKind::TurnStarted);
        this.note(EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        });
        let raised = this.raise(label, Origin::Owner, this.session.record.turns.saturating_add(1));
        let entry = this.session.transcript.push_user(turn, label, message);
        let entry = entry.map_err(|cause| RuntimeError::Transcript {
            session: this.session.id(),
            cause,
        })?;
        this.show(Signal::Entry(Arc::clone(&entry)));
        let step = this.step()?;
        let patch = SessionPatch {
            state: Some(SessionState::InTurn(turn)),
            taint: raised.then(|| this.session.record.session.taint.clone()),
            ..SessionPatch::default()
        };
        let id = this.session.id();
        let writes = vec![
            Write::PatchSession(id, patch),
            Write::Append(id, vec![entry]),
            this.checkpoint()?,
        ];
        this.commit(writes).await?;
        this.session.record.state = SessionState::InTurn(turn);
        this.session.record.turns = this.session.record.turns.saturating_add(1);
        this.drive(step).await
    }

    /// Goes on with an interrupted turn where its last commit left it.
    pub(crate) async fn resume(
        session: &'a mut Session,
        turn: TurnId,
        options: TurnOptions<'a>,
    ) -> Result<TurnReport, RuntimeError> {
        let id = session.id();
        let saved = session
            .shared
            .store
            .checkpoint(id)
            .await?
            .filter(|saved| saved.turn == turn);
        let run = match saved {
            Some(saved) => Run::load(saved.version, &saved.data)
                .map_err(|cause| RuntimeError::Run { session: id, cause })?,
            // Every turn's first commit has one; a store that lost it still has the transcript.
            None => session.new_run(turn),
        };
        let mut this = Self::new(session, run, turn, options);
        let advance = this.take_up().await?;
        let step = this.persist(advance).await?;
        this.drive(step).await
    }

    /// Tries a turn again that ended without an answer.
    pub(crate) async fn again(
        session: &'a mut Session,
        turn: TurnId,
        options: TurnOptions<'a>,
    ) -> Result<TurnReport, RuntimeError> {
        let run = session.new_run(turn);
        let mut this = Self::new(session, run, turn, options);
        this.note(EventKind::TurnResumed {
            unknown_calls: Vec::new(),
        });
        let id = this.session.id();
        let state = SessionState::InTurn(turn);
        let patch = SessionPatch {
            state: Some(state),
            ..SessionPatch::default()
        };
        let step = this.step()?;
        let writes = vec![Write::PatchSession(id, patch), this.checkpoint()?];
        this.commit(writes).await?;
        this.session.record.state = state;
        this.drive(step).await
    }

    /// Closes an interrupted turn without going on with it: calls that ran keep their results, those whose
    /// outcome is unknown get an honest synthetic one, and the others are answered as not run.
    pub(crate) async fn interrupted(session: &'a mut Session, turn: TurnId) -> Result<(), RuntimeError> {
        let id = session.id();
        let saved = session
            .shared
            .store
            .checkpoint(id)
            .await?
            .filter(|saved| saved.turn == turn);
        let run = saved.and_then(|saved| Run::load(saved.version, &saved.data).ok());
        let Some(run) = run else {
            // The machine of another version: the transcript alone is closed.
            let label = session.taint().label();
            let appended = session
                .transcript
                .repair(turn, |call| ToolResult::interrupted(call, label));
            let run = session.new_run(turn);
            let mut this = Self::new(session, run, turn, TurnOptions::default());
            let mut advance = this.cancelled(Vec::new(), BTreeSet::new())?;
            advance.appended.splice(0..0, appended);
            return this.finish(advance).await.map(drop);
        };
        let mut this = Self::new(session, run, turn, TurnOptions::default());
        let mut advance = this.take_up().await?;
        if !matches!(advance.step, Step::Finish(_)) {
            let cancelled = this.cancelled(Vec::new(), BTreeSet::new())?;
            advance.appended.extend(cancelled.appended);
            advance.events.extend(cancelled.events);
            advance.step = cancelled.step;
        }
        this.finish(advance).await.map(drop)
    }

    /// Tells the machine what the journal has of the open calls: those that finished before the process ended
    /// keep their results, those that had started and no more are of unknown outcome. Calls that are not in
    /// the journal have not begun, or read only: they are still to be run.
    async fn take_up(&mut self) -> Result<Advance, RuntimeError> {
        let open: BTreeSet<CallId> = self
            .session
            .transcript
            .open_calls()
            .map(|call| call.id.clone())
            .collect();
        let (mut known, mut begun) = (Vec::new(), BTreeSet::new());
        if !open.is_empty() {
            let journal = self
                .session
                .shared
                .store
                .calls(self.session.id(), self.turn)
                .await?;
            for row in journal.into_iter().filter(|row| open.contains(&row.call)) {
                match row.state {
                    CallState::Finished(result) => known.push(*result),
                    CallState::Started => {
                        begun.insert(row.call);
                    }
                }
            }
        }
        let turn = self.session.record.turns;
        let mut raised = false;
        for result in &known {
            let origin = Origin::Tool {
                tool: result.name.clone(),
                resources: Vec::new(),
                source: result.source.clone(),
            };
            raised |= self.raise(result.label, origin, turn);
        }
        self.store_taint(raised);
        let label = self.open_label();
        let facts = Facts(&self.session.registry);
        let advance = self
            .run
            .on_resume(&mut self.session.transcript, label, known, &begun, &facts);
        advance.map_err(|cause| self.fault(cause))
    }

    fn new(session: &'a mut Session, run: Run, turn: TurnId, options: TurnOptions<'a>) -> Self {
        let TurnOptions {
            level: _,
            cancel,
            observer,
            steering,
        } = options;
        Self {
            session,
            run,
            turn,
            model: None,
            cancel,
            observer,
            steering,
            waiting: Waiting::default(),
        }
    }

    /// Performs steps until the turn ends.
    async fn drive(mut self, mut step: Step) -> Result<TurnReport, RuntimeError> {
        loop {
            if !matches!(step, Step::Finish(_) | Step::Ask { .. }) {
                self.take_steering()?;
            }
            let advance = match step {
                Step::CallModel {
                    tier,
                    round,
                    must_answer,
                } => match self.call_model(tier, round, must_answer).await? {
                    ModelEnd::Reply(reply) => {
                        let label = self.session.taint().label();
                        let facts = Facts(&self.session.registry);
                        let advance = self
                            .run
                            .on_reply(&mut self.session.transcript, label, *reply, &facts);
                        advance.map_err(|cause| self.fault(cause))?
                    }
                    ModelEnd::Failed(failure) => self.failed(failure)?,
                    ModelEnd::Cancelled => self.cancelled(Vec::new(), BTreeSet::new())?,
                },
                Step::RunTools { batches } => match self.run_tools(batches).await? {
                    CallsEnd::Answered(results) => {
                        let advance = self.run.on_results(&mut self.session.transcript, results);
                        advance.map_err(|cause| self.fault(cause))?
                    }
                    CallsEnd::Cancelled { known, begun } => self.cancelled(known, begun)?,
                },
                // The machine has moved on already; the next step is a call at the new tier.
                Step::SwitchTier { .. } => {
                    step = self.step()?;
                    continue;
                }
                ended @ (Step::Ask { .. } | Step::Finish(_)) => Advance {
                    appended: Vec::new(),
                    events: Vec::new(),
                    step: ended,
                },
            };
            if matches!(advance.step, Step::Finish(_) | Step::Ask { .. }) {
                return self.finish(advance).await;
            }
            step = self.persist(advance).await?;
        }
    }

    /// Commits what a step brought forth, together with the machine.
    async fn persist(&mut self, advance: Advance) -> Result<Step, RuntimeError> {
        let Advance {
            appended,
            events,
            step,
        } = advance;
        for entry in &appended {
            self.show(Signal::Entry(Arc::clone(entry)));
        }
        for kind in events {
            self.note(kind);
        }
        let mut writes = Vec::new();
        if !appended.is_empty() {
            writes.push(Write::Append(self.session.id(), appended));
        }
        writes.push(self.checkpoint()?);
        self.commit(writes).await?;
        Ok(step)
    }

    /// Commits the end of the turn, unless its answer may not reach the reader.
    async fn finish(&mut self, advance: Advance) -> Result<TurnReport, RuntimeError> {
        let Advance {
            appended,
            events,
            step,
        } = advance;
        for entry in &appended {
            self.show(Signal::Entry(Arc::clone(entry)));
        }
        for kind in events {
            self.note(kind);
        }
        let mut outcome = self.outcome(step)?;
        let says_something = !outcome.answer.is_empty() || outcome.question.is_some();
        if says_something && let Some(explanation) = self.judge_answer() {
            let advance = self.failed(Failure::blocked(explanation))?;
            outcome = self.outcome(advance.step)?;
        }
        self.note(outcome.event());
        let id = self.session.id();
        let mut writes = Vec::new();
        if !appended.is_empty() {
            writes.push(Write::Append(id, appended));
        }
        let patch = SessionPatch {
            state: Some(SessionState::Idle),
            ..SessionPatch::default()
        };
        writes.push(self.checkpoint()?);
        writes.push(Write::PatchSession(id, patch));
        self.commit(writes).await?;
        self.session.record.state = SessionState::Idle;
        Ok(self.report(outcome))
    }

    /// The outcome of a run that is over.
    fn outcome(&self, step: Step) -> Result<Outcome, RuntimeError> {
        match (step, self.run.outcome()) {
            (Step::Finish(outcome), _) => Ok(outcome),
            (_, Some(outcome)) => Ok(outcome.clone()),
            (_, None) => Err(RuntimeError::Unfinished {
                session: self.session.id(),
            }),
        }
    }

    /// Judges whether the answer may go to its reader: why not, if not.
    fn judge_answer(&mut self) -> Option<String> {
        let reader = self.session.record.session.user.clone();
        let clearance = self
            .session
            .shared
            .configuration
            .users
            .clearance(reader.as_str())
            .unwrap_or_default();
        let flow = AnswerFlow {
            reader: reader.as_str(),
            clearance,
        };
        let evaluation = self.session.shared.gate.judge(Flow::Answer(&flow), self.facts());
        let refusal = (!evaluation.is_allowed()).then(|| evaluation.explanation.clone().unwrap_or_default());
        self.note(EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        });
        refusal
    }

    /// Answers the calls of the open unit: those of a batch together, the batches one after the other.
    async fn run_tools(&mut self, batches: Vec<Vec<ToolCall>>) -> Result<CallsEnd, RuntimeError> {
        let session = self.session.id();
        let mut known: BTreeMap<CallId, ToolResult> = BTreeMap::new();
        let mut begun = BTreeSet::new();
        let mut raises = Vec::new();
        let produced_by = self.open_label();
        let order: Vec<CallId> = batches.iter().flatten().map(|call| call.id.clone()).collect();
        for batch in batches {
            if self.cancel.is_cancelled() {
                break;
            }
            let shared = Arc::clone(&self.session.shared);
            let registry = Arc::clone(&self.session.registry);
            let taint = self.session.taint().clone();
            let cancel = self.cancel.clone();
            let calls = Calls {
                shared: &shared,
                registry: &registry,
                session,
                turn: self.turn,
                role: self.session.role,
                clearance: self.session.clearance(),
                taint: &taint,
                produced_by,
                cancel: &cancel,
            };
            let facts = Facts(&registry);
            let answers: Vec<Answered> = match batch.as_slice() {
                [call] if facts.is_consequential(&call.name) => vec![calls.answer(call, Some(self)).await?],
                together => {
                    let answers = together.iter().map(|call| calls.answer(call, None::<&mut Self>));
                    futures::future::try_join_all(answers).await?
                }
            };
            for answered in answers {
                let Answered {
                    result,
                    raise,
                    events,
                    sources,
                    journalled,
                } = answered;
                self.waiting.events.extend(events);
                self.waiting
                    .writes
                    .extend(sources.into_iter().map(|source| Write::Source(session, source)));
                if journalled {
                    let result = Box::new(result.clone());
                    self.waiting.writes.push(Write::CallFinished {
                        session,
                        turn: self.turn,
                        result,
                    });
                }
                if let Some((label, origin)) = raise {
                    raises.push((result.call.clone(), label, origin));
                }
                if result.status == ResultStatus::Unknown {
                    begun.insert(result.call.clone());
                }
                known.insert(result.call.clone(), result);
            }
        }
        // In call order, whichever ran first: the lineage must not depend on scheduling.
        let turn = self.session.record.turns;
        let mut raised = false;
        for id in &order {
            for (_, label, origin) in raises.iter().filter(|(call, _, _)| call == id) {
                raised |= self.raise(*label, origin.clone(), turn);
            }
        }
        self.store_taint(raised);
        let answered = order.iter().all(|id| known.contains_key(id));
        let known: Vec<ToolResult> = order.iter().filter_map(|id| known.remove(id)).collect();
        Ok(if answered && !self.cancel.is_cancelled() {
            CallsEnd::Answered(known)
        } else {
            CallsEnd::Cancelled { known, begun }
        })
    }

    /// The label of the model message whose calls are open.
    fn open_label(&self) -> Label {
        let last = self.session.transcript.entries().last();
        let open = last.filter(|entry| matches!(entry.body, Body::Assistant(_)));
        open.map_or_else(|| self.session.taint().label(), |entry| entry.label)
    }

    /// Takes in what the user sent meanwhile: the machine lets it in when no call is open.
    fn take_steering(&mut self) -> Result<(), RuntimeError> {
        while let Some(message) = self
            .steering
            .as_mut()
            .and_then(|steering| steering.try_recv().ok())
        {
            self.run
                .steer(Label::BOTTOM, message)
                .map_err(|cause| self.fault(cause))?;
        }
        Ok(())
    }

    /// Stores the taint with the next commit, if it rose: before anything that raised it reaches the model.
    fn store_taint(&mut self, raised: bool) {
        if raised {
            let taint = Some(self.session.record.session.taint.clone());
            let patch = SessionPatch {
                taint,
                ..SessionPatch::default()
            };
            self.waiting
                .writes
                .push(Write::PatchSession(self.session.id(), patch));
        }
    }

    fn raise(&mut self, label: Label, origin: Origin, turn: u32) -> bool {
        let from = self.session.taint().label();
        let raised = self
            .session
            .record
            .session
            .taint
            .raise(label, origin.clone(), turn);
        if raised {
            let to = self.session.taint().label();
            self.note(EventKind::TaintRaised { from, to, origin });
        }
        raised
    }

    fn cancelled(
        &mut self,
        known: Vec<ToolResult>,
        begun: BTreeSet<CallId>,
    ) -> Result<Advance, RuntimeError> {
        let label = self.open_label();
        let advance = self
            .run
            .on_cancel(&mut self.session.transcript, label, known, &begun);
        advance.map_err(|cause| self.fault(cause))
    }

    fn failed(&mut self, failure: Failure) -> Result<Advance, RuntimeError> {
        let advance = self.run.on_failure(&mut self.session.transcript, failure);
        advance.map_err(|cause| self.fault(cause))
    }

    fn step(&self) -> Result<Step, RuntimeError> {
        let step = self
            .run
            .step(&self.session.transcript, &Facts(&self.session.registry));
        step.map_err(|cause| self.fault(cause))
    }

    pub(crate) fn facts(&self) -> SessionFacts<'_> {
        SessionFacts {
            taint: self.session.taint(),
            clearance: self.session.clearance(),
        }
    }

    /// Keeps a fact for the next commit.
    pub(crate) fn note(&mut self, kind: EventKind) {
        let label = self.session.taint().label();
        self.waiting.events.push(NewEvent {
            turn: Some(self.turn),
            label,
            kind,
        });
    }

    /// Takes what waits out, for a commit that runs beside something else.
    pub(crate) fn take_waiting(&mut self) -> Vec<Write> {
        let Waiting { mut writes, events } = std::mem::take(&mut self.waiting);
        if !events.is_empty() {
            writes.push(Write::Events(self.session.id(), events));
        }
        writes
    }

    fn checkpoint(&self) -> Result<Write, RuntimeError> {
        let data = self.run.save().map_err(|cause| self.fault(cause))?;
        let checkpoint = Checkpoint {
            turn: self.turn,
            version: Run::VERSION,
            data,
        };
        Ok(Write::Checkpoint(self.session.id(), checkpoint))
    }

    /// Commits `writes` and everything that waited, and tells of the events.
    async fn commit(&mut self, writes: Vec<Write>) -> Result<(), RuntimeError> {
        let Waiting {
            writes: mut all,
            events,
        } = std::mem::take(&mut self.waiting);
        all.extend(writes);
        if !events.is_empty() {
            all.push(Write::Events(self.session.id(), events));
        }
        if all.is_empty() {
            return Ok(());
        }
        let committed = self.session.shared.store.commit(all).await?;
        self.tell(committed.events);
        Ok(())
    }

    pub(crate) fn tell(&self, events: Vec<Event>) {
        for event in events {
            let event = Arc::new(event);
            self.session.shared.bus.publish(&event);
            self.show(Signal::Event(event));
        }
    }

    pub(crate) fn show(&self, signal: Signal) {
        if let Some(observer) = self.observer {
            observer.on(signal);
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.session.shared.store)
    }

    fn fault(&self, cause: tidegate_core::RunError) -> RuntimeError {
        RuntimeError::Run {
            session: self.session.id(),
            cause,
        }
    }

    fn report(&self, outcome: Outcome) -> TurnReport {
        TurnReport {
            session: self.session.id(),
            name: self.session.name().cloned(),
            turn: Some(self.turn),
            status: outcome.status,
            answer: outcome.answer,
            model: self.model.clone(),
            rounds: outcome.rounds,
            calls_used: outcome.calls_used,
            label: self.session.taint().label(),
            usage: outcome.usage,
            warning: outcome.warning,
            question: outcome.question,
            error: outcome.error,
        }
    }
}

impl Record for Turn<'_> {
    async fn record(&mut self, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), RuntimeError> {
        self.waiting.events.extend(events);
        self.commit(writes).await
    }
}
