//! The three ways to run the one engine, as data.

use crate::{RunError, Schedule};
use serde::{Deserialize, Serialize};
use tidegate_message::{Limit, Warning};

/// Whose turn a run is, and by which rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Whose turn it is.
    pub name: ProfileName,
    /// How long it may go on.
    pub limit: TurnLimit,
    /// How the calls of one model message are run.
    pub schedule: Schedule,
    /// Whom the model may ask.
    pub asking: Asking,
    /// Whether `new_cognitive_level` is a tool of the loop. Where it is not, it is a name like any other,
    /// and whoever runs tools answers it.
    pub switches_tiers: bool,
}

impl Profile {
    /// The fewest tool calls a delegate can be given.
    pub const LEAST_DELEGATE_CALLS: u32 = 5;
    /// The most tool calls a delegate can be given.
    pub const MOST_DELEGATE_CALLS: u32 = 50;

    /// A session's own turn: `run`, `chat`, a turn over the API. By default 30 rounds.
    pub fn main(max_rounds: u32) -> Self {
        Self {
            name: ProfileName::Main,
            limit: TurnLimit::Rounds(max_rounds),
            schedule: Schedule::ReadOnlyTogether,
            asking: Asking::User,
            switches_tiers: true,
        }
    }

    /// One invocation of a stateful sub-agent: by default 25 tool calls, and 5 to 50.
    ///
    /// # Errors
    /// [`RunError::CallBudget`] for a budget outside that range.
    pub fn delegate(max_calls: u32) -> Result<Self, RunError> {
        let (least, most) = (Self::LEAST_DELEGATE_CALLS, Self::MOST_DELEGATE_CALLS);
        if !(least..=most).contains(&max_calls) {
            return Err(RunError::CallBudget {
                given: max_calls,
                least,
                most,
            });
        }
        Ok(Self {
            name: ProfileName::Delegate,
            limit: TurnLimit::Calls(max_calls),
            schedule: Schedule::OneByOne,
            asking: Asking::Caller,
            switches_tiers: true,
        })
    }

    /// A light sub-agent, at its caller's tier. By default 10 rounds.
    pub fn light(max_rounds: u32) -> Self {
        Self {
            name: ProfileName::Light,
            limit: TurnLimit::Rounds(max_rounds),
            schedule: Schedule::AllTogether,
            asking: Asking::Nobody,
            switches_tiers: false,
        }
    }

    /// The reservation under which an answer is given that the limit forced.
    pub(crate) fn limit_warning(&self) -> Warning {
        match (self.limit, self.name) {
            (TurnLimit::Calls(_), _) => Warning::BudgetExhausted,
            (TurnLimit::Rounds(_), ProfileName::Light) => Warning::MaxRoundsReached,
            (TurnLimit::Rounds(_), ProfileName::Main | ProfileName::Delegate) => Warning::RoundsExhausted,
        }
    }
}

/// Whose turn a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileName {
    /// A session's own.
    Main,
    /// A stateful sub-agent's (`delegate_to_agent`).
    Delegate,
    /// A light sub-agent's (`ask_subagent`).
    Light,
}

/// How long a turn may go on. What does not count: a reply without calls, a reply that only switches the
/// tier, and the answer a limit forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    /// So many model messages have their calls run; the next that asks for tools meets the limit.
    Rounds(u32),
    /// So many calls are run; a message that asks for more than is left meets the limit with all its calls.
    Calls(u32),
}

impl TurnLimit {
    /// What is counted.
    pub fn kind(self) -> Limit {
        match self {
            Self::Rounds(_) => Limit::Rounds,
            Self::Calls(_) => Limit::Calls,
        }
    }

    /// How much is allowed.
    pub fn allowed(self) -> u32 {
        match self {
            Self::Rounds(allowed) | Self::Calls(allowed) => allowed,
        }
    }
}

/// Whom the model may ask while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// The user, with the tool `ask_user`: the loop sees a call like any other.
    User,
    /// The caller: a message without calls whose last line is `QUESTION: …` ends the turn with that question.
    Caller,
    /// Nobody.
    Nobody,
}
