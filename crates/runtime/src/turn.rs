//! One turn: performs the machine's steps and persists it at each.

mod attach;
mod begin;
mod calls;
mod compact;
mod extract;
mod hooks;
mod output;
mod prefix;
mod put_aside;
mod recall;
mod record;
mod time;

pub use self::compact::Compacted;
pub(crate) use self::prefix::LastRequest;

use self::calls::{CallsEnd, WaitsFor};
use self::output::Refused;
use self::record::Waiting;
use self::time::TimeLimit;
use crate::approvals::{Approver, PendingQuestion};
use crate::model_call::ModelEnd;
use crate::tool_call::OwnersAnswer;
use crate::{CancelToken, Observer, RuntimeError, Session, Signal, TurnOptions, TurnReport};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_core::{Advance, Failure, Outcome, Run, Step, ToolFacts};
use tidegate_message::{Body, EntrySeq, EventKind, ModelId, ToolResult, TurnStatus, Usage, UserMessage};
use tidegate_policy::{CallId, Label, Origin, SessionFacts, ToolName, TurnId};
use tidegate_store::{ApprovalRecord, CallState, MemoryRecord, SessionPatch, SessionState, Write};
use tidegate_tools::Registry;
use tokio::sync::mpsc;

/// A turn that runs.
pub(crate) struct Turn<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) run: Run,
    pub(crate) turn: TurnId,
    pub(crate) model: Option<ModelId>,
    pub(crate) cancel: CancelToken,
    pub(crate) observer: Option<&'a dyn Observer>,
    /// Whom to ask, if somebody is there.
    approver: Option<&'a dyn Approver>,
    /// What the owner was asked about the open calls before this process took the turn up.
    asked: BTreeMap<CallId, Vec<ApprovalRecord>>,
    /// The questions that the open calls asked before that.
    questions: BTreeMap<CallId, ApprovalRecord>,
    /// The owner's answer to one of them.
    answer: Option<OwnersAnswer>,
    /// Requests may be left open when the turn ends.
    may_have_asked: bool,
    steering: Option<mpsc::UnboundedReceiver<UserMessage>>,
    /// Waits for the next commit.
    waiting: Waiting,
    time: TimeLimit,
    /// A provider has said that the conversation does not fit, and it was made shorter or could not be.
    overflowed: bool,
    /// The memories that ride on its message.
    recalled: Vec<MemoryRecord>,
    /// What making the conversation shorter has cost.
    summed_up: Usage,
    /// How many passes may still be made to make the conversation shorter before a request.
    passes_left: u32,
    /// How many entries the transcript had when its size was last looked at.
    measured: usize,
    /// The message of the turn while it is in the transcript and not stored.
    unstored: Option<EntrySeq>,
}

/// A turn that ends or is dropped before its message is stored leaves the transcript as it was.
impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(seq) = self.unstored {
            self.session.transcript.take_back(seq);
        }
    }
}

/// Passes a turn in which its conversation is made shorter before requests; one more is for an overflow.
const MOST_PASSES: u32 = 3;

struct Facts<'a>(&'a Registry);

impl ToolFacts for Facts<'_> {
    fn is_consequential(&self, name: &ToolName) -> bool {
        self.0
            .get(name)
            .is_some_and(|tool| tool.definition().policy.consequential)
    }
}

impl<'a> Turn<'a> {
    /// Goes on with an interrupted turn where its last commit left it, with the answer to a question if there is one.
    pub(crate) async fn resume(
        session: &'a mut Session,
        turn: TurnId,
        answer: Option<OwnersAnswer>,
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
        this.answer = answer;
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

    /// Gives the last answer again. It is judged again, since what its reader may read can have changed.
    pub(crate) async fn repeat(
        session: &'a mut Session,
        report: TurnReport,
    ) -> Result<TurnReport, RuntimeError> {
        let Some(turn) = report.turn else {
            return Ok(report);
        };
        let run = session.new_run(turn);
        let mut this = Self::new(session, run, turn, TurnOptions::default());
        let judged = this.judge_answer(&report.answer);
        this.commit(Vec::new()).await?;
        Ok(match judged {
            Ok(answer) => TurnReport { answer, ..report },
            Err(explanation) => TurnReport {
                status: TurnStatus::Blocked,
                answer: String::new(),
                error: Some(explanation),
                ..report
            },
        })
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
            self.read_approvals(&open).await?;
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
            approver,
            steering,
            // They belong to the beginning of a turn, which has taken them.
            attachments: _,
            notes: _,
        } = options;
        let time = TimeLimit::new(session.shared.configuration.agent.turn_timeout_s);
        Self {
            session,
            run,
            turn,
            model: None,
            // The end of the turn's time cancels what runs in it, and not what the caller has beside it.
            cancel: cancel.child(),
            observer,
            approver,
            asked: BTreeMap::new(),
            questions: BTreeMap::new(),
            answer: None,
            may_have_asked: false,
            steering,
            waiting: Waiting::default(),
            time,
            overflowed: false,
            recalled: Vec::new(),
            summed_up: Usage::default(),
            passes_left: MOST_PASSES,
            measured: 0,
            unstored: None,
        }
    }

    /// Performs steps until the turn ends.
    async fn drive(mut self, mut step: Step) -> Result<TurnReport, RuntimeError> {
        loop {
            if !matches!(step, Step::Finish(_) | Step::Ask { .. }) {
                self.take_steering()?;
            }
            let advance = match step {
                Step::CallModel { .. } | Step::RunTools { .. } if self.time.is_up() => {
                    self.expired(Vec::new(), BTreeSet::new())?
                }
                Step::CallModel {
                    tier,
                    round,
                    must_answer,
                } => {
                    let (time, cancel) = (self.time, self.cancel.clone());
                    let called = async {
                        match self.make_room().await? {
                            Some(failure) => Ok(ModelEnd::Failed(failure)),
                            None => self.call_model(tier, round, must_answer).await,
                        }
                    };
                    let ended = time.limits(&cancel, called).await?;
                    // What was said meanwhile is heard before the turn can end.
                    self.take_steering()?;
                    match ended {
                        ModelEnd::Reply(mut reply) => {
                            self.screen(&mut reply)?;
                            let label = self.session.taint().label();
                            let facts = Facts(&self.session.registry);
                            let advance =
                                self.run
                                    .on_reply(&mut self.session.transcript, label, *reply, &facts);
                            advance.map_err(|cause| self.fault(cause))?
                        }
                        ModelEnd::Overflowed(failure) => match self.shorten_for_overflow().await? {
                            Some(again) => {
                                step = again;
                                continue;
                            }
                            None => self.failed(failure)?,
                        },
                        ModelEnd::Failed(failure) => self.failed(failure)?,
                        ModelEnd::Cancelled => self.broken_off(Vec::new(), BTreeSet::new())?,
                    }
                }
                Step::RunTools { batches } => {
                    let (time, cancel) = (self.time, self.cancel.clone());
                    let ended = time.limits(&cancel, self.run_tools(batches)).await?;
                    // What was said meanwhile goes to the model with the results.
                    self.take_steering()?;
                    match ended {
                        CallsEnd::Answered(results) => {
                            let advance = self.run.on_results(&mut self.session.transcript, results);
                            advance.map_err(|cause| self.fault(cause))?
                        }
                        CallsEnd::Waiting { known, waiting } => return self.suspend(known, waiting).await,
                        CallsEnd::Cancelled { known, begun } => self.broken_off(known, begun)?,
                    }
                }
                // The machine has moved on already; the next step is a call at the new tier.
                Step::SwitchTier { .. } => {
                    step = self.step()?;
                    continue;
                }
                // Only calls that wait lead there, and then the turn was left already.
                Step::Approve { .. } => {
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
        let (mut writes, step) = self.take_in(advance);
        writes.push(self.checkpoint()?);
        self.commit(writes).await?;
        Ok(step)
    }

    /// Shows what a step appended and notes its events: what is to be written of it, and the step after it.
    fn take_in(&mut self, advance: Advance) -> (Vec<Write>, Step) {
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
        // The next turn of the session goes on where this one has come to.
        self.session.tier = self.run.routing().current();
        let writes = if appended.is_empty() {
            Vec::new()
        } else {
            vec![Write::Append(self.session.id(), appended)]
        };
        (writes, step)
    }

    /// Leaves the turn as it is until the owner has decided: it is stored, and its session stays in it.
    async fn suspend(
        &mut self,
        known: Vec<ToolResult>,
        waiting: Vec<(CallId, WaitsFor)>,
    ) -> Result<TurnReport, RuntimeError> {
        let (mut calls, mut approvals, mut questions) = (Vec::new(), Vec::new(), Vec::new());
        for (call, waits_for) in waiting {
            calls.push(call);
            match waits_for {
                WaitsFor::Approval(approval) => approvals.push(approval),
                WaitsFor::Answer(question) => questions.push(*question),
            }
        }
        let advance = self
            .run
            .on_waiting(&mut self.session.transcript, known, &calls)
            .map_err(|cause| self.fault(cause))?;
        for question in &mut questions {
            self.judge_question(question);
        }
        self.persist(advance).await?;
        let mut outcome = self.run.waiting_outcome();
        if approvals.is_empty() {
            outcome.status = TurnStatus::PendingQuestion;
        }
        outcome.question = questions.first().map(|first| first.question.clone());
        Ok(TurnReport {
            approvals,
            questions,
            ..self.report(outcome)
        })
    }

    /// Judges whether a question may go to the owner, as answers are: what is shown of it is as it may go.
    fn judge_question(&mut self, question: &mut PendingQuestion) {
        for text in std::iter::once(&mut question.question).chain(&mut question.choices) {
            *text = match self.judge_answer(text) {
                Ok(redacted) => redacted,
                Err(explanation) => format!("(withheld: {explanation})"),
            };
        }
    }

    /// Commits the end of the turn, unless its answer may not reach the reader.
    async fn finish(&mut self, advance: Advance) -> Result<TurnReport, RuntimeError> {
        let (appended, step) = self.take_in(advance);
        let mut outcome = self.outcome(step)?;
        let said = outcome.question.as_ref().unwrap_or(&outcome.answer);
        if !said.is_empty() {
            match self.judge_answer(&said.clone()) {
                Ok(redacted) => match &mut outcome.question {
                    Some(question) => *question = redacted,
                    None => outcome.answer = redacted,
                },
                Err(explanation) => {
                    let advance = self.failed(Failure::blocked(explanation))?;
                    outcome = self.outcome(advance.step)?;
                }
            }
        }
        outcome.usage += self.summed_up;
        self.note(outcome.event());
        let id = self.session.id();
        let mut writes = self.give_up_approvals().await?;
        writes.extend(appended);
        let patch = SessionPatch {
            state: Some(SessionState::Idle),
            ..SessionPatch::default()
        };
        writes.push(self.checkpoint()?);
        writes.push(Write::PatchSession(id, patch));
        self.commit(writes).await?;
        self.session.record.state = SessionState::Idle;
        if outcome.status == TurnStatus::Success {
            self.renew_recalled().await;
            self.extract().await;
        }
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
            match self.admit("a message to the running turn", Label::BOTTOM, message) {
                Ok(message) => self
                    .run
                    .steer(Label::BOTTOM, message)
                    .map_err(|cause| self.fault(cause))?,
                // The event says so; the turn goes on without it.
                Err(Refused { raised, .. }) => {
                    let raised = self.raise(raised, Origin::Owner, self.session.record.turns);
                    self.store_taint(raised);
                }
            }
        }
        Ok(())
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

    /// Ends the turn because its time is up.
    fn expired(&mut self, known: Vec<ToolResult>, begun: BTreeSet<CallId>) -> Result<Advance, RuntimeError> {
        let label = self.open_label();
        let allowed = self.time.allowed();
        let advance = self
            .run
            .on_expiry(&mut self.session.transcript, label, known, &begun, allowed);
        advance.map_err(|cause| self.fault(cause))
    }

    /// Ends the turn because what ran in it was cancelled: by somebody, or by the end of its time.
    fn broken_off(
        &mut self,
        known: Vec<ToolResult>,
        begun: BTreeSet<CallId>,
    ) -> Result<Advance, RuntimeError> {
        if self.time.is_up() {
            self.expired(known, begun)
        } else {
            self.cancelled(known, begun)
        }
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
            // Only calls meet it, and they are judged with what they know of it.
            bumper: None,
            caller: self.session.caller(self.approver.is_some()),
        }
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
            approvals: Vec::new(),
            questions: Vec::new(),
            error: outcome.error,
        }
    }
}
