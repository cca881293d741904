//! Notes for the next turn of a session.

use tidegate_policy::Label;

/// A note to be left. Whoever leaves and takes it knows its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// The label of what it says.
    pub label: Label,
    /// What it says.
    pub body: String,
}

/// A note that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNote {
    /// Its place in the order of all notes of the store, never given twice.
    pub position: u64,
    /// When it was left: milliseconds since 1970-01-01 UTC.
    pub left_ms: i64,
    /// What was left.
    pub note: NewNote,
}
