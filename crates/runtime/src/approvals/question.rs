//! A question of the model to the owner that outlasts the process that asks it.

use crate::tool_call::QUESTION_FORM;
use serde::{Deserialize, Serialize};
use tidegate_message::{EventKind, QuestionEnd};
use tidegate_policy::{ApprovalId, CallId, SessionId, ToolName, TurnId};
use tidegate_store::{ApprovalRecord, NewEvent, Write};

/// A question that waits for the owner's answer. It is kept as a request for approval is, and erased with its session.
///
/// [`Session::answer`](crate::Session::answer) takes the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingQuestion {
    /// Its id. Like that of a request for approval, among which it is kept.
    pub id: ApprovalId,
    /// The session.
    #[serde(skip)]
    pub session: SessionId,
    /// The turn that waits.
    #[serde(skip)]
    pub turn: TurnId,
    /// The call that asks.
    #[serde(skip)]
    pub call: CallId,
    /// The question, as the model wrote it: to be escaped where it is shown.
    pub question: String,
    /// Answers to choose from, as the model wrote them; any other is possible too. Perhaps none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// From when on it cannot be answered any more: milliseconds since 1970-01-01 UTC.
    pub expires_ms: i64,
}

/// What is stored of it beside its row.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredQuestion {
    /// Tells it from a request for approval.
    pub(crate) form: String,
    pub(crate) tool: ToolName,
    pub(crate) question: String,
    pub(crate) choices: Vec<String>,
}

impl PendingQuestion {
    /// What was asked; none if the record is a request for approval, was erased, or is of another version.
    pub fn read(record: &ApprovalRecord) -> Option<Self> {
        let stored = StoredQuestion::read(record)?;
        Some(Self {
            id: record.id,
            session: record.session,
            turn: record.turn,
            call: record.call.clone(),
            question: stored.question,
            choices: stored.choices,
            expires_ms: record.expires_ms,
        })
    }
}

impl StoredQuestion {
    pub(crate) fn read(record: &ApprovalRecord) -> Option<Self> {
        let stored: Self = serde_json::from_str(&record.shown).ok()?;
        (stored.form == QUESTION_FORM).then_some(stored)
    }
}

/// The fact that a question is settled.
pub(crate) fn settled(record: &ApprovalRecord, end: QuestionEnd) -> NewEvent {
    NewEvent {
        turn: Some(record.turn),
        label: record.label,
        kind: EventKind::QuestionSettled {
            approval: record.id,
            call: record.call.clone(),
            end,
        },
    }
}

/// The same, to be written.
pub(super) fn write_settled(record: &ApprovalRecord, end: QuestionEnd) -> Write {
    Write::Events(record.session, vec![settled(record, end)])
}
