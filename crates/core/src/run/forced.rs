//! What makes the model answer although it would go on: the limit, refusals of the owner, repetition.

use super::repeats::Repeated;
use super::{Draft, Run};
use crate::{RunError, text};
use serde::{Deserialize, Serialize};
use tidegate_message::{EventKind, Limit, Transcript, UserMessage, Warning};
use tidegate_policy::Label;

/// How many calls the owner refuses in one turn before the model has to answer.
pub const MAX_REFUSALS: u32 = 3;

/// How often the same call has the same result in one turn before the model is told, and, once told, before it
/// has to answer.
pub const MAX_REPEATS: u32 = 3;

/// Why the model may only answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Forced {
    /// The profile's limit was met.
    Limit,
    /// The owner refused [`MAX_REFUSALS`] calls.
    Refusals,
    /// It went on repeating itself after it was told.
    Repeating,
}

impl Run {
    /// Tells that the owner refused so many of the calls whose results come next: a refusal by a person, or a
    /// request whose time was up, not one by a rule. After [`MAX_REFUSALS`] of them in a turn the model is called
    /// once more, to answer; the warning is `approvals_refused`.
    pub fn on_refusals(&mut self, refusals: u32) {
        self.refusals = self.refusals.saturating_add(refusals);
    }

    /// Looks whether the unit that was just closed makes the model answer, or earns it a word.
    pub(super) fn guard(
        &mut self,
        transcript: &mut Transcript,
        label: Label,
        repeated: Option<Repeated>,
        draft: &mut Draft,
    ) -> Result<(), RunError> {
        if self.forced.is_some() {
            return Ok(());
        }
        if self.refusals >= MAX_REFUSALS {
            return self.force(Forced::Refusals, transcript, label, draft);
        }
        match repeated {
            None => Ok(()),
            Some(_) if self.nudged => self.force(Forced::Repeating, transcript, label, draft),
            Some(Repeated { tool, times }) => {
                self.nudged = true;
                let nudge = UserMessage::program(text::nudge(&tool, times));
                draft
                    .appended
                    .push(transcript.push_user(self.turn, label, nudge)?);
                Ok(())
            }
        }
    }

    /// From now on the model may only answer, and is told why.
    fn force(
        &mut self,
        forced: Forced,
        transcript: &mut Transcript,
        label: Label,
        draft: &mut Draft,
    ) -> Result<(), RunError> {
        self.forced = Some(forced);
        self.tell_limited(forced, draft);
        self.push_notice(forced, transcript, label, draft)
    }

    pub(super) fn tell_limited(&self, forced: Forced, draft: &mut Draft) {
        let (limit, allowed) = match forced {
            Forced::Limit => (self.profile.limit.kind(), self.profile.limit.allowed()),
            Forced::Refusals => (Limit::Refusals, MAX_REFUSALS),
            Forced::Repeating => (Limit::Repeats, MAX_REPEATS),
        };
        draft.events.push(EventKind::TurnLimited { limit, allowed });
    }

    pub(super) fn push_notice(
        &self,
        forced: Forced,
        transcript: &mut Transcript,
        label: Label,
        draft: &mut Draft,
    ) -> Result<(), RunError> {
        let notice = UserMessage::program(text::notice(forced, self.profile.limit));
        draft
            .appended
            .push(transcript.push_user(self.turn, label, notice)?);
        Ok(())
    }

    /// The reservation under which an answer is given that something forced.
    pub(super) fn forced_warning(&self) -> Option<Warning> {
        self.forced.map(|forced| match forced {
            Forced::Limit => self.profile.limit_warning(),
            Forced::Refusals => Warning::ApprovalsRefused,
            Forced::Repeating => Warning::Repeating,
        })
    }
}
