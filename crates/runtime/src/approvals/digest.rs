//! What a grant is bound to.

use super::asking::Subject;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tidegate_message::ToolCall;
use tidegate_policy::Taint;

/// SHA-256 of everything the call is: its tool and id, the arguments as they were checked, and what they were
/// resolved to, with the labels and levels of all of it.
///
/// As JSON with sorted keys, so that the same call has the same digest in every process.
pub(super) fn digest(subject: &Subject<'_>) -> [u8; 32] {
    let everything = json!({
        "tool": subject.definition.policy.name,
        "call": subject.call.id,
        "arguments": subject.arguments,
        "resources": subject.resources,
        "resolved": subject.resolved,
    });
    Sha256::digest(everything.to_string()).into()
}

/// SHA-256 of what an owner releases: the tool, the exact arguments, what they were resolved to, and the taint with the
/// number of steps by which it came about. Not the call's id: the model has to make the call again.
pub(crate) fn release_digest(subject: &Subject<'_>, taint: &Taint) -> [u8; 32] {
    let everything = json!({
        "release": subject.definition.policy.name,
        "arguments": subject.arguments,
        "resources": subject.resources,
        "resolved": subject.resolved,
        "taint": taint.label(),
        "epoch": taint.lineage().len(),
    });
    Sha256::digest(everything.to_string()).into()
}

/// SHA-256 of a question: the call that asks it, and its arguments. Another than that of a request to run the call.
pub(crate) fn question_digest(call: &ToolCall, arguments: &Value) -> [u8; 32] {
    let everything = json!({ "question": call.name, "call": call.id, "arguments": arguments });
    Sha256::digest(everything.to_string()).into()
}
