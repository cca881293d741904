//! What can go wrong with a run itself, as opposed to what goes wrong in its turn.

use tidegate_message::TranscriptError;
use tidegate_policy::CallId;

/// A run that was fed wrongly, or does not fit its transcript. The run and, unless said otherwise, the
/// transcript are as they were before.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The transcript refused what was to be appended.
    #[error("the transcript does not take it")]
    Transcript(#[from] TranscriptError),
    /// An input of another kind than the step asked for.
    #[error("the run got {given} while it {phase}; ask it for its step and do that")]
    Unexpected {
        /// What came.
        given: &'static str,
        /// What the run was doing.
        phase: &'static str,
    },
    /// A result for a call that is not open.
    #[error("there is a result for call {call}, but no such call is open")]
    NotOpen {
        /// The call.
        call: CallId,
    },
    /// Calls that were said to wait are not those that are left.
    #[error("call {call} neither has a result nor waits, or it is said to wait and is not open")]
    NotWaiting {
        /// The call.
        call: CallId,
    },
    /// Steering that says nothing.
    #[error("the message says nothing; it needs at least one part that is not empty text")]
    EmptyMessage,
    /// Run and transcript were not stored together.
    #[error(
        "the run {phase}, but {transcript}; a run and its transcript have to be stored in one transaction"
    )]
    OutOfStep {
        /// What the run is doing.
        phase: &'static str,
        /// What the transcript looks like.
        transcript: &'static str,
    },
    /// A budget of tool calls outside the range.
    #[error("a delegate's budget of {given} tool calls is out of range; write {least} to {most}")]
    CallBudget {
        /// What was asked for.
        given: u32,
        /// The least there is.
        least: u32,
        /// The most there is.
        most: u32,
    },
    /// A saved run of a form that is not known here.
    #[error(
        "the saved run has form {found}, and this version knows forms 1 to {known}; finish it with the version of \
         tidegate that saved it, or a newer one"
    )]
    UnknownVersion {
        /// Its form.
        found: u32,
        /// The newest form known here.
        known: u32,
    },
    /// A saved run that cannot be read.
    #[error("the saved run cannot be read, although it says it has form {version}; its turn cannot go on")]
    Unreadable {
        /// Its form.
        version: u32,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// A run that cannot be saved.
    #[error("the run cannot be saved")]
    Unwritable(#[source] serde_json::Error),
}
