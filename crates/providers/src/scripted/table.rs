//! Reading TOML so that every complaint has a place.

use super::Place;
use super::scenario::ScenarioError;
use serde_json::{Map, Number, Value};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file that is read.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) name: &'a Arc<str>,
    pub(super) text: &'a str,
}

/// One table of it.
pub(super) struct Table<'a> {
    file: File<'a>,
    /// How it is called in messages: `[[reply]]`.
    name: &'static str,
    entries: &'a DeTable<'a>,
    start: usize,
}

impl<'a> File<'a> {
    pub(super) fn place(self, offset: usize) -> Place {
        Place::at(self.name, self.text, offset)
    }

    /// The table `value`, all of whose keys are in `valid`.
    pub(super) fn table(
        self,
        name: &'static str,
        value: &'a Spanned<DeValue<'a>>,
        valid: &'static [&'static str],
    ) -> Result<Table<'a>, ScenarioError> {
        match value.get_ref() {
            DeValue::Table(entries) => self.checked(name, entries, value.span().start, valid),
            other => Err(self.wrong_type(value.span().start, name, "a table", other)),
        }
    }

    /// The same for a table that is one already.
    pub(super) fn checked(
        self,
        name: &'static str,
        entries: &'a DeTable<'a>,
        start: usize,
        valid: &'static [&'static str],
    ) -> Result<Table<'a>, ScenarioError> {
        let unknown = entries
            .keys()
            .filter(|key| !valid.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            Some(key) => Err(ScenarioError::UnknownKey {
                place: self.place(key.span().start),
                key: key.get_ref().to_string(),
                table: name,
                hint: format!(
                    "{} Its keys are {}",
                    nearest(key.get_ref(), valid),
                    valid.join(", ")
                ),
            }),
            None => Ok(Table {
                file: self,
                name,
                entries,
                start,
            }),
        }
    }

    fn wrong_type(
        self,
        offset: usize,
        key: &str,
        expected: &'static str,
        found: &DeValue<'_>,
    ) -> ScenarioError {
        ScenarioError::WrongType {
            place: self.place(offset),
            key: key.to_owned(),
            expected,
            found: shown(found),
        }
    }
}

impl<'a> Table<'a> {
    pub(super) fn place(&self) -> Place {
        self.file.place(self.start)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entries.get(key)
    }

    /// Where the value of `key` stands; the table's own place if there is none.
    pub(super) fn place_of(&self, key: &str) -> Place {
        self.get(key)
            .map_or_else(|| self.place(), |value| self.file.place(value.span().start))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, ScenarioError> {
        self.read(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, ScenarioError> {
        let items = self.items(key, "an array of strings")?;
        items
            .enumerate()
            .map(|(index, item)| match item.get_ref().as_str() {
                Some(text) => Ok(text.to_owned()),
                None => {
                    let key = format!("{key}[{index}]");
                    Err(self
                        .file
                        .wrong_type(item.span().start, &key, "a string", item.get_ref()))
                }
            })
            .collect()
    }

    /// A whole number from `least` on.
    pub(super) fn number(&self, key: &str, least: u64) -> Result<Option<u64>, ScenarioError> {
        let expected = if least == 0 {
            "a whole number from 0 on"
        } else {
            "a whole number from 1 on"
        };
        self.read(key, expected, |value| {
            let value = value.as_integer()?;
            u64::from_str_radix(value.as_str(), value.radix())
                .ok()
                .filter(|number| *number >= least)
        })
    }

    /// One of `valid`.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        valid: &[(&'static str, T)],
    ) -> Result<Option<T>, ScenarioError> {
        let Some(given) = self.text(key)? else {
            return Ok(None);
        };
        match valid.iter().find(|(name, _)| *name == given) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let names: Vec<&'static str> = valid.iter().map(|(name, _)| *name).collect();
                Err(ScenarioError::UnknownChoice {
                    place: self.place_of(key),
                    key: key.to_owned(),
                    hint: format!("{} Write one of {}", nearest(&given, &names), names.join(", ")),
                    given,
                })
            }
        }
    }

    /// The tables of the array `key`.
    pub(super) fn tables(
        &self,
        key: &str,
        name: &'static str,
        valid: &'static [&'static str],
    ) -> Result<Vec<Table<'a>>, ScenarioError> {
        let items = self.items(key, "an array of tables")?;
        items.map(|item| self.file.table(name, item, valid)).collect()
    }

    /// The table `key`.
    pub(super) fn table(
        &self,
        key: &str,
        name: &'static str,
        valid: &'static [&'static str],
    ) -> Result<Option<Table<'a>>, ScenarioError> {
        self.get(key)
            .map(|value| self.file.table(name, value, valid))
            .transpose()
    }

    /// The table `key` as JSON.
    pub(super) fn json(&self, key: &str) -> Result<Option<Value>, ScenarioError> {
        match self.get(key) {
            Some(value) if value.get_ref().is_table() => to_json(self.file, key, value).map(Some),
            Some(value) => Err(self
                .file
                .wrong_type(value.span().start, key, "a table", value.get_ref())),
            None => Ok(None),
        }
    }

    pub(super) fn missing(&self, key: &'static str) -> ScenarioError {
        ScenarioError::MissingKey {
            place: self.place(),
            key,
            table: self.name,
        }
    }

    fn items(
        &self,
        key: &str,
        expected: &'static str,
    ) -> Result<impl Iterator<Item = &'a Spanned<DeValue<'a>>> + use<'a>, ScenarioError> {
        let array = match self.get(key) {
            Some(value) => match value.get_ref().as_array() {
                Some(array) => Some(array),
                None => {
                    return Err(self
                        .file
                        .wrong_type(value.span().start, key, expected, value.get_ref()));
                }
            },
            None => None,
        };
        Ok(array.into_iter().flat_map(|items| items.iter()))
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<T>, ScenarioError> {
        self.get(key)
            .map(|value| {
                read(value.get_ref()).ok_or_else(|| {
                    self.file
                        .wrong_type(value.span().start, key, expected, value.get_ref())
                })
            })
            .transpose()
    }
}

fn to_json(file: File<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, ScenarioError> {
    let number = |number: Option<Number>| {
        number.map(Value::Number).ok_or_else(|| {
            file.wrong_type(
                value.span().start,
                key,
                "made of numbers that JSON can write",
                value.get_ref(),
            )
        })
    };
    match value.get_ref() {
        DeValue::String(text) => Ok(Value::from(text.as_ref())),
        DeValue::Boolean(boolean) => Ok(Value::from(*boolean)),
        DeValue::Datetime(datetime) => Ok(Value::from(datetime.to_string())),
        DeValue::Integer(integer) => number(
            i64::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .map(Number::from),
        ),
        DeValue::Float(float) => number(float.as_str().parse().ok().and_then(Number::from_f64)),
        DeValue::Array(items) => items.iter().map(|item| to_json(file, key, item)).collect(),
        DeValue::Table(entries) => {
            let entries: Result<Map<String, Value>, ScenarioError> = entries
                .iter()
                .map(|(key, value)| Ok((key.get_ref().to_string(), to_json(file, key.get_ref(), value)?)))
                .collect();
            entries.map(Value::Object)
        }
    }
}

/// A value in a message: a number as it is written, else what it is.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::String(_) => "a string".into(),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(_) => "a date or time".into(),
        DeValue::Array(_) => "an array".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// The end of a sentence: "; did you mean …?", or a full stop if nothing is near.
fn nearest(given: &str, valid: &[&'static str]) -> String {
    valid
        .iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map_or_else(|| ".".to_owned(), |(_, name)| format!("; did you mean {name:?}?"))
}
