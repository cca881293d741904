//! What a model's reply brings about.

use super::{Draft, Forced, Phase, Run};
use crate::decide::{Decision, Said, Spent, decide};
use crate::{Advance, Outcome, RunError, ToolFacts, text};
use tidegate_message::{
    Reply, ResultStatus, ToolCall, ToolResult, Transcript, TurnStatus, UserMessage, Warning,
};
use tidegate_policy::Label;

impl Run {
    /// Takes in the model's reply. It is stored under `label`, and so is what the run itself answers to it.
    ///
    /// What it means is exactly one of these, looked for in this order:
    ///
    /// 1. **Switch tier**: a valid `new_cognitive_level` call and no other. Its result is the plan. It costs
    ///    neither budget nor a round; after [`MAX_TIER_SWITCHES`](crate::MAX_TIER_SWITCHES) of a turn, asking
    ///    for one more is a failed call.
    /// 2. **Question** ([`Asking::Caller`](crate::Asking::Caller)): no call, and the last line that is not
    ///    empty reads `QUESTION: …`.
    /// 3. **Final**: no call. A reply without text is answered once in a turn with a reminder; the second ends
    ///    the turn with an error, and so does one that the provider's filter took away.
    /// 4. **Circuit breaker**: the calls exceed the [`TurnLimit`](crate::TurnLimit). All are answered as not
    ///    run, a notice follows, and the model is called once more, to answer. Calls it makes then are not run
    ///    either. The answer is that reply's text, else the last text of the turn.
    /// 5. **Run tools**. A tier switch among them is done when the others have their results. A switch that is
    ///    not possible, and a call in the middle of which the reply was cut off, are failed calls: the run
    ///    answers them and they cost.
    ///
    /// Two more things make the model answer, found when results come in: the owner refused
    /// [`MAX_REFUSALS`](crate::MAX_REFUSALS) calls, and the same call had the same result
    /// [`MAX_REPEATS`](crate::MAX_REPEATS) times although the model was told so. The reply then is as after 4.
    ///
    /// If messages wait ([`steer`](Self::steer)), a reply without calls is not the last one: they are appended
    /// and the model is called again.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] if no reply was asked for, and those of the transcript; nothing has changed
    /// then.
    pub fn on_reply(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        reply: Reply,
        facts: &dyn ToolFacts,
    ) -> Result<Advance, RunError> {
        if !matches!(self.phase, Phase::Model) {
            return Err(self.unexpected("a model's reply"));
        }
        let said = Said::of(&reply);
        let usage = reply.usage;
        let mut draft = Draft::default();
        draft
            .appended
            .push(transcript.push_reply(self.turn, label, reply)?);
        self.rounds = self.rounds.saturating_add(1);
        self.usage += usage;
        let calls: Vec<ToolCall> = transcript.open_calls().cloned().collect();

        if let Some(forced) = self.forced {
            return self.on_forced_answer(forced, transcript, label, said, calls, draft);
        }
        if calls.is_empty() && !self.waiting.is_empty() {
            self.release_waiting(transcript, &mut draft)?;
            return Ok(draft.next(self.call_model()));
        }
        let spent = Spent {
            tool_rounds: self.tool_rounds,
            calls: self.calls_used,
            switches: self.switches,
        };
        match decide(&self.profile, &self.routing, &spent, &said, &calls, label) {
            Decision::SwitchTier(switch) => self.close(transcript, Vec::new(), Some(switch), draft),
            Decision::Question(question) => {
                let outcome = self.outcome_now(TurnStatus::PendingQuestion);
                let outcome = Outcome {
                    answer: said.text,
                    question: Some(question),
                    ..outcome
                };
                Ok(self.finish(outcome, draft))
            }
            Decision::Final => {
                let warning = said.is_incomplete().then_some(Warning::AnswerIncomplete);
                let outcome = self.outcome_now(TurnStatus::Success);
                Ok(self.finish(
                    Outcome {
                        answer: said.text,
                        warning,
                        ..outcome
                    },
                    draft,
                ))
            }
            Decision::Withheld => Ok(self.finish_with_error(text::WITHHELD_ANSWER, draft)),
            Decision::Silent if self.reminded => Ok(self.finish_with_error(text::SILENT_MODEL, draft)),
            Decision::Silent => {
                self.reminded = true;
                let reminder = UserMessage::program(text::EMPTY_REPLY);
                draft
                    .appended
                    .push(transcript.push_user(self.turn, label, reminder)?);
                Ok(draft.next(self.call_model()))
            }
            Decision::Limited => self.on_limit(transcript, label, &calls, draft),
            Decision::RunTools {
                answers,
                switch,
                cost,
            } => {
                self.calls_used = self.calls_used.saturating_add(cost);
                self.tool_rounds = self.tool_rounds.saturating_add(1);
                answers.iter().for_each(|answer| draft.answered(answer));
                let answered = answers.len().saturating_add(usize::from(switch.is_some()));
                if answered == calls.len() {
                    return self.close(transcript, answers, switch, draft);
                }
                self.phase = Phase::Tools { answers, switch };
                let step = self.step(transcript, facts)?;
                Ok(draft.next(step))
            }
        }
    }

    /// The circuit breaker: nothing is run, the model is told, and called once more.
    fn on_limit(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        calls: &[ToolCall],
        mut draft: Draft,
    ) -> Result<Advance, RunError> {
        let forced = Forced::Limit;
        self.forced = Some(forced);
        self.tell_limited(forced, &mut draft);
        self.answer_not_run(forced, transcript, label, calls, &mut draft)?;
        self.release_waiting(transcript, &mut draft)?;
        self.push_notice(forced, transcript, label, &mut draft)?;
        Ok(draft.next(self.call_model()))
    }

    /// The reply after the notice. Calls in it get results like all others, so that the message can be kept as
    /// the model said it, but they are not run.
    fn on_forced_answer(
        &mut self,
        forced: Forced,
        transcript: &mut Transcript,
        label: Label,
        said: Said,
        calls: Vec<ToolCall>,
        mut draft: Draft,
    ) -> Result<Advance, RunError> {
        if !calls.is_empty() {
            self.answer_not_run(forced, transcript, label, &calls, &mut draft)?;
        }
        if !self.waiting.is_empty() {
            self.release_waiting(transcript, &mut draft)?;
            return Ok(draft.next(self.call_model()));
        }
        let answer = if said.is_silent() {
            transcript
                .last_text(self.turn)
                .unwrap_or_else(|| text::no_answer(forced, self.profile.limit))
        } else {
            said.text
        };
        let outcome = self.outcome_now(TurnStatus::Success);
        Ok(self.finish(Outcome { answer, ..outcome }, draft))
    }

    fn answer_not_run(
        &self,
        forced: Forced,
        transcript: &mut Transcript,
        label: Label,
        calls: &[ToolCall],
        draft: &mut Draft,
    ) -> Result<(), RunError> {
        let why = text::not_run(forced, self.profile.limit);
        let results: Vec<ToolResult> = calls
            .iter()
            .map(|call| ToolResult::text(call, ResultStatus::NotRun, label, why))
            .collect();
        results.iter().for_each(|result| draft.answered(result));
        draft
            .appended
            .extend(transcript.push_results(self.turn, results)?);
        Ok(())
    }

    fn finish_with_error(&mut self, error: &str, draft: Draft) -> Advance {
        let outcome = Outcome {
            error: Some(error.into()),
            ..self.outcome_now(TurnStatus::Error)
        };
        self.finish(outcome, draft)
    }
}
