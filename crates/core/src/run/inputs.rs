//! What comes in besides replies: results, a restart, a cancel, the end of its time, a failure.

use super::{Draft, Phase, Run, TierSwitch, ended};
use crate::{Advance, Failure, Outcome, RunError, ToolFacts, text};
use std::collections::BTreeSet;
use std::time::Duration;
use tidegate_message::{EventKind, ResultStatus, ToolCall, ToolResult, Transcript, TurnStatus};
use tidegate_policy::{CallId, Label};

impl Run {
    /// Takes in the results of all calls the step asked to run, in any order. The run adds the answers it gave
    /// itself, and does a tier switch that waited.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] if no results were asked for, and those of the transcript, which name each call
    /// that lacks a result or has one too many; nothing has changed then.
    pub fn on_results(
        &mut self,
        transcript: &mut Transcript,
        mut results: Vec<ToolResult>,
    ) -> Result<Advance, RunError> {
        let Phase::Tools { answers, switch } = &self.phase else {
            return Err(self.unexpected("results of tools"));
        };
        results.extend(answers.iter().cloned());
        let switch = switch.clone();
        self.close(transcript, results, switch, Draft::default())
    }

    /// Goes on after the process ended in the middle of the turn and run and transcript were loaded.
    ///
    /// `known` are results that were recorded before; calls in `begun` without one get an honest result of
    /// unknown outcome ([`ToolResult::interrupted`], under `label`) and are never run again. Calls that had not
    /// begun are still to be run. Doing it twice is doing it once.
    ///
    /// # Errors
    /// [`RunError::NotOpen`] for a known result of a call that is not open, and [`RunError::OutOfStep`] if the
    /// transcript is not the one the run was left with; nothing has changed then.
    pub fn on_resume(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        known: Vec<ToolResult>,
        begun: &BTreeSet<CallId>,
        facts: &dyn ToolFacts,
    ) -> Result<Advance, RunError> {
        let step = self.step(transcript, facts)?;
        let mut draft = Draft::default();
        let Phase::Tools { answers, switch } = &self.phase else {
            if matches!(self.phase, Phase::Model) {
                draft.events.push(EventKind::TurnResumed {
                    unknown_calls: Vec::new(),
                });
            }
            return Ok(draft.next(step));
        };
        let mut answers = answers.clone();
        let switch = switch.clone();
        let open = left_open(transcript, &known, &answers, switch.as_ref())?;
        answers.extend(
            known
                .into_iter()
                .filter(|result| open.iter().any(|call| call.id == result.call)),
        );
        let unknown: Vec<ToolResult> = open
            .iter()
            .filter(|call| begun.contains(&call.id) && answers.iter().all(|answer| answer.call != call.id))
            .map(|call| ToolResult::interrupted(call, label))
            .collect();
        let unknown_calls = unknown.iter().map(|result| result.call.clone()).collect();
        draft.events.push(EventKind::TurnResumed { unknown_calls });
        unknown.iter().for_each(|result| draft.answered(result));
        answers.extend(unknown);
        if open
            .iter()
            .all(|call| answers.iter().any(|answer| answer.call == call.id))
        {
            return self.close(transcript, answers, switch, draft);
        }
        self.phase = Phase::Tools { answers, switch };
        let step = self.step(transcript, facts)?;
        Ok(draft.next(step))
    }

    /// Ends the turn because somebody cancelled it. Open calls are answered: those in `known` with their
    /// results, those that had `begun` with an unknown outcome, the others as not run, under `label`. A tier
    /// switch that waited is not done. What was said meanwhile is appended. A turn that is over stays as it is.
    ///
    /// # Errors
    /// [`RunError::NotOpen`] for a known result of a call that is not open; nothing has changed then.
    pub fn on_cancel(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        known: Vec<ToolResult>,
        begun: &BTreeSet<CallId>,
    ) -> Result<Advance, RunError> {
        self.break_off(transcript, label, known, begun, &BreakOff::Cancelled)
    }

    /// Ends the turn because it took longer than `allowed`, with the status `error`. Open calls are answered as in
    /// [`on_cancel`](Self::on_cancel), and told why. The run has no clock: whoever drives it says when.
    ///
    /// # Errors
    /// As there.
    pub fn on_expiry(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        known: Vec<ToolResult>,
        begun: &BTreeSet<CallId>,
        allowed: Duration,
    ) -> Result<Advance, RunError> {
        self.break_off(transcript, label, known, begun, &BreakOff::Expired(allowed))
    }

    fn break_off(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        known: Vec<ToolResult>,
        begun: &BTreeSet<CallId>,
        why: &BreakOff,
    ) -> Result<Advance, RunError> {
        let mut draft = Draft::default();
        match &self.phase {
            Phase::Finished(outcome) => return Ok(draft.next(ended(outcome))),
            Phase::Model => {}
            Phase::Tools { answers, .. } => {
                // The switch is one of the calls that have not happened.
                left_open(transcript, &known, answers, None)?;
                let mut results = Vec::new();
                for call in transcript.open_calls() {
                    let is_its = |result: &&ToolResult| result.call == call.id;
                    if let Some(result) = answers.iter().find(is_its).or_else(|| known.iter().find(is_its)) {
                        results.push(result.clone());
                        continue;
                    }
                    let (status, told) = if begun.contains(&call.id) {
                        (ResultStatus::Unknown, why.told_of_begun())
                    } else {
                        (ResultStatus::NotRun, why.told_of_not_begun())
                    };
                    let result = ToolResult::text(call, status, label, told);
                    draft.answered(&result);
                    results.push(result);
                }
                draft
                    .appended
                    .extend(transcript.push_results(self.turn, results)?);
            }
        }
        self.release_waiting(transcript, &mut draft)?;
        let outcome = match why {
            BreakOff::Cancelled => self.outcome_now(TurnStatus::Cancelled),
            BreakOff::Expired(allowed) => Outcome {
                error: Some(text::expired(*allowed)),
                ..self.outcome_now(TurnStatus::Error)
            },
        };
        Ok(self.finish(outcome, draft))
    }

    /// Ends the turn because the model could not be called, or takes an answer back that may not leave: then
    /// the outcome loses it. What was said meanwhile is appended. A turn that ended otherwise stays as it is.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] while tools run: their failures are results, and a turn that has to end is
    /// cancelled.
    pub fn on_failure(&mut self, transcript: &mut Transcript, failure: Failure) -> Result<Advance, RunError> {
        let mut draft = Draft::default();
        match &self.phase {
            Phase::Tools { .. } => return Err(self.unexpected("a failure of the model")),
            Phase::Finished(outcome) => match outcome.status {
                TurnStatus::Success | TurnStatus::PendingQuestion => {}
                TurnStatus::AwaitingApproval
                | TurnStatus::Blocked
                | TurnStatus::Cancelled
                | TurnStatus::Error => return Ok(draft.next(ended(outcome))),
            },
            Phase::Model => self.release_waiting(transcript, &mut draft)?,
        }
        let outcome = self.outcome_now(failure.status.into());
        Ok(self.finish(
            Outcome {
                error: Some(failure.message),
                ..outcome
            },
            draft,
        ))
    }
}

/// Why a turn is broken off.
enum BreakOff {
    /// Somebody cancelled it.
    Cancelled,
    /// It took longer than this.
    Expired(Duration),
}

impl BreakOff {
    fn told_of_begun(&self) -> &'static str {
        match self {
            Self::Cancelled => text::CANCELLED_WHILE,
            Self::Expired(_) => text::EXPIRED_WHILE,
        }
    }

    fn told_of_not_begun(&self) -> &'static str {
        match self {
            Self::Cancelled => text::CANCELLED_BEFORE,
            Self::Expired(_) => text::EXPIRED_BEFORE,
        }
    }
}

/// The open calls that the run has no answer for, after a look whether all `known` results belong to calls
/// that are open, answered or not.
pub(super) fn left_open(
    transcript: &Transcript,
    known: &[ToolResult],
    answers: &[ToolResult],
    switch: Option<&TierSwitch>,
) -> Result<Vec<ToolCall>, RunError> {
    if let Some(stray) = known
        .iter()
        .find(|result| transcript.open_calls().all(|call| call.id != result.call))
    {
        return Err(RunError::NotOpen {
            call: stray.call.clone(),
        });
    }
    Ok(transcript
        .open_calls()
        .filter(|call| answers.iter().all(|answer| answer.call != call.id))
        .filter(|call| switch.is_none_or(|switch| switch.call != call.id))
        .cloned()
        .collect())
}
