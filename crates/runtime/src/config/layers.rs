//! The layers over the defaults, each a source of the `config` crate whose values know where they came from.

use super::variables;
use super::{ConfigError, Location};
use config::{Map, Source, Value, ValueKind};
use std::path::Path;
use toml::de::{DeTable, DeValue};

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
        let mut layer = Self::default();
        for (keys, value) in variables::read(variables)? {
            layer.insert(&keys, value);
        }
        Ok(layer)
    }

    /// The values of flags.
    pub(super) fn of_overrides(overrides: &[Override]) -> Self {
        let mut layer = Self::default();
        for Override { key, value, flag } in overrides {
            layer.insert(key, Value::new(Some(flag), value.as_str()));
        }
        layer
    }

    /// What of `self` names a clearance of something that `other` names too, or of the owner: the limits a
    /// file has that stands in for this one.
    pub(super) fn clearances(&self, other: &Self) -> Self {
        let mut limits = Self::default();
        let mut keep = |keys: &[&str]| {
            if let Some(value) = self.get(keys) {
                let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
                limits.insert(&keys, value.clone());
            }
        };
        keep(&["policy", "clearance"]);
        keep(&["policy", "owner_named"]);
        // The clearance of an address is none of another address.
        for (section, address) in [("remote", "base_url"), ("index", "url")] {
            let address = ["memory", section, address];
            if self.get(&address).map(|value| &value.kind) == other.get(&address).map(|value| &value.kind) {
                keep(&["memory", section, "clearance"]);
            }
        }
        for name in self.names("users") {
            keep(&["users", name, "clearance"]);
        }
        for name in self.names("providers") {
            if other.get(&["providers", name]).is_some() {
                keep(&["providers", name, "clearance"]);
            }
        }
        limits
    }

    /// The value at a key.
    pub(super) fn get(&self, keys: &[&str]) -> Option<&Value> {
        let (last, sections) = keys.split_last()?;
        let mut table = &self.0;
        for section in sections {
            let ValueKind::Table(inner) = &table.get(*section)?.kind else {
                return None;
            };
            table = inner;
        }
        table.get(*last)
    }

    fn names(&self, section: &str) -> impl Iterator<Item = &str> {
        let table = match self.get(&[section]).map(|value| &value.kind) {
            Some(ValueKind::Table(table)) => Some(table),
            _ => None,
        };
        table
            .into_iter()
            .flat_map(|table| table.keys().map(String::as_str))
    }

    fn insert(&mut self, keys: &[String], value: Value) {
        insert(&mut self.0, keys, value);
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
            if let ValueKind::Table(inner) = &mut inner.kind {
                insert(inner, rest, value);
            }
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
