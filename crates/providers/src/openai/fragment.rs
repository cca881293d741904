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

    /// Adds a field.
    pub(super) fn push(&mut self, key: Cow<'a, str>, value: &'a RawValue) {
        self.0.push((key, value));
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes they take.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|(key, raw)| key.len() + raw.get().len()).sum()
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

/// Text, borrowed where it holds no escapes; empty for null.
#[derive(Debug, Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNull;

        impl<'de> Visitor<'de> for TextOrNull {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or null")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(TextOrNull)
    }
}

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
