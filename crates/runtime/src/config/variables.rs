//! Reading `TIDEGATE__SECTION__KEY` variables: their names and types are those of the schema.

use super::ConfigError;
use super::wording::{did_you_mean, listed};
use config::{Map, Value, ValueKind};
use serde_json::Value as Json;

/// The prefix of variables: `TIDEGATE__SECTION__KEY`.
const PREFIX: &str = "TIDEGATE__";

/// The keys and value of each variable with the prefix, in the order of their names: those of a section
/// come before those of what is in it.
pub(super) fn read<'a>(
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<(Vec<String>, Value)>, ConfigError> {
    let mut ours: Vec<(&str, &str)> = variables
        .into_iter()
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    ours.sort_unstable();
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let schema = super::schema();
    ours.into_iter()
        .map(|(name, text)| {
            read_one(&schema, name, text).map_err(|message| ConfigError::Variable {
                name: name.to_owned(),
                message,
            })
        })
        .collect()
}

fn read_one(schema: &Json, name: &str, text: &str) -> Result<(Vec<String>, Value), String> {
    let keys: Vec<String> = name
        .trim_start_matches(PREFIX)
        .split("__")
        .map(str::to_ascii_lowercase)
        .collect();
    if keys.iter().any(String::is_empty) {
        return Err(
            "is no name of a key; write TIDEGATE__SECTION__KEY, as in TIDEGATE__AGENT__MAX_ROUNDS".into(),
        );
    }
    let mut node = schema;
    let mut above = String::new();
    for key in &keys {
        node = member(schema, node, key).map_err(|known| match known {
            Some(known) => format!(
                "unknown key `{key}`{}{}; there are: {}",
                if above.is_empty() { "" } else { " in " },
                above,
                suggest(key, &known)
            ),
            None => format!("{above} is a value, not a section: it has no key `{key}`"),
        })?;
        if !above.is_empty() {
            above.push('.');
        }
        above.push_str(key);
    }
    Ok((keys, typed(schema, node, text, &name.to_owned())?))
}

fn suggest(key: &str, known: &[&str]) -> String {
    let listed = listed(known.iter().copied());
    match did_you_mean(key, known.iter().copied()) {
        Some(hint) => format!("{listed}; {hint}"),
        None => listed,
    }
}

/// The schema of member `key`; else the names there are, or none if there can be no member.
fn member<'s>(schema: &'s Json, node: &'s Json, key: &str) -> Result<&'s Json, Option<Vec<&'s str>>> {
    let node = resolved(schema, node);
    let properties = node.get("properties").and_then(Json::as_object);
    if let Some(property) = properties.and_then(|properties| properties.get(key)) {
        return Ok(property);
    }
    match (node.get("additionalProperties"), properties) {
        (Some(Json::Object(_) | Json::Bool(true)), _) => Ok(node.get("additionalProperties").unwrap_or(node)),
        // Inside a section of a later version, anything goes.
        (None, None) if node.get("type").is_none() => Ok(node),
        (_, Some(properties)) => Err(Some(properties.keys().map(String::as_str).collect())),
        (_, None) => Err(None),
    }
}

/// The schema behind a reference, and behind "or nothing".
fn resolved<'s>(schema: &'s Json, mut node: &'s Json) -> &'s Json {
    // References of the schema go one way; the bound only keeps a broken one from turning in a circle.
    for _ in 0..8 {
        let target = node
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|reference| schema.pointer(reference.trim_start_matches('#')));
        let choice = node
            .get("anyOf")
            .and_then(Json::as_array)
            .and_then(|choices| choices.first());
        match target.or(choice) {
            Some(next) => node = next,
            None => break,
        }
    }
    node
}

/// The text as a value of the type the schema wants.
fn typed(schema: &Json, node: &Json, text: &str, origin: &String) -> Result<Value, String> {
    let node = resolved(schema, node);
    let kind = match node.get("type") {
        Some(Json::Array(kinds)) => kinds.first().and_then(Json::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    let trimmed = text.trim();
    let written = || format!("not {text:?}");
    if let Some(choices) = node.get("oneOf").and_then(Json::as_array) {
        let names: Vec<&str> = choices
            .iter()
            .filter_map(|choice| choice.get("const")?.as_str())
            .collect();
        return if names.contains(&trimmed) {
            Ok(Value::new(Some(origin), trimmed))
        } else {
            let hint = did_you_mean(trimmed, names.iter().copied())
                .map_or_else(String::new, |hint| format!("; {hint}"));
            Err(format!("expected one of {}, {}{hint}", listed(names), written()))
        };
    }
    match kind {
        Some("integer") => match trimmed.parse::<u32>() {
            Ok(number) if in_range(node, number) => Ok(Value::new(Some(origin), i64::from(number))),
            Ok(_) | Err(_) => Err(format!("expected a whole number{}, {}", range(node), written())),
        },
        Some("number") => match trimmed.parse::<f64>() {
            Ok(number) => Ok(Value::new(Some(origin), number)),
            Err(_) => Err(format!("expected a number, {}", written())),
        },
        Some("boolean") => match trimmed.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::new(Some(origin), true)),
            "false" => Ok(Value::new(Some(origin), false)),
            _ => Err(format!("expected true or false, {}", written())),
        },
        Some("array") => match json(trimmed, origin)? {
            Some(list) if matches!(list.kind, ValueKind::Array(_)) => Ok(list),
            _ => Err(format!(
                "expected a list as JSON, such as [\"one\", \"two\"], {}",
                written()
            )),
        },
        Some("object") => match json(trimmed, origin)? {
            Some(table) if matches!(table.kind, ValueKind::Table(_)) => Ok(table),
            _ => Err(format!(
                "names a section; set a key of it, as in {origin}__KEY, or write the section as JSON, such as {{\"key\": \"value\"}}, {}",
                written()
            )),
        },
        // Text, and whatever a later version makes of its sections.
        Some(_) => Ok(Value::new(Some(origin), text)),
        None => Ok(json(trimmed, origin)?.unwrap_or_else(|| Value::new(Some(origin), text))),
    }
}

fn bound(node: &Json, name: &str) -> Option<u64> {
    node.get(name).and_then(Json::as_u64)
}

/// Whether the number is within the bounds of the schema, of which none is above those of a `u32`.
fn in_range(node: &Json, number: u32) -> bool {
    bound(node, "minimum").is_none_or(|least| u64::from(number) >= least)
        && bound(node, "maximum").is_none_or(|most| u64::from(number) <= most)
}

fn range(node: &Json) -> String {
    match (bound(node, "minimum"), bound(node, "maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, _) => String::new(),
    }
}

/// A list or table written as JSON; none if the text is neither.
fn json(text: &str, origin: &String) -> Result<Option<Value>, String> {
    if !text.starts_with(['[', '{']) {
        return Ok(None);
    }
    // Read into the ordered maps of `config`: of patterns, the first that matches wins.
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("looks like a list or table but is no JSON: {error}"))?;
    Ok(Some(with_origin(value, origin)))
}

fn with_origin(value: Value, origin: &String) -> Value {
    let kind = match value.kind {
        ValueKind::Table(members) => {
            let members: Map<String, Value> = members
                .into_iter()
                .map(|(key, value)| (key, with_origin(value, origin)))
                .collect();
            ValueKind::Table(members)
        }
        ValueKind::Array(items) => {
            let items = items.into_iter().map(|item| with_origin(item, origin));
            ValueKind::Array(items.collect())
        }
        other => other,
    };
    Value::new(Some(origin), kind)
}
