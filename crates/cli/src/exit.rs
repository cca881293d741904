//! Exit codes.

use std::process::ExitCode;
use tidegate_message::TurnStatus;

/// How the program ends. Usage errors (2) are the argument parser's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    Error,
    Blocked,
    PendingQuestion,
    AwaitingApproval,
    Cancelled,
}

impl From<TurnStatus> for Exit {
    fn from(status: TurnStatus) -> Self {
        match status {
            TurnStatus::Success => Self::Ok,
            TurnStatus::Error => Self::Error,
            TurnStatus::Blocked => Self::Blocked,
            TurnStatus::PendingQuestion => Self::PendingQuestion,
            TurnStatus::AwaitingApproval => Self::AwaitingApproval,
            TurnStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Error => 1,
            Exit::Blocked => 3,
            Exit::PendingQuestion => 4,
            Exit::AwaitingApproval => 5,
            Exit::Cancelled => 130,
        })
    }
}
