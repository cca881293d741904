//! A model's reply as a provider assembled it, before the transcript takes it in.

use crate::{ModelId, Usage, Verbatim};
use serde::{Deserialize, Serialize};
use tidegate_policy::ToolName;

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It had said everything.
    Stop,
    /// It wants tools run.
    ToolCalls,
    /// It ran into the output limit.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// One part of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// Visible text.
    Text(String),
    /// Thinking, as far as it can be read.
    Reasoning(String),
    /// A tool call.
    Call {
        /// The provider's id, unique within the reply (the provider crate sees to it).
        provider_id: String,
        /// The tool's name.
        name: ToolName,
        /// The arguments as written; empty for none.
        arguments: String,
    },
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Which model said it.
    pub model: ModelId,
    /// Its parts, in order. No empty texts.
    pub parts: Vec<ReplyPart>,
    /// The provider's own form.
    pub verbatim: Option<Verbatim>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub finish: FinishReason,
}
