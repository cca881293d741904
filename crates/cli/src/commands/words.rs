//! States in the words of people.

use tidegate_message::{BreakCause, CompactionTrigger, ResultStatus};

/// How a call ended, in a word or two.
pub(super) fn word(status: ResultStatus) -> &'static str {
    match status {
        ResultStatus::Ok => "ok",
        ResultStatus::Error => "error",
        ResultStatus::Refused => "refused",
        ResultStatus::Withheld => "ran, result withheld",
        ResultStatus::NotRun => "not run",
        ResultStatus::Unknown => "outcome unknown",
    }
}

/// Why a conversation is made shorter.
pub(super) fn trigger(cause: CompactionTrigger) -> &'static str {
    match cause {
        CompactionTrigger::Threshold => "it has become long",
        CompactionTrigger::Overflow => "the provider says that it does not fit",
        CompactionTrigger::Manual => "asked for",
    }
}

/// Why a request does not begin with the one before it.
pub(super) fn broken_by(cause: BreakCause) -> &'static str {
    match cause {
        BreakCause::Compaction => "compaction",
        BreakCause::PromptRebuild => "a new system prompt",
        BreakCause::ModelSwitch => "another model",
        BreakCause::AppendedTool => "a new tool",
        BreakCause::Rewrite => "a rewritten message",
        BreakCause::Unannounced => "nothing that was announced",
    }
}
