//! Looking into a call's arguments.

use serde_json::Value;
use std::ops::ControlFlow;

/// Visits every value below `path`: lists stand for each of their entries, objects for every value in them.
/// `null` is no value.
///
/// Dots separate names. Where an object has a name with a dot in it, that is found too.
pub(super) fn visit<'a>(
    value: &'a Value,
    path: &str,
    visitor: &mut dyn FnMut(&'a Value) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match value {
        Value::Array(entries) => {
            for entry in entries {
                visit(entry, path, visitor)?;
            }
            ControlFlow::Continue(())
        }
        Value::Object(members) => {
            let ends = path.match_indices('.').map(|(at, _)| at);
            for end in ends {
                if let (Some(name), Some(rest)) = (path.get(..end), path.get(end + 1..))
                    && let Some(inner) = members.get(name)
                {
                    visit(inner, rest, visitor)?;
                }
            }
            match members.get(path) {
                Some(inner) => leaves(inner, visitor),
                None => ControlFlow::Continue(()),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => ControlFlow::Continue(()),
    }
}

fn leaves<'a>(value: &'a Value, visitor: &mut dyn FnMut(&'a Value) -> ControlFlow<()>) -> ControlFlow<()> {
    match value {
        Value::Null => ControlFlow::Continue(()),
        Value::Array(entries) => entries.iter().try_for_each(|entry| leaves(entry, visitor)),
        Value::Object(members) => members.values().try_for_each(|inner| leaves(inner, visitor)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => visitor(value),
    }
}

/// Every name and value in `value`, unescaped, each on its own line.
pub(crate) fn text_of(value: &Value) -> String {
    let mut text = String::new();
    append(value, &mut text);
    text
}

fn append(value: &Value, text: &mut String) {
    let mut line = |words: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(words);
    };
    match value {
        Value::Null => {}
        Value::String(words) => line(words),
        Value::Bool(_) | Value::Number(_) => line(&value.to_string()),
        Value::Array(entries) => entries.iter().for_each(|entry| append(entry, text)),
        Value::Object(members) => {
            for (name, inner) in members {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(name);
                append(inner, text);
            }
        }
    }
}
