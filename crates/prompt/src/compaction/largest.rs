//! What is too large when nothing helps.

use super::units::Sizes;
use crate::size::estimate_result;
use crate::{Fixed, Prices};
use std::fmt;
use std::sync::Arc;
use tidegate_message::{Author, Body, Entry, EntrySeq};
use tidegate_policy::{ToolName, escaped};

/// The part of a request that has the most tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LargestPart {
    /// The system prompt.
    SystemPrompt,
    /// The tools.
    Tools,
    /// A message of the user or of the program.
    UserMessage(EntrySeq),
    /// A summary of earlier messages.
    Summary(EntrySeq),
    /// A model's message: mostly the arguments of its calls.
    ModelMessage(EntrySeq),
    /// The result of one call.
    ToolOutput {
        /// The results.
        entry: EntrySeq,
        /// The tool.
        tool: ToolName,
    },
}

impl LargestPart {
    /// What can be done about it.
    fn advice(&self) -> &'static str {
        match self {
            Self::SystemPrompt => {
                "shorten the project file or the system message, or use a model with a larger window"
            }
            Self::Tools => "offer fewer tools, or use a model with a larger window",
            Self::UserMessage(_) => {
                "send less at once, or give it as a file; or use a model with a larger window"
            }
            Self::Summary(_) | Self::ModelMessage(_) => {
                "begin a new session, or use a model with a larger window"
            }
            Self::ToolOutput { .. } => "lower the cap of tool outputs, or use a model with a larger window",
        }
    }
}

impl fmt::Display for LargestPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemPrompt => f.write_str("the system prompt"),
            Self::Tools => f.write_str("the list of tools"),
            Self::UserMessage(entry) => write!(f, "user message {entry}"),
            Self::Summary(entry) => write!(f, "summary {entry}"),
            Self::ModelMessage(entry) => write!(f, "model message {entry}"),
            Self::ToolOutput { entry, tool } => {
                write!(f, "the output of {} in entry {entry}", escaped(tool.as_str()))
            }
        }
    }
}

/// Compaction that came to nothing, and what the matter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// What has the most tokens.
    pub largest: LargestPart,
    /// How many it has, about.
    pub largest_tokens: u64,
    /// How many the whole request has, about.
    pub tokens: u64,
    /// How many the model takes.
    pub window: u64,
    /// How many passes were made.
    pub passes: u32,
}

impl TooLarge {
    /// Whether the request may still be sent: it is over the threshold, yet within the window.
    pub fn fits(&self) -> bool {
        self.tokens < self.window
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            largest,
            largest_tokens,
            tokens,
            window,
            passes,
        } = self;
        if largest_tokens >= window {
            write!(
                f,
                "{largest} alone has about {largest_tokens} tokens, and the model takes {window}"
            )?;
        } else {
            write!(
                f,
                "compaction gained too little in {passes} passes: the request has about {tokens} tokens of the {window} \
                 that the model takes, and the largest part is {largest} with about {largest_tokens}"
            )?;
        }
        write!(f, "; {}", largest.advice())
    }
}

impl std::error::Error for TooLarge {}

/// The larger one of what every request has.
pub(crate) fn largest_fixed(fixed: Fixed) -> (LargestPart, u64) {
    if fixed.tools > fixed.system {
        (LargestPart::Tools, fixed.tools)
    } else {
        (LargestPart::SystemPrompt, fixed.system)
    }
}

/// The largest part of a request of these entries.
pub(super) fn largest(
    entries: &[Arc<Entry>],
    sizes: &Sizes,
    fixed: Fixed,
    prices: &Prices,
) -> (LargestPart, u64) {
    let mut largest = largest_fixed(fixed);
    let mut offer = |part: LargestPart, tokens: u64| {
        if tokens > largest.1 {
            largest = (part, tokens);
        }
    };
    for entry in entries {
        match &entry.body {
            Body::User(message) if message.author == Author::Summary => {
                offer(LargestPart::Summary(entry.seq), sizes.of(entry));
            }
            Body::User(_) => offer(LargestPart::UserMessage(entry.seq), sizes.of(entry)),
            Body::Assistant(_) => offer(LargestPart::ModelMessage(entry.seq), sizes.of(entry)),
            Body::Results(results) => {
                for result in &results.results {
                    let part = LargestPart::ToolOutput {
                        entry: entry.seq,
                        tool: result.name.clone(),
                    };
                    offer(part, estimate_result(result, prices));
                }
            }
        }
    }
    largest
}
