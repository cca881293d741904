//! What a hook tells the rules.

use crate::{Classification, FieldName, Role};
use std::borrow::Cow;

/// The value of one field.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// There is none: it meets nothing but `exists` with `value = false`.
    Absent,
    /// There may be one, but whoever asks does not know it: it is read against the flow.
    Unknown,
    /// A text, or a word.
    Text(&'a str),
    /// Any number of texts.
    Texts(&'a [Cow<'a, str>]),
    /// A number.
    Number(u64),
    /// True or false.
    Boolean(bool),
    /// A level.
    Level(Classification),
    /// A role.
    Role(Role),
    /// The arguments of a call, all of them: the condition knows which of them it wants.
    Arguments(&'a serde_json::Value),
}

/// What is known at a hook. Implementations borrow, and build what costs something only when asked.
pub trait Facts {
    /// The value of a field; [`Fact::Absent`] for one the hook does not have.
    fn fact(&self, field: FieldName) -> Fact<'_>;
}
