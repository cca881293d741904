//! The layers over the defaults, each a source of the `config` crate whose values know where they came from.

use super::{ConfigError, Location};
use config::{Map, Source, Value};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The prefix of variables: `TIDEGATE__SECTION__KEY`.
const PREFIX: &str = "TIDEGATE__";

/// Values of one layer, ready made.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer(Map<String, Value>);

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.0.clone())
    }
}

/// A value from a flag of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The keys from the section down.
    pub key: Vec<String>,
    /// The value, as text.
    pub value: String,
    /// The flag, for people: `--model-policy`.
    pub flag: String,
}

impl Layer {
    /// The values of a TOML file, each with `FILE:LINE` as its origin.
    pub(super) fn of_file(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let table = DeTable::parse(text).map_err(|error| ConfigError::File {
            at: Location::of(file, text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
            hint: None,
        })?;
        let origin = |offset| {
            let at = Location::of(file, text, offset);
            format!("{}:{}", at.file.display(), at.line)
        };
        Ok(Self(table_of(table.into_inner(), &origin)))
    }

    /// The values of the variables that start with `TIDEGATE__`; lists and tables are written as JSON.
    pub(super) fn of_variables<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Map::new();
        for (name, text) in variables {
            let Some(path) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let keys: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
            if keys.iter().any(String::is_empty) {
                return Err(ConfigError::Variable {
                    name: name.to_owned(),
                    message: "expected TIDEGATE__SECTION__KEY".into(),
                });
            }
            let value = value_of_text(text, name).map_err(|error| ConfigError::Variable {
                name: name.to_owned(),
                message: format!("looks like a list or table but is no JSON: {error}"),
            })?;
            insert(&mut layer, &keys, value);
        }
        Ok(Self(layer))
    }

    /// The values of flags.
    pub(super) fn of_overrides(overrides: &[Override]) -> Self {
        let mut layer = Map::new();
        for Override { key, value, flag } in overrides {
            insert(&mut layer, key, Value::new(Some(flag), value.as_str()));
        }
        Self(layer)
    }
}

fn insert(table: &mut Map<String, Value>, keys: &[String], value: Value) {
    match keys {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(first.clone())
                .or_insert_with(|| Value::new(None, Map::<String, Value>::new()));
            if let config::ValueKind::Table(inner) = &mut inner.kind {
                insert(inner, rest, value);
            }
        }
    }
}

fn value_of_text(text: &str, origin: &str) -> Result<Value, serde_json::Error> {
    let origin = origin.to_owned();
    if text.trim_start().starts_with(['[', '{']) {
        serde_json::from_str(text).map(|json| value_of_json(&json, &origin))
    } else {
        Ok(Value::new(Some(&origin), text))
    }
}

fn value_of_json(json: &serde_json::Value, origin: &String) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::new(Some(origin), config::ValueKind::Nil),
        Json::Bool(value) => Value::new(Some(origin), *value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::new(Some(origin), integer),
            None => Value::new(Some(origin), number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::new(Some(origin), text.as_str()),
        Json::Array(items) => {
            let items: Vec<Value> = items.iter().map(|item| value_of_json(item, origin)).collect();
            Value::new(Some(origin), items)
        }
        Json::Object(members) => {
            let members: Map<String, Value> = members
                .iter()
                .map(|(key, value)| (key.clone(), value_of_json(value, origin)))
                .collect();
            Value::new(Some(origin), members)
        }
    }
}

fn table_of(table: DeTable<'_>, origin: &dyn Fn(usize) -> String) -> Map<String, Value> {
    table
        .into_iter()
        .map(|(key, value)| {
            let at = origin(key.span().start);
            (
                key.into_inner().into_owned(),
                value_of(value.into_inner(), &at, origin),
            )
        })
        .collect()
}

/// Numbers that do not fit become text: the strict reading of the file has refused them before.
fn value_of(value: DeValue<'_>, at: &String, origin: &dyn Fn(usize) -> String) -> Value {
    match value {
        DeValue::String(text) => Value::new(Some(at), text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(integer) => Value::new(Some(at), integer),
            Err(_) => Value::new(Some(at), number.as_str()),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(float) => Value::new(Some(at), float),
            Err(_) => Value::new(Some(at), number.as_str()),
        },
        DeValue::Boolean(value) => Value::new(Some(at), value),
        DeValue::Datetime(moment) => Value::new(Some(at), moment.to_string()),
        DeValue::Array(items) => {
            let items: Vec<Value> = items
                .into_iter()
                .map(|item| value_of(item.into_inner(), at, origin))
                .collect();
            Value::new(Some(at), items)
        }
        DeValue::Table(table) => Value::new(Some(at), table_of(table, origin)),
    }
}
