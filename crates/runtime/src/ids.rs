//! Random ids.

use tidegate_policy::{SessionId, TurnId};

/// A new session's id: 122 random bits (UUID version 4), so that ids tell nothing about each other.
pub fn new_session_id() -> SessionId {
    SessionId::from_bits(uuid::Uuid::new_v4().as_u128())
}

/// A new turn's id.
pub fn new_turn_id() -> TurnId {
    TurnId::from_bits(uuid::Uuid::new_v4().as_u128())
}
