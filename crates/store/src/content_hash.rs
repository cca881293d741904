//! What takes the place of content in the events of an erased session.
//!
//! A string survives only where its field is known to hold a word of the program or of the configuration. Every
//! other one, also in fields that a later version adds, becomes `hash:` and 128 bits of HMAC-SHA-256 with a key
//! of the store: equal texts stay recognisable as equal, and the events stay readable.

use crate::StoreError;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::EventKind;
use tidegate_policy::SessionId;
use uuid::Uuid;

/// Fields whose strings are words of the program or of the configuration, never content.
#[rustfmt::skip]
const STRUCTURAL: [&str; 26] = [
    "kind", "call", "unknown_calls", "approval",
    "flow", "decision", "rule", "outcome",
    "classification", "integrity", "clearance", "from", "to",
    "model", "tier", "targets", "finish", "class",
    "status", "limit", "warning", "end",
    "cause", "summary", "part", "words_alone",
];

/// 32 bytes of the system's randomness, all but twelve of their bits.
pub(crate) fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    let (first, second) = bytes.split_at_mut(16);
    first.copy_from_slice(Uuid::new_v4().as_bytes());
    second.copy_from_slice(Uuid::new_v4().as_bytes());
    bytes
}

/// Hashes what could be content.
pub(crate) struct ContentHash {
    key: [u8; 32],
    /// The tools the session really had. A model may also have asked for one that it made up: its name is
    /// content.
    tools: BTreeSet<String>,
}

impl ContentHash {
    pub(crate) fn new(key: [u8; 32], tools: BTreeSet<String>) -> Self {
        Self { key, tools }
    }

    /// The same event without content.
    pub(crate) fn without_content(&self, event: &EventKind) -> Result<EventKind, StoreError> {
        let hashed = serde_json::to_value(event).and_then(|mut value| {
            self.replace_in(&mut value, event.name(), "");
            serde_json::from_value(value)
        });
        hashed.map_err(|error| StoreError::Unencodable {
            what: "an event",
            cause: Arc::new(error),
        })
    }

    /// Replaces every string of `value`, which stands in the field `field` of an event of this kind.
    pub(crate) fn replace_in(&self, value: &mut Value, kind: &str, field: &str) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if !self.keeps(field, text) {
                    // A session's name may have no colon.
                    let prefix = if (kind, field) == ("session.created", "name") {
                        "hash-"
                    } else {
                        "hash:"
                    };
                    *text = format!("{prefix}{}", self.hash(text));
                }
            }
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.replace_in(item, kind, field)),
            Value::Object(fields) => {
                fields
                    .iter_mut()
                    .for_each(|(field, value)| self.replace_in(value, kind, field));
            }
        }
    }

    fn keeps(&self, field: &str, text: &str) -> bool {
        match field {
            "tool" => self.tools.contains(text),
            "session" => text.parse::<SessionId>().is_ok(),
            _ => STRUCTURAL.contains(&field),
        }
    }

    /// 32 hexadecimal digits.
    fn hash(&self, text: &str) -> String {
        // A key of any length will do for HMAC.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else {
            return String::new();
        };
        mac.update(text.as_bytes());
        mac.finalize()
            .into_bytes()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
