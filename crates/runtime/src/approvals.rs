//! Asking the owner whether a call may run.
//!
//! A call that the gate lets through only with the owner's approval is held. With an [`Approver`] in the
//! [`TurnOptions`](crate::TurnOptions) the owner is asked at once, one question at a time. Without one, `[policy]
//! unattended` decides: `refuse` tells the model that nobody was there, `wait` ends the turn's run with the status
//! `awaiting_approval` and leaves its session in that turn. The requests then lie in the store
//! ([`Store::approvals`](tidegate_store::Store::approvals); [`ApprovalRequest::read`] gives what the owner has to
//! see). Any process that has the store may answer them with [`decide_approval`], and
//! [`Session::resume`](crate::Session::resume) goes on: what was granted runs, what was refused is answered, what
//! waits goes on waiting.
//!
//! A question of the model to the owner ([`PendingQuestion`]) is kept beside them when nobody is there to answer it, and
//! [`Session::answer`](crate::Session::answer) goes on with the answer.
//!
//! A grant is for one call with exactly the arguments and things it was asked for (a digest says so), and is used
//! up in the commit that journals the call as begun: over crashes and processes, it runs at most once.

mod asking;
mod decision;
mod digest;
mod origin;
mod question;
mod release;
mod request;
mod text;

pub(crate) use asking::{Grant, Permission, Subject};
pub use decision::decide_approval;
pub(crate) use decision::decided;
pub(crate) use digest::{question_digest, release_digest};
pub use question::PendingQuestion;
pub(crate) use question::{StoredQuestion, settled as question_settled};
pub(crate) use release::RELEASE;
pub use release::Release;
pub use request::{ApprovalRequest, ControlValue, JudgedValue, TouchedSink, TouchedSource, ValueOrigin};
pub(crate) use text::{CHANGED, denied_by_change};

use tidegate_tools::BoxFuture;

/// Somebody who can be asked now: a terminal with the owner before it, an API client that approves.
pub trait Approver: Send + Sync {
    /// Asks. It is given up when the turn is cancelled, and when the request expires (`[policy]
    /// approval_timeout_s`), which counts as a refusal.
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer>;
}

/// What the owner says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalAnswer {
    /// This one call may run.
    Grant,
    /// It may not; the model is told.
    Refuse,
    /// Not now: the call waits, and the turn ends with the status `awaiting_approval` when the other calls of its
    /// message are done.
    Later,
}
