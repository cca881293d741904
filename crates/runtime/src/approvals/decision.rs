//! Answering a request, from any process that has the store.

use super::question::{PendingQuestion, write_settled};
use super::request::ApprovalRequest;
use crate::RuntimeError;
use tidegate_message::{ApprovalDecision, EventKind, QuestionEnd};
use tidegate_policy::{ApprovalId, RuleId, ToolName};
use tidegate_store::{ApprovalRecord, NewEvent, Store, StoreError, Write};

/// Grants a request, or refuses it, and records that it was done. Gives the request as it is then.
///
/// It needs no lock: the session may be in use or not. Nothing runs by itself: a process that waits for an answer of
/// its own [`Approver`](super::Approver) notices, and a turn that was left waiting goes on with
/// [`Session::resume`](crate::Session::resume).
///
/// Who may call this is for the caller to see to: the owner, with a credential that no tool can reach.
///
/// # Errors
/// [`RuntimeError::IsQuestion`] for a grant to a question, which needs an answer (it can be refused);
/// [`StoreError::UnknownApproval`], and [`StoreError::ApprovalSettled`] if it was answered before or its time is up.
pub async fn decide_approval(
    store: &dyn Store,
    approval: ApprovalId,
    grant: bool,
) -> Result<ApprovalRecord, RuntimeError> {
    let unknown = || StoreError::UnknownApproval { approval };
    let record = store.approval(approval).await?.ok_or_else(unknown)?;
    let decision = if grant {
        if PendingQuestion::read(&record).is_some() {
            return Err(RuntimeError::IsQuestion {
                question: approval,
                session: record.session,
            });
        }
        ApprovalDecision::Granted
    } else {
        ApprovalDecision::Refused
    };
    let writes = vec![
        Write::DecideApproval { approval, grant },
        decided(&record, decision),
    ];
    store.commit(writes).await?;
    Ok(store.approval(approval).await?.ok_or_else(unknown)?)
}

/// The fact that a stored request was decided.
pub(crate) fn decided(record: &ApprovalRecord, decision: ApprovalDecision) -> Write {
    if PendingQuestion::read(record).is_some() {
        let end = match decision {
            ApprovalDecision::Granted => QuestionEnd::Answered,
            ApprovalDecision::Refused => QuestionEnd::Refused,
            ApprovalDecision::Expired => QuestionEnd::GivenUp,
        };
        return write_settled(record, end);
    }
    // What cannot be read was erased, or is of another version: the id says enough.
    let (tool, rule) = ApprovalRequest::read(record).map_or_else(
        |_| (ToolName::new(""), RuleId::new("")),
        |shown| (shown.tool, shown.rule),
    );
    let kind = EventKind::ApprovalDecided {
        approval: record.id,
        call: record.call.clone(),
        tool,
        rule,
        decision,
    };
    let event = NewEvent {
        turn: Some(record.turn),
        label: record.label,
        kind,
    };
    Write::Events(record.session, vec![event])
}
