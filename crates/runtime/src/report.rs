//! What came of a turn.

use crate::PendingQuestion;
use serde::Serialize;
use tidegate_message::{ModelId, TurnStatus, Usage, Warning};
use tidegate_policy::{ApprovalId, Label, SessionId, SessionName, TurnId};

/// The outcome of one turn. Its JSON is what `tidegate run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnReport {
    /// The session.
    pub session: SessionId,
    /// Its name, if a person gave it one. Not in the JSON, whose fields are fixed.
    #[serde(skip)]
    pub name: Option<SessionName>,
    /// The turn; none if nothing has run in the session.
    pub turn: Option<TurnId>,
    /// How it ended.
    pub status: TurnStatus,
    /// The answer; empty if there is none.
    pub answer: String,
    /// The model that was called last.
    pub model: Option<ModelId>,
    /// Rounds used.
    pub rounds: u32,
    /// Tool calls used.
    pub calls_used: u32,
    /// The session's label at the end: the answer carries it.
    pub label: Label,
    /// Tokens used by the turn.
    pub usage: Usage,
    /// A reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// The question whose answer it waits for: the first, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The questions to the owner that wait, in the order of their calls, each with its id and its time.
    /// [`Session::answer`](crate::Session::answer) takes the answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<PendingQuestion>,
    /// The requests for approval that wait, if the status is `awaiting_approval`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalId>,
    /// What went wrong and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
