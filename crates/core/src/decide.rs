//! The pure step function: what a model's reply means.

use crate::routing::{MAX_TIER_SWITCHES, SwitchRequest};
use crate::run::TierSwitch;
use crate::{Asking, Profile, Routing, TurnLimit, text};
use tidegate_message::{FinishReason, Reply, ReplyPart, ResultStatus, ToolCall, ToolResult};
use tidegate_policy::Label;
use tidegate_tools::NEW_COGNITIVE_LEVEL;

/// What a reply means. Exactly one of these, looked for in this order.
pub(crate) enum Decision {
    /// A valid tier switch and no other call.
    SwitchTier(TierSwitch),
    /// No call, and a question to the caller in the last line.
    Question(String),
    /// No call, but a text.
    Final,
    /// No call and no text: the provider filtered it.
    Withheld,
    /// No call and no text.
    Silent,
    /// Calls, and more than the limit allows.
    Limited,
    /// Calls to run.
    RunTools {
        /// Calls that are answered without being run.
        answers: Vec<ToolResult>,
        /// A valid tier switch beside them.
        switch: Option<TierSwitch>,
        /// How many calls of the budget they cost.
        cost: u32,
    },
}

/// What of a reply the decision needs besides its calls.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) finish: FinishReason,
    /// The model was stopped, perhaps, in the middle of its last call.
    last_call_may_be_cut: bool,
}

impl Said {
    pub(crate) fn of(reply: &Reply) -> Self {
        let text = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                ReplyPart::Text(text) => Some(text.as_str()),
                ReplyPart::Reasoning(_) | ReplyPart::Call { .. } => None,
            })
            .collect();
        let ends_in_call = matches!(reply.parts.last(), Some(ReplyPart::Call { .. }));
        Self {
            text,
            finish: reply.finish,
            last_call_may_be_cut: ends_in_call && stopped_early(reply.finish),
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether the text ends before its end.
    pub(crate) fn is_incomplete(&self) -> bool {
        stopped_early(self.finish)
    }
}

fn stopped_early(finish: FinishReason) -> bool {
    match finish {
        FinishReason::Length | FinishReason::ContentFilter => true,
        FinishReason::Stop | FinishReason::ToolCalls => false,
    }
}

/// The counters a decision looks at.
pub(crate) struct Spent {
    pub(crate) tool_rounds: u32,
    pub(crate) calls: u32,
    pub(crate) switches: u32,
}

/// What the reply means. `label` is that of the reply, and of what is answered to it.
pub(crate) fn decide(
    profile: &Profile,
    routing: &Routing,
    spent: &Spent,
    said: &Said,
    calls: &[ToolCall],
    label: Label,
) -> Decision {
    if calls.is_empty() {
        return without_calls(profile, said);
    }
    let (answers, switch) = answered_here(profile, routing, spent, said, calls, label);
    let free = usize::from(switch.is_some());
    let cost = u32::try_from(calls.len().saturating_sub(free)).unwrap_or(u32::MAX);
    match switch {
        Some(switch) if cost == 0 => Decision::SwitchTier(switch),
        switch if within(profile.limit, spent, cost) => Decision::RunTools {
            answers,
            switch,
            cost,
        },
        _ => Decision::Limited,
    }
}

fn without_calls(profile: &Profile, said: &Said) -> Decision {
    let question = match profile.asking {
        Asking::Caller => question(&said.text),
        Asking::User | Asking::Nobody => None,
    };
    match question {
        Some(question) => Decision::Question(question.to_owned()),
        None if !said.is_silent() => Decision::Final,
        None if said.finish == FinishReason::ContentFilter => Decision::Withheld,
        None => Decision::Silent,
    }
}

/// The question in the last line that is not empty, if it is one.
fn question(text: &str) -> Option<&str> {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    last.strip_prefix("QUESTION:")
        .map(str::trim)
        .filter(|question| !question.is_empty())
}

fn within(limit: TurnLimit, spent: &Spent, cost: u32) -> bool {
    match limit {
        TurnLimit::Rounds(allowed) => spent.tool_rounds < allowed,
        TurnLimit::Calls(allowed) => spent
            .calls
            .checked_add(cost)
            .is_some_and(|calls| calls <= allowed),
    }
}

/// The calls the loop answers itself: those that are refused, and the valid tier switch, if there is one.
fn answered_here(
    profile: &Profile,
    routing: &Routing,
    spent: &Spent,
    said: &Said,
    calls: &[ToolCall],
    label: Label,
) -> (Vec<ToolResult>, Option<TierSwitch>) {
    let is_switch = |call: &&ToolCall| profile.switches_tiers && call.name.as_str() == NEW_COGNITIVE_LEVEL;
    let switches = calls.iter().filter(is_switch).count();
    let last = calls.last().map(|call| &call.id);
    let mut answers = Vec::new();
    let mut valid = None;
    for call in calls {
        // Cut before its first argument, a call looks like one that needs none.
        let is_cut = said.last_call_may_be_cut
            && last == Some(&call.id)
            && (call.arguments.trim().is_empty() || call.parse_arguments().is_err());
        if is_cut {
            answers.push(ToolResult::text(
                call,
                ResultStatus::NotRun,
                label,
                text::CUT_CALL,
            ));
        } else if is_switch(&call) {
            let request = if switches > 1 {
                Err(text::several_switches(&routing.targets()))
            } else {
                routing.request(call).and_then(|request| {
                    if spent.switches < MAX_TIER_SWITCHES {
                        Ok(request)
                    } else {
                        Err(text::too_many_switches(MAX_TIER_SWITCHES))
                    }
                })
            };
            match request {
                Ok(SwitchRequest { to, plan, reason }) => {
                    valid = Some(TierSwitch {
                        call: call.id.clone(),
                        label,
                        to,
                        plan,
                        reason,
                    });
                }
                Err(why) => answers.push(ToolResult::text(call, ResultStatus::Error, label, why)),
            }
        }
    }
    (answers, valid)
}
