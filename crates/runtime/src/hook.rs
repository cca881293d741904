//! What a program that embeds the runtime adds to a turn before its first model call.

use std::sync::Arc;
use tidegate_message::{Content, Entry};
use tidegate_policy::{Label, SessionId, TurnId};
use tidegate_tools::BoxFuture;

/// Looks at a turn before its first model call, and adds notes to the user's message (`pre_llm_call`): who is on call, say, or
/// what the weather is like. Notes ride on that message alone; they are stored with it, and repeated only with it.
///
/// A hook is the program's own code and sees what the model will see, whatever its label: what it adds has to carry the label
/// of all it was made from.
pub trait TurnHook: Send + Sync {
    /// Its name: the model is told who says it.
    fn name(&self) -> &str;

    /// What it adds; an empty list adds nothing. Dropped when the turn is cancelled or its time is up; the turn then ends
    /// without it.
    fn notes<'a>(&'a self, turn: &'a HookedTurn) -> BoxFuture<'a, Vec<HookNote>>;
}

/// A turn that begins, as its hooks see it.
#[derive(Clone, Debug)]
pub struct HookedTurn {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// What the user wrote, sanitised, without what rides on it.
    pub user_message: Vec<Content>,
    /// The messages, compacted if they had to be, with the user's as the one at `index`.
    pub messages: Vec<Arc<Entry>>,
    /// Where the user's message is.
    pub index: usize,
    /// What the session has been in touch with.
    pub taint: Label,
}

/// What a hook adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNote {
    /// The text. It is data to the model, and escaped where it stands.
    pub text: String,
    /// Its label: the session's taint is joined with it. One above the session's clearance does not enter.
    pub label: Label,
}
