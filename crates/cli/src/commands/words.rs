//! States in the words of people.

use tidegate_message::ResultStatus;

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
