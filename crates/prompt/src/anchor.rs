//! Finding the message that a turn is about.

use std::sync::Arc;
use tidegate_message::{Author, Body, Content, Entry, UserMessage};
use tidegate_policy::TurnId;

/// The user message of a turn, by which it is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentMessage<'a> {
    /// The turn.
    pub turn: TurnId,
    /// What the user wrote, sanitised.
    pub raw: &'a [Content],
    /// The same with what was added, if it is composed already.
    pub composed: Option<&'a [Content]>,
}

/// The index of the turn's user message after the entries may have changed.
///
/// `index` stays if this turn's user message is there. Else it is the last user message with exactly its content, raw or
/// composed; else the last message that a person wrote. A summary or hand-off never is. `None`: the turn must stop,
/// or it would answer another message.
pub fn reanchor_current_turn_user_idx(
    entries: &[Arc<Entry>],
    index: Option<usize>,
    current: CurrentMessage<'_>,
) -> Option<usize> {
    let message_at = |entry: &Entry| match &entry.body {
        Body::User(message) if message.author != Author::Summary => Some(says(message, current)),
        Body::User(_) | Body::Assistant(_) | Body::Results(_) => None,
    };
    let stays = index.filter(|index| {
        entries
            .get(*index)
            .is_some_and(|entry| entry.turn == current.turn && message_at(entry) == Some(true))
    });
    stays
        .or_else(|| entries.iter().rposition(|entry| message_at(entry) == Some(true)))
        .or_else(|| {
            entries.iter().rposition(
                |entry| matches!(&entry.body, Body::User(message) if message.author == Author::Person),
            )
        })
}

fn says(message: &UserMessage, current: CurrentMessage<'_>) -> bool {
    let is_current = |content: &[Content]| content == current.raw || Some(content) == current.composed;
    is_current(&message.content) || message.sidecar.as_deref().is_some_and(is_current)
}
