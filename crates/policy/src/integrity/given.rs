//! The values of a call that decide what it does.

use super::inside::inside;
use crate::ToolPolicy;
use crate::licence::{Vocabulary, normalised};
use crate::provenance::name_words;
use serde_json::Value;

/// One control value of a call.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Its place: `attachments[0].file_id`.
    pub(super) path: String,
    /// The words of the name of the field it stands in, and of the argument.
    pub(super) words: Vec<String>,
    /// As it is.
    pub(super) raw: String,
    /// Normalised and trimmed.
    pub(super) text: String,
    pub(super) is_number: bool,
    pub(super) is_true: bool,
    pub(super) is_recipient: bool,
    /// Whether it stands inside content that leaves.
    pub(super) in_content: bool,
}

/// A call's values: those that decide what it does, and the texts it carries.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) control: Vec<Given>,
    pub(super) content: Vec<String>,
}

/// Most control values looked at; a call with more is not licensed.
pub(super) const MOST_VALUES: usize = 512;

pub(super) fn values_of(tool: &ToolPolicy, arguments: &Value, vocabulary: &Vocabulary) -> Values {
    let mut values = Values::default();
    let whole = Value::Null;
    let fields: Vec<(&str, &Value)> = match arguments {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        Value::Null => Vec::new(),
        // Arguments that are no object name nothing, so all of it decides.
        other => vec![("", if other.is_null() { &whole } else { other })],
    };
    let declares = |list: &[String], name: &str| list.iter().any(|declared| declared == name);
    for (name, value) in fields {
        let recipient = declares(&tool.integrity.recipient_arguments, name);
        let content = declares(&tool.integrity.content_arguments, name)
            && !recipient
            && !declares(&tool.control_arguments, name);
        let mut leaves = Vec::new();
        flatten(name, name, value, recipient, &mut leaves);
        if content {
            for leaf in leaves {
                if tool.integrity.egress {
                    values.control.extend(inside(&leaf, vocabulary));
                }
                if !leaf.is_number && !leaf.is_true {
                    values.content.push(leaf.text);
                }
            }
        } else {
            values.control.extend(leaves);
        }
    }
    values
}

fn flatten(argument: &str, path: &str, value: &Value, recipient: bool, found: &mut Vec<Given>) {
    let mut todo = vec![(path.to_owned(), name_words(argument), value)];
    while let Some((path, words, value)) = todo.pop() {
        if found.len() > MOST_VALUES {
            return;
        }
        let mut add = |raw: String, is_number, is_true| {
            let text = normalised(raw.trim());
            if !text.is_empty() {
                found.push(Given {
                    path: path.clone(),
                    words: words.clone(),
                    raw,
                    text,
                    is_number,
                    is_true,
                    is_recipient: recipient,
                    in_content: false,
                });
            }
        };
        match value {
            // Left out or switched off: nothing is done by it.
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => add("true".to_owned(), false, true),
            Value::Number(number) => add(number.to_string(), true, false),
            Value::String(text) => add(text.clone(), false, false),
            Value::Array(items) => {
                todo.extend(
                    items
                        .iter()
                        .enumerate()
                        .rev()
                        .map(|(index, item)| (format!("{path}[{index}]"), words.clone(), item)),
                );
            }
            Value::Object(fields) => {
                todo.extend(fields.iter().rev().map(|(name, item)| {
                    let mut own = name_words(name);
                    own.extend(words.iter().cloned());
                    (format!("{path}.{name}"), own, item)
                }));
            }
        }
    }
}
