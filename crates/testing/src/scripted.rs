//! Helpers for scripted models.

use serde_json::Value;
use tidegate_providers::{Scripted, ScriptedReply};

/// A reply of text alone.
pub fn text(text: impl Into<String>) -> ScriptedReply {
    ScriptedReply::text(text)
}

/// A reply of tool calls alone: names and arguments.
///
/// ```
/// let reply = tidegate_testing::calls([("read_file", serde_json::json!({"path": "a.txt"}))]);
/// # let _ = reply;
/// ```
pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> ScriptedReply {
    ScriptedReply::calls(calls)
}

/// Checks that every reply of the script was played and that nothing happened that it did not provide for.
///
/// # Panics
/// If not; the message says which replies are left and what happened.
#[track_caller]
pub fn assert_complete(model: &Scripted) {
    let surprises = model.surprises();
    assert!(
        surprises.is_empty(),
        "the scripted model was surprised:\n- {}",
        surprises.join("\n- ")
    );
    let unplayed = model.unplayed();
    assert!(
        unplayed.is_empty(),
        "of {} scripted replies these were not played: {unplayed:?}",
        model.replies().len()
    );
}
