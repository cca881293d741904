//! Requests for the owner's approval, as they are kept.

use std::fmt;
use std::time::Duration;
use tidegate_policy::{ApprovalId, CallId, Label, SessionId, TurnId};

/// A request to be. One that is there already, for the same call with the same digest, stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApproval {
    /// Its id.
    pub id: ApprovalId,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// SHA-256 of everything the call is: tool, call, arguments, what they were resolved to. A grant is for that and
    /// nothing else.
    pub digest: [u8; 32],
    /// The label of `shown`.
    pub label: Label,
    /// JSON of what the owner is shown.
    pub shown: String,
    /// From when it is stored until it expires, granted or not.
    pub valid_for: Duration,
}

/// A stored request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Its id.
    pub id: ApprovalId,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// As in [`NewApproval`]. Random once the session is erased: a hash of content tells of it. Of a damaged row all
    /// zero, with the state `Expired`.
    pub digest: [u8; 32],
    /// The label of `shown`.
    pub label: Label,
    /// JSON of what the owner is shown; empty once the session is erased.
    pub shown: String,
    /// Where it is, at the time of reading.
    pub state: ApprovalState,
    /// Milliseconds since 1970-01-01 UTC.
    pub created_ms: i64,
    /// When it was granted, refused or given up: milliseconds since 1970-01-01 UTC.
    pub decided_ms: Option<i64>,
    /// From when on it can be neither granted nor used: milliseconds since 1970-01-01 UTC.
    pub expires_ms: i64,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Nobody has answered yet.
    Waiting,
    /// The call may run, once.
    Granted,
    /// It may not.
    Refused,
    /// It was granted, and the call was about to run.
    Used,
    /// Its time was up before it was answered or used, or it was given up.
    Expired,
}

impl ApprovalState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Granted,
        Self::Refused,
        Self::Used,
        Self::Expired,
    ];

    /// The word for it, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }

    /// Whether something can still become of it.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Granted)
    }
}

impl fmt::Display for ApprovalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which requests are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Of this session only.
    pub session: Option<SessionId>,
    /// In this state only. What has expired is `Expired`, whether somebody noticed or not.
    pub state: Option<ApprovalState>,
}
