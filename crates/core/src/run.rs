//! One turn.

mod checkpoint;
mod forced;
mod inputs;
mod repeats;
mod reply;
mod waiting;

pub(crate) use forced::Forced;
pub use forced::{MAX_REFUSALS, MAX_REPEATS};

use crate::{Advance, Outcome, Profile, Routing, RunError, Step, ToolFacts};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tidegate_message::{
    Body, Entry, EventKind, ResultStatus, Tier, ToolCall, ToolResult, Transcript, TurnStatus, Usage,
    UserMessage, WaitingMessage,
};
use tidegate_policy::{CallId, Label, TurnId};

/// One turn, from the user's message to its outcome: what was counted, what is waited for.
///
/// It holds no entries: the transcript beside it does, and the two have to be stored together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    profile: Profile,
    routing: Routing,
    turn: TurnId,
    /// Replies of the model.
    rounds: u32,
    /// Replies whose calls were run.
    tool_rounds: u32,
    calls_used: u32,
    /// Tier switches done.
    switches: u32,
    /// The model was told that its message was empty.
    reminded: bool,
    /// The model was told that it repeats itself.
    nudged: bool,
    /// Calls the owner refused.
    refusals: u32,
    /// Why the model may only answer, if so.
    forced: Option<Forced>,
    usage: Usage,
    /// What was said meanwhile and could not be appended yet.
    waiting: Vec<WaitingMessage>,
    phase: Phase,
}

/// What the run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// A reply of the model.
    Model,
    /// Results of the open calls.
    Tools {
        /// Those that are known.
        answers: Vec<ToolResult>,
        /// A tier switch among the calls, done when the others have results.
        switch: Option<TierSwitch>,
    },
    /// Nothing.
    Finished(Outcome),
}

/// A tier switch that was found valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierSwitch {
    /// The call that asks for it.
    pub(crate) call: CallId,
    /// The label of the message it stands in.
    pub(crate) label: Label,
    pub(crate) to: Tier,
    pub(crate) plan: String,
    pub(crate) reason: Option<String>,
}

/// What an input has brought about so far.
#[derive(Default)]
struct Draft {
    appended: Vec<Arc<Entry>>,
    events: Vec<EventKind>,
}

impl Draft {
    /// Tells that a call was answered without the driver.
    fn answered(&mut self, result: &ToolResult) {
        self.events.push(EventKind::ToolFinished {
            call: result.call.clone(),
            tool: result.name.clone(),
            status: result.status,
            duration_ms: 0,
            source: None,
        });
    }

    fn next(self, step: Step) -> Advance {
        Advance {
            appended: self.appended,
            events: self.events,
            step,
        }
    }
}

impl Run {
    /// A new turn whose user message was pushed just before. Its first step is to call the model.
    pub fn start(profile: Profile, routing: Routing, turn: TurnId) -> Self {
        Self {
            profile,
            routing,
            turn,
            rounds: 0,
            tool_rounds: 0,
            calls_used: 0,
            switches: 0,
            reminded: false,
            nudged: false,
            refusals: 0,
            forced: None,
            usage: Usage::default(),
            waiting: Vec::new(),
            phase: Phase::Model,
        }
    }

    /// What to do now. It follows from the run and its transcript alone, so that it can be asked at any time,
    /// also after both were loaded again.
    ///
    /// # Errors
    /// [`RunError::OutOfStep`] if the transcript is not the one the run was left with.
    pub fn step(&self, transcript: &Transcript, facts: &dyn ToolFacts) -> Result<Step, RunError> {
        match &self.phase {
            Phase::Model => {
                if let Some(problem) = not_ready_for_reply(transcript) {
                    return Err(self.out_of_step(problem));
                }
                Ok(self.call_model())
            }
            Phase::Tools { answers, switch } => {
                let calls: Vec<ToolCall> = transcript
                    .open_calls()
                    .filter(|call| answers.iter().all(|answer| answer.call != call.id))
                    .filter(|call| switch.as_ref().is_none_or(|switch| switch.call != call.id))
                    .cloned()
                    .collect();
                if calls.is_empty() {
                    return Err(self.out_of_step("no calls of its transcript are left to run"));
                }
                Ok(Step::RunTools {
                    batches: self.profile.schedule.batches(calls, facts),
                })
            }
            Phase::Finished(outcome) => Ok(ended(outcome)),
        }
    }

    /// Takes in what a person says while the turn goes on. It is appended as soon as that is possible: after
    /// the results of the open calls, or after the model's reply, which then is not the last one. A turn that
    /// ends otherwise appends it at its end, unanswered.
    ///
    /// # Errors
    /// If the message says nothing, or the turn is over: begin a new one with it.
    pub fn steer(&mut self, label: Label, message: UserMessage) -> Result<(), RunError> {
        if matches!(self.phase, Phase::Finished(_)) {
            return Err(self.unexpected("a user message"));
        }
        if message.content.iter().all(|part| part.as_text() == Some("")) {
            return Err(RunError::EmptyMessage);
        }
        self.waiting.push(WaitingMessage {
            turn: self.turn,
            label,
            message,
        });
        Ok(())
    }

    /// The turn.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// By which rules it goes.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// At which tier it is: what `new_cognitive_level` is offered with, and where the next turn goes on.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Finished(outcome) => Some(outcome),
            Phase::Model | Phase::Tools { .. } => None,
        }
    }

    /// What was said meanwhile and is not in the transcript yet.
    pub fn waiting(&self) -> &[WaitingMessage] {
        &self.waiting
    }

    fn call_model(&self) -> Step {
        Step::CallModel {
            tier: self.routing.current(),
            round: self.rounds.saturating_add(1),
            must_answer: self.forced.is_some(),
        }
    }

    /// Closes the open unit with `results` and the answer to a tier switch, appends what waited for it and what
    /// the guards have to say, and switches. The next step is to call the model.
    fn close(
        &mut self,
        transcript: &mut Transcript,
        mut results: Vec<ToolResult>,
        switch: Option<TierSwitch>,
        mut draft: Draft,
    ) -> Result<Advance, RunError> {
        if let Some(switch) = &switch {
            let call = transcript.open_calls().find(|call| call.id == switch.call);
            let call = call.ok_or_else(|| self.out_of_step("the call for a tier switch is not open"))?;
            let result = ToolResult::text(call, ResultStatus::Ok, switch.label, &switch.plan);
            draft.answered(&result);
            results.push(result);
        }
        draft
            .appended
            .extend(transcript.push_results(self.turn, results)?);
        self.phase = Phase::Model;
        // A switch that is done has a bound of its own, and its result is what the model wrote itself.
        let done = switch.as_ref().map(|switch| &switch.call);
        let repeated = repeats::in_last_unit(transcript, self.turn, done);
        let label = repeats::label_of_last_unit(transcript);
        self.release_waiting(transcript, &mut draft)?;
        self.guard(transcript, label, repeated, &mut draft)?;
        let Some(TierSwitch { to, plan, reason, .. }) = switch else {
            return Ok(draft.next(self.call_model()));
        };
        self.switches = self.switches.saturating_add(1);
        let from = self.routing.switch(to);
        draft.events.push(EventKind::TierSwitched {
            from,
            to,
            reason: reason.clone(),
        });
        Ok(draft.next(Step::SwitchTier {
            from,
            to,
            plan,
            reason,
        }))
    }

    fn release_waiting(&mut self, transcript: &mut Transcript, draft: &mut Draft) -> Result<(), RunError> {
        for waiting in std::mem::take(&mut self.waiting) {
            draft
                .appended
                .push(transcript.push_user(waiting.turn, waiting.label, waiting.message)?);
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome, draft: Draft) -> Advance {
        let step = ended(&outcome);
        self.phase = Phase::Finished(outcome);
        draft.next(step)
    }

    /// An outcome with the counters of now and nothing else.
    fn outcome_now(&self, status: TurnStatus) -> Outcome {
        Outcome {
            status,
            answer: String::new(),
            calls_used: self.calls_used,
            rounds: self.rounds,
            usage: self.usage,
            warning: self.forced_warning(),
            question: None,
            error: None,
        }
    }

    fn phase_name(&self) -> &'static str {
        match self.phase {
            Phase::Model => "waits for a model's reply",
            Phase::Tools { .. } => "waits for results of tools",
            Phase::Finished(_) => "is finished",
        }
    }

    fn unexpected(&self, given: &'static str) -> RunError {
        RunError::Unexpected {
            given,
            phase: self.phase_name(),
        }
    }

    fn out_of_step(&self, transcript: &'static str) -> RunError {
        RunError::OutOfStep {
            phase: self.phase_name(),
            transcript,
        }
    }
}

fn ended(outcome: &Outcome) -> Step {
    match (outcome.status, &outcome.question) {
        (TurnStatus::PendingQuestion, Some(question)) => Step::Ask {
            question: question.clone(),
        },
        _ => Step::Finish(outcome.clone()),
    }
}

/// Why no model's reply can be appended, if so. Found out before the model is called and paid.
fn not_ready_for_reply(transcript: &Transcript) -> Option<&'static str> {
    match transcript.entries().last().map(|entry| &entry.body) {
        None => Some("its transcript is empty"),
        Some(Body::Assistant(message)) if message.calls().next().is_some() => {
            Some("calls of its transcript are open")
        }
        Some(Body::Assistant(_)) => Some("its transcript ends with a model message"),
        Some(Body::User(_) | Body::Results(_)) => None,
    }
}
