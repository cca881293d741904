//! What a turn begins with.

use crate::{Note, Prices, SystemPrompt, Window};
use tidegate_message::{Author, Content};
use tidegate_policy::{Label, TurnId};

/// What a turn begins with.
#[derive(Clone, Debug)]
pub struct TurnInput {
    /// The turn.
    pub turn: TurnId,
    /// Who wrote it: a person, mostly.
    pub author: Author,
    /// What they wrote, as it came.
    pub content: Vec<Content>,
    /// Its label.
    pub label: Label,
    /// Gateway notes, taken from the inbox; they are to be cleared in the transaction that stores the turn.
    pub notes: Vec<Note>,
    /// The list of open tasks and nudges.
    pub reminders: Vec<Note>,
    /// The session's system prompt, restored or built.
    pub system_prompt: SystemPrompt,
    /// Tokens of the tools as they are sent.
    pub tools_tokens: u64,
    /// The model's window.
    pub window: Window,
    /// Whether compaction rests after failures ([`Cooldown`](crate::Cooldown)): then it is not asked for.
    pub cooling_down: bool,
    /// What attachments cost.
    pub prices: Prices,
}
