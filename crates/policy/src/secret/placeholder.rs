//! Finding placeholders in arguments.

use super::SecretName;
use serde_json::Value;
use std::ops::Range;

const OPENING: &str = "{{secret:";
const CLOSING: &str = "}}";

/// `{{secret:NAME}}` somewhere in a call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// The secret it stands for.
    pub secret: SecretName,
    /// The argument it stands in: names with dots between them, without the places in lists. `headers.Authorization`.
    pub argument: String,
    /// Whether it stands in the name of a member, where nothing is put in.
    pub in_name: bool,
}

impl Placeholder {
    /// The text.
    pub fn text(&self) -> String {
        format!("{OPENING}{}{CLOSING}", self.secret)
    }
}

/// Every placeholder in `arguments`, in order.
pub fn placeholders(arguments: &Value) -> Vec<Placeholder> {
    let mut found = Vec::new();
    each_string(arguments, &mut String::new(), &mut |argument, text, in_name| {
        let here = in_text(text).map(|(_, secret)| Placeholder {
            secret,
            argument: argument.to_owned(),
            in_name,
        });
        found.extend(here);
    });
    found
}

/// The placeholders in one text, with where they stand.
pub(super) fn in_text(text: &str) -> impl Iterator<Item = (Range<usize>, SecretName)> {
    text.match_indices(OPENING).filter_map(move |(start, _)| {
        let name_start = start + OPENING.len();
        let rest = text.get(name_start..)?;
        let length = rest.find(CLOSING)?;
        let name: SecretName = rest.get(..length)?.parse().ok()?;
        Some((start..name_start + length + CLOSING.len(), name))
    })
}

/// Visits every string: the argument, the text, and whether it is the name of a member.
pub(super) fn each_string(value: &Value, argument: &mut String, visitor: &mut dyn FnMut(&str, &str, bool)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => visitor(argument, text, false),
        Value::Array(entries) => {
            for entry in entries {
                each_string(entry, argument, visitor);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let length = argument.len();
                if length > 0 {
                    argument.push('.');
                }
                argument.push_str(name);
                visitor(argument, name, true);
                each_string(member, argument, visitor);
                argument.truncate(length);
            }
        }
    }
}
