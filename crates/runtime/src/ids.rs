//! Random ids.

use tidegate_policy::{ApprovalId, SessionId, TurnId};

/// A new session's id: 122 random bits (UUID version 4), so that ids tell nothing about each other.
pub fn new_session_id() -> SessionId {
    SessionId::from_bits(uuid::Uuid::new_v4().as_u128())
}

/// A new turn's id.
pub fn new_turn_id() -> TurnId {
    TurnId::from_bits(uuid::Uuid::new_v4().as_u128())
}

/// The id of a new request for approval.
pub(crate) fn new_approval_id() -> ApprovalId {
    ApprovalId::from_bits(uuid::Uuid::new_v4().as_u128())
}
