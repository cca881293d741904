//! Whether one request goes on where the one before ended.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use tidegate_message::ModelId;

/// The parts of a request as they are sent, in the order in which a provider's cache reads them. Without cache markers
/// and constant fields after the messages.
#[derive(Clone, Debug)]
pub struct EncodedRequest<'a> {
    /// Who it goes to.
    pub model: &'a ModelId,
    /// The tools.
    pub tools: &'a [Bytes],
    /// The system prompt.
    pub system: &'a [u8],
    /// The messages.
    pub messages: &'a [Bytes],
}

/// Why a request does not go on where the one before ended. In JSON as in [`as_str`](Self::as_str).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixBreakCause {
    /// Earlier messages were summed up or shortened.
    Compaction,
    /// The system prompt was built again, on request or by a reset.
    PromptRebuild,
    /// Another model is called.
    ModelSwitch,
    /// A tool was added to the end of the tools.
    AppendedTool,
    /// A stored message was rewritten: redacted, say.
    Rewrite,
    /// Nothing was announced that explains it: a mistake of the program.
    Unannounced,
}

impl PrefixBreakCause {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::PromptRebuild => "prompt_rebuild",
            Self::ModelSwitch => "model_switch",
            Self::AppendedTool => "appended_tool",
            Self::Rewrite => "rewrite",
            Self::Unannounced => "unannounced",
        }
    }

    /// Whether it can explain a break in `part`.
    fn explains(self, part: PrefixPart) -> bool {
        match self {
            Self::Compaction => matches!(part, PrefixPart::System | PrefixPart::Message(_)),
            Self::PromptRebuild => part == PrefixPart::System,
            Self::ModelSwitch => true,
            Self::AppendedTool => matches!(part, PrefixPart::Tool(_)),
            Self::Rewrite => matches!(part, PrefixPart::Message(_)),
            Self::Unannounced => false,
        }
    }
}

impl fmt::Display for PrefixBreakCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixPart {
    /// Not the bytes but whom they go to.
    Model,
    /// A tool, counted from 0.
    Tool(usize),
    /// The system prompt.
    System,
    /// A message, counted from 0.
    Message(usize),
}

impl fmt::Display for PrefixPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("the model"),
            Self::Tool(index) => write!(f, "tool {index}"),
            Self::System => f.write_str("the system prompt"),
            Self::Message(index) => write!(f, "message {index}"),
        }
    }
}

/// Where the next request leaves the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixBreak {
    /// The first part that differs.
    pub part: PrefixPart,
    /// The first byte of that part that differs, from 0.
    pub at: u64,
    /// Bytes of the request before that are the same.
    pub kept: u64,
    /// Bytes of the request before in all.
    pub total: u64,
    /// Why.
    pub cause: PrefixBreakCause,
}

impl PrefixBreak {
    /// About how many tokens the break costs: those of the request before, of which `tokens` were counted or
    /// estimated, that the cache would have held and that are computed anew, by their share of the bytes.
    pub fn tokens_lost(&self, tokens: u64) -> u64 {
        let lost = u128::from(self.total.saturating_sub(self.kept));
        let share = u128::from(tokens).saturating_mul(lost) / u128::from(self.total.max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// How two requests relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestComparison {
    /// The next begins with all of the one before.
    Extends {
        /// How many messages it adds.
        added: usize,
    },
    /// It does not.
    Breaks(PrefixBreak),
}

/// Compares the request `previous` with the one after it. `announced` are the exceptions that happened between them; one
/// that fits becomes the cause of a break, and a break that none of them explains is
/// [`PrefixBreakCause::Unannounced`].
///
/// Parts that share their memory are equal without a look, so that this costs little when entries are encoded once.
pub fn compare_requests(
    previous: &EncodedRequest<'_>,
    next: &EncodedRequest<'_>,
    announced: &[PrefixBreakCause],
) -> RequestComparison {
    let mut kept = 0_u64;
    let Some((part, at)) = first_difference(previous, next, &mut kept) else {
        return RequestComparison::Extends {
            added: next.messages.len().saturating_sub(previous.messages.len()),
        };
    };
    let seen = match part {
        PrefixPart::Model => Some(PrefixBreakCause::ModelSwitch),
        // All tools that were there still are, and more follow.
        PrefixPart::Tool(index) if index == previous.tools.len() => Some(PrefixBreakCause::AppendedTool),
        PrefixPart::Tool(_) | PrefixPart::System | PrefixPart::Message(_) => None,
    };
    let cause = seen
        .or_else(|| announced.iter().copied().find(|cause| cause.explains(part)))
        .unwrap_or(PrefixBreakCause::Unannounced);
    RequestComparison::Breaks(PrefixBreak {
        part,
        at,
        kept,
        total: size(previous),
        cause,
    })
}

fn size(request: &EncodedRequest<'_>) -> u64 {
    request
        .tools
        .iter()
        .chain(request.messages)
        .map(|part| part.len() as u64)
        .fold(request.system.len() as u64, u64::saturating_add)
}

/// The first part that differs, and where in it; counts the bytes before it in `kept`.
fn first_difference(
    previous: &EncodedRequest<'_>,
    next: &EncodedRequest<'_>,
    kept: &mut u64,
) -> Option<(PrefixPart, u64)> {
    if previous.model != next.model {
        return Some((PrefixPart::Model, 0));
    }
    if let Some((index, at)) = rows(previous.tools, next.tools, kept) {
        return Some((PrefixPart::Tool(index), at));
    }
    // Something stands after the tools, so more of them break the prefix as much as fewer.
    if next.tools.len() > previous.tools.len() {
        return Some((PrefixPart::Tool(previous.tools.len()), 0));
    }
    if let Some(at) = difference(previous.system, next.system) {
        *kept = kept.saturating_add(at);
        return Some((PrefixPart::System, at));
    }
    *kept = kept.saturating_add(previous.system.len() as u64);
    rows(previous.messages, next.messages, kept).map(|(index, at)| (PrefixPart::Message(index), at))
}

/// The first of `previous` that is not the same in `next`.
fn rows(previous: &[Bytes], next: &[Bytes], kept: &mut u64) -> Option<(usize, u64)> {
    for (index, before) in previous.iter().enumerate() {
        let now: &[u8] = next.get(index).map_or(&[], AsRef::as_ref);
        if next.get(index).is_none() {
            return Some((index, 0));
        }
        if let Some(at) = difference(before, now) {
            *kept = kept.saturating_add(at);
            return Some((index, at));
        }
        *kept = kept.saturating_add(before.len() as u64);
    }
    None
}

fn difference(before: &[u8], now: &[u8]) -> Option<u64> {
    if std::ptr::eq(before, now) || before == now {
        return None;
    }
    let same = before
        .iter()
        .zip(now)
        .take_while(|(before, now)| before == now)
        .count();
    Some(same as u64)
}
