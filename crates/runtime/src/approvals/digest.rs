//! What a grant is bound to.

use super::asking::Subject;
use serde_json::json;
use sha2::{Digest as _, Sha256};

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
