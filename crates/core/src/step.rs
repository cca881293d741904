//! What a run says: the next step, and how a turn ended.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tidegate_message::{Entry, EventKind, Tier, ToolCall, TurnStatus, Usage, Warning};

/// What an input brought about.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// The entries appended to the transcript, in order.
    pub appended: Vec<Arc<Entry>>,
    /// What the run decided, in order.
    pub events: Vec<EventKind>,
    /// What to do next.
    pub step: Step,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Call the model with the whole transcript; then [`Run::on_reply`](crate::Run::on_reply).
    CallModel {
        /// The tier to call; none if the session's model is fixed by name.
        tier: Option<Tier>,
        /// Which model call of the turn this is, from 1. A retry of the same call is not another one.
        round: u32,
        /// A limit is reached: send the same tools, with tool choice "none".
        must_answer: bool,
    },
    /// Run these calls: one batch after another, those of a batch together; then
    /// [`Run::on_results`](crate::Run::on_results) with all results.
    RunTools {
        /// The batches; none is empty.
        batches: Vec<Vec<ToolCall>>,
    },
    /// These calls wait for the owner; the others of their message are answered. Store the run, tell
    /// [`Run::waiting_outcome`](crate::Run::waiting_outcome) and stop: the turn goes on when the owner has decided.
    /// Only [`Run::on_waiting`](crate::Run::on_waiting) says this; asked again, the run says to run these calls.
    Approve {
        /// The calls, in order; never empty.
        calls: Vec<ToolCall>,
    },
    /// The tier was switched, and the call for it is answered. Nothing is to be done but to go on:
    /// [`Run::step`](crate::Run::step) gives the model call at the new tier already.
    SwitchTier {
        /// The tier before.
        from: Tier,
        /// The tier from now on.
        to: Tier,
        /// What the model wrote for the next one. It is the call's result, too.
        plan: String,
        /// Why, as the model said.
        reason: Option<String>,
    },
    /// The turn ended with a question to the caller ([`Run::outcome`](crate::Run::outcome) has the rest). The
    /// answer begins a new turn on the same transcript.
    Ask {
        /// The question.
        question: String,
    },
    /// The turn ended.
    Finish(Outcome),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// How.
    pub status: TurnStatus,
    /// What the model said at last; empty unless the status is `Success` or `PendingQuestion`.
    pub answer: String,
    /// Tool calls that were to be run, failed ones included. A valid tier switch is none.
    pub calls_used: u32,
    /// Replies of the model.
    pub rounds: u32,
    /// What they cost.
    pub usage: Usage,
    /// The reservation about the answer.
    pub warning: Option<Warning>,
    /// The question to the caller, if the status is `PendingQuestion`.
    pub question: Option<String>,
    /// What went wrong, if the status is `Error` or `Blocked`.
    pub error: Option<String>,
}

impl Outcome {
    /// The fact to be recorded when the turn is over.
    pub fn event(&self) -> EventKind {
        EventKind::TurnFinished {
            status: self.status,
            warning: self.warning,
            error: self.error.clone(),
            usage: self.usage,
        }
    }
}

/// Why a turn cannot go on, or its answer cannot leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of end it makes.
    pub status: FailureStatus,
    /// What went wrong and what can be done, for people.
    pub message: String,
}

/// The kinds of ends a failure makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureStatus {
    /// Something did not work: no provider answered, say.
    Error,
    /// A flow was refused: no provider is cleared for the context, or the answer may not leave.
    Blocked,
}

impl Failure {
    /// Something did not work.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            status: FailureStatus::Error,
            message: message.into(),
        }
    }

    /// A flow was refused.
    pub fn blocked(message: impl Into<String>) -> Self {
        Self {
            status: FailureStatus::Blocked,
            message: message.into(),
        }
    }
}

impl From<FailureStatus> for TurnStatus {
    fn from(status: FailureStatus) -> Self {
        match status {
            FailureStatus::Error => Self::Error,
            FailureStatus::Blocked => Self::Blocked,
        }
    }
}
