//! Calls that wait for the owner.

use super::inputs::left_open;
use super::{Draft, Phase, Run};
use crate::{Advance, Outcome, RunError, Step};
use tidegate_message::{ToolCall, ToolResult, Transcript, TurnStatus};
use tidegate_policy::CallId;

impl Run {
    /// Takes in that some of the calls the step asked to run wait for the owner's approval, and the results of all
    /// the others. The results are kept in the run until the message's calls are all answered; calls that wait do
    /// not hold up the others of their message. If none waits, this is [`on_results`](Self::on_results).
    ///
    /// The turn is not over: store the run, tell [`waiting_outcome`](Self::waiting_outcome) and stop. When the
    /// owner has decided, also after run and transcript were loaded again, [`step`](Self::step) asks to run what
    /// is still open. Run what was granted, answer what was refused, and come back here if some wait still.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] if no results were asked for, [`RunError::NotOpen`] for a result of a call that is
    /// not open, [`RunError::NotWaiting`] if a call is left that neither has a result nor waits, or one is said to
    /// wait that is not open; nothing has changed then.
    pub fn on_waiting(
        &mut self,
        transcript: &mut Transcript,
        known: Vec<ToolResult>,
        waiting: &[CallId],
    ) -> Result<Advance, RunError> {
        let Phase::Tools { answers, switch } = &self.phase else {
            return Err(self.unexpected("calls that wait"));
        };
        if waiting.is_empty() {
            return self.on_results(transcript, known);
        }
        let open = left_open(transcript, &known, answers, switch.as_ref())?;
        let its = |call: &ToolCall| known.iter().find(|result| result.call == call.id);
        let results: Vec<ToolResult> = open.iter().filter_map(|call| its(call).cloned()).collect();
        let calls: Vec<ToolCall> = open.iter().filter(|call| its(call).is_none()).cloned().collect();
        let unexplained = calls
            .iter()
            .map(|call| &call.id)
            .find(|id| !waiting.contains(*id))
            .or_else(|| waiting.iter().find(|id| calls.iter().all(|call| call.id != **id)));
        if let Some(call) = unexplained {
            return Err(RunError::NotWaiting { call: call.clone() });
        }
        if let Phase::Tools { answers, .. } = &mut self.phase {
            answers.extend(results);
        }
        Ok(Draft::default().next(Step::Approve { calls }))
    }

    /// How the turn stands while calls wait: `awaiting_approval`, with the counters of now. The run goes on from
    /// there, so this is no end of the turn.
    pub fn waiting_outcome(&self) -> Outcome {
        self.outcome_now(TurnStatus::AwaitingApproval)
    }
}
