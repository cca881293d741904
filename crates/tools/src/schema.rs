//! Bringing JSON schemas into one form, so that equal tools have equal bytes whoever wrote them.

use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Keywords whose value is a schema (or, in older drafts, a list of them).
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value names schemas.
const NAMED: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Formats schemars adds for the widths of Rust's numbers. They tell a model nothing, and some providers
/// refuse what they do not know.
const NUMBER_WIDTHS: [&str; 16] = [
    "double", "float", "int", "int8", "int16", "int32", "int64", "int128", "isize", "uint", "uint8",
    "uint16", "uint32", "uint64", "uint128", "usize",
];

/// The schema as models get it: without `$schema` and titles, lists that mean sets sorted. The order of keys
/// is that in which they were declared.
pub(crate) fn normalised(mut schema: Value) -> Value {
    if let Value::Object(root) = &mut schema {
        root.remove("$schema");
    }
    normalise(&mut schema);
    schema
}

/// The JSON schema of an argument type as models get it: unknown arguments refused, no widths of numbers, no name
/// and description of the Rust type. [`TypedTool`](crate::TypedTool) uses it; a tool that implements
/// [`Tool`](crate::Tool) itself may too.
pub fn arguments_schema<A: schemars::JsonSchema>() -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value();
    if let Value::Object(root) = &mut schema {
        // It describes the type, for Rust readers; the tool has its own description.
        root.remove("description");
        close(root);
    }
    each_schema(&mut schema, &mut |keywords| {
        let width = |format: &Value| {
            format
                .as_str()
                .is_some_and(|format| NUMBER_WIDTHS.contains(&format))
        };
        if keywords.get("format").is_some_and(width) {
            keywords.remove("format");
        }
    });
    normalised(schema)
}

/// Whether parts of the object are described by keywords that stand beside `properties`.
pub(crate) fn is_composed(keywords: &Map<String, Value>) -> bool {
    ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"]
        .iter()
        .any(|keyword| keywords.contains_key(*keyword))
}

/// Refuses properties the schema does not name. An argument the tool would ignore is a misunderstanding the
/// model has to hear of.
fn close(root: &mut Map<String, Value>) {
    if root.contains_key("additionalProperties") || root.contains_key("unevaluatedProperties") {
        return;
    }
    let keyword = if is_composed(root) {
        "unevaluatedProperties"
    } else {
        "additionalProperties"
    };
    root.insert(keyword.into(), Value::Bool(false));
    // A type without fields has no `properties`, which some providers insist on.
    root.entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
}

fn normalise(schema: &mut Value) {
    each_schema(schema, &mut |keywords| {
        if keywords.get("title").is_some_and(Value::is_string) {
            keywords.remove("title");
        }
        for set in ["enum", "required", "type"] {
            sort(keywords.get_mut(set));
        }
        if let Some(Value::Array(kinds)) = keywords.get_mut("type") {
            // Who takes only one type into account takes the first.
            kinds.sort_by_key(|kind| kind == "null");
        }
        if let Some(Value::Object(dependencies)) = keywords.get_mut("dependentRequired") {
            dependencies.values_mut().for_each(|names| sort(Some(names)));
        }
    });
}

fn sort(list: Option<&mut Value>) {
    if let Some(Value::Array(items)) = list {
        items.sort_by(by_value);
    }
}

/// Numbers by size, texts by bytes, all else by its JSON.
fn by_value(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            let by_size = a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b));
            by_size
                .unwrap_or(Ordering::Equal)
                .then_with(|| a.to_string().cmp(&b.to_string()))
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (a, b) => a.to_string().cmp(&b.to_string()),
    }
}

/// Calls `change` with the keywords of every schema in `schema`, itself first. Values that only look like
/// schemas (a property called `title`, an example, a constant) are left alone.
fn each_schema(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let keywords = match schema {
        Value::Object(keywords) => keywords,
        Value::Array(schemas) => {
            schemas.iter_mut().for_each(|schema| each_schema(schema, change));
            return;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    change(keywords);
    for keyword in ONE.iter().chain(&LIST) {
        if let Some(schema) = keywords.get_mut(*keyword) {
            each_schema(schema, change);
        }
    }
    for keyword in NAMED {
        if let Some(Value::Object(named)) = keywords.get_mut(keyword) {
            named.values_mut().for_each(|schema| each_schema(schema, change));
        }
    }
}
