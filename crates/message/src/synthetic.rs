//! Results that no tool gave.

use crate::{ResultStatus, ToolCall, ToolResult};
use tidegate_policy::Label;

/// What a model is told of a call that may or may not have happened because the process ended meanwhile.
///
/// Such a call is never run again by itself: it may have had its effect.
pub const INTERRUPTED_RESULT: &str = "the process ended before the result was recorded; it may have happened";

impl ToolResult {
    /// The honest answer to a call whose outcome a crash took away: status [`ResultStatus::Unknown`] and the
    /// text [`INTERRUPTED_RESULT`].
    pub fn interrupted(call: &ToolCall, label: Label) -> Self {
        Self::text(call, ResultStatus::Unknown, label, INTERRUPTED_RESULT)
    }
}
