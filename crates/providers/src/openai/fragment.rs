//! Reading the pieces of a reply without losing a byte of what is not known.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// An object's fields, their values as they came. Chunks have few, so that looking through them all is quickest.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The value of `key`; the last one if it is there more than once.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == key)
            .map(|(_, raw)| *raw)
    }

    /// Takes the value of `key` out.
    pub(super) fn remove(&mut self, key: &str) -> Option<&'a RawValue> {
        let raw = self.get(key)?;
        self.0.retain(|(known, _)| known != key);
        Some(raw)
    }

    /// What is left, each key once.
    pub(super) fn into_map(self) -> BTreeMap<String, &'a RawValue> {
        let fields = self.0.into_iter();
        fields.map(|(key, raw)| (key.into_owned(), raw)).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Object).map(Fields)
    }
}

/// A key, borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Why something is no reply. The text never quotes what the model said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    /// For this reason, a clause without a full stop.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// `what` is not JSON of the wanted shape.
    pub(super) fn json(what: &str, error: &serde_json::Error) -> Self {
        // The parser's own words may quote the text.
        let kind = match error.classify() {
            serde_json::error::Category::Data => "JSON of another shape than expected",
            serde_json::error::Category::Eof => "JSON that ends too early",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "not valid JSON",
        };
        Self(format!(
            "{what} is {kind} (line {}, column {})",
            error.line(),
            error.column()
        ))
    }
}

/// The fields of the object `raw`, which `what` names.
pub(super) fn fields<'a>(raw: &'a RawValue, what: &str) -> Result<Fields<'a>, Malformed> {
    serde_json::from_str(raw.get()).map_err(|error| Malformed::json(what, &error))
}

/// The text `raw`, empty for null; `what` names it.
pub(super) fn text(raw: &RawValue, what: &str) -> Result<String, Malformed> {
    let text: Option<String> = serde_json::from_str(raw.get())
        .map_err(|error| Malformed::json(&format!("`{what}` of the reply"), &error))?;
    Ok(text.unwrap_or_default())
}

/// Takes the text `key` out of `fields`; empty if it is missing or null.
pub(super) fn text_field(fields: &mut Fields<'_>, key: &str) -> Result<String, Malformed> {
    fields
        .remove(key)
        .map_or_else(|| Ok(String::new()), |raw| text(raw, key))
}

/// Takes the array `key` out of `fields`; empty if it is missing or null.
pub(super) fn array_field<'a>(fields: &mut Fields<'a>, key: &str) -> Result<Vec<&'a RawValue>, Malformed> {
    fields
        .remove(key)
        .map_or_else(|| Ok(Vec::new()), |raw| array(raw, key))
}

/// The elements of the array `raw`, none for null; `what` names it.
pub(super) fn array<'a>(raw: &'a RawValue, what: &str) -> Result<Vec<&'a RawValue>, Malformed> {
    let items: Option<Vec<&RawValue>> = serde_json::from_str(raw.get())
        .map_err(|error| Malformed::json(&format!("`{what}` of the reply"), &error))?;
    Ok(items.unwrap_or_default())
}
