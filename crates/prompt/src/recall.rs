//! What memory gives to a turn.

use serde::{Deserialize, Serialize};
use tidegate_policy::{Label, MemoryId};

/// One recalled memory. It is data with a label: it rides on the user message of its turn, never in the system prompt,
/// and is left out when memories are made of the turn later ([`TurnContext::original_user_message`] does not hold it).
///
/// [`TurnContext::original_user_message`]: crate::TurnContext::original_user_message
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    /// The memory, if it has an id.
    pub memory: Option<MemoryId>,
    /// Where it came from, for the model to read: `notes/plan.md`, `mail from anna, 2026-11-02`.
    pub origin: String,
    /// What it says.
    pub text: String,
    /// Its label.
    pub label: Label,
}
