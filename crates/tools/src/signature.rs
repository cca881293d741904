//! A JSON schema in one line, as a model reads it: `{"path": string, "offset"?: integer}`.

use crate::schema::is_composed;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How deep objects are written out; below that they are `object`.
const DEPTH: usize = 5;

/// How long a signature may be, in characters; a longer one is cut.
const LENGTH: usize = 1000;

/// How many alternatives of an `enum` are listed.
const ALTERNATIVES: usize = 20;

/// The signature of `schema`, a part of the whole schema `root`.
pub(crate) fn signature(schema: &Value, root: &Value) -> String {
    let text = write(schema, root, DEPTH);
    let kept = crate::graphemes_within(&text, LENGTH);
    if kept.len() == text.len() {
        text
    } else {
        format!("{kept}…")
    }
}

fn write(schema: &Value, root: &Value, depth: usize) -> String {
    let keywords = match schema {
        Value::Object(keywords) => keywords,
        Value::Bool(false) => return "nothing".into(),
        _ => return "anything".into(),
    };
    if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
        return match reference
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer))
        {
            Some(target) if depth > 0 => write(target, root, depth - 1),
            _ => "object".into(),
        };
    }
    if let Some(constant) = keywords.get("const") {
        return shown(constant);
    }
    if let Some(Value::Array(options)) = keywords.get("enum") {
        return alternatives(options.iter().map(shown));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let (Some(Value::Array(options)), false) =
            (keywords.get(keyword), keywords.contains_key("properties"))
        {
            return alternatives(options.iter().map(|option| write(option, root, depth)));
        }
    }
    match keywords.get("type") {
        Some(Value::String(kind)) => typed(kind, keywords, root, depth),
        Some(Value::Array(kinds)) => alternatives(
            kinds
                .iter()
                .filter_map(Value::as_str)
                .map(|kind| typed(kind, keywords, root, depth)),
        ),
        _ if keywords.contains_key("properties") => object(keywords, root, depth),
        _ => "anything".into(),
    }
}

fn typed(kind: &str, keywords: &Map<String, Value>, root: &Value, depth: usize) -> String {
    match kind {
        "object" => object(keywords, root, depth),
        "array" => match keywords.get("items") {
            Some(items) if depth > 0 => format!("[{}, ...]", write(items, root, depth - 1)),
            _ => "array".into(),
        },
        other => other.into(),
    }
}

fn object(keywords: &Map<String, Value>, root: &Value, depth: usize) -> String {
    let properties = match keywords.get("properties") {
        Some(Value::Object(properties)) if depth > 0 => properties,
        _ => return "object".into(),
    };
    let required: BTreeSet<&str> = match keywords.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    };
    let mut fields: Vec<(bool, String)> = properties
        .iter()
        .map(|(name, schema)| {
            let optional = !required.contains(name.as_str());
            let mark = if optional { "?" } else { "" };
            (
                optional,
                format!(
                    "{}{mark}: {}",
                    Value::from(name.as_str()),
                    write(schema, root, depth - 1)
                ),
            )
        })
        .collect();
    // What has to be there comes first.
    fields.sort_by_key(|(optional, _)| *optional);
    let mut fields: Vec<String> = fields.into_iter().map(|(_, field)| field).collect();
    if is_composed(keywords) {
        fields.push("...".into());
    }
    format!("{{{}}}", fields.join(", "))
}

/// `a | b`; each once, and `null` left out where there is anything else: it only repeats the question mark.
fn alternatives(options: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for option in options {
        if option != "null" && !known.contains(&option) {
            known.push(option);
        }
    }
    if known.len() > ALTERNATIVES {
        known.truncate(ALTERNATIVES);
        known.push("...".into());
    }
    if known.is_empty() {
        "null".into()
    } else {
        known.join(" | ")
    }
}

/// How many characters of a given text are shown.
const SHOWN: usize = 40;

/// A value, shortened, on one line, with nothing a terminal or a reader could be fooled by.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let kept = crate::graphemes_within(text, SHOWN);
            let more = if kept.len() == text.len() { "" } else { "…" };
            format!("\"{}{more}\"", for_quotes(kept))
        }
        Value::Array(items) => match items.len() {
            0 => "[]".into(),
            1 => "an array of 1 item".into(),
            count => format!("an array of {count} items"),
        },
        Value::Object(_) => "an object".into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// `text` for between quotes: it cannot end them, nor hold what is not seen.
pub(crate) fn for_quotes(text: &str) -> String {
    tidegate_policy::escaped(&text.replace('\\', r"\\").replace('"', r#"\""#)).into_owned()
}
