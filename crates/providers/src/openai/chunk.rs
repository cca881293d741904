//! A chunk of a reply, read in one pass: what is looked at of it and of its choices.

use super::fragment::{Key, Text};
use super::piece::Piece;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// `chat.completion.chunk`, or a whole `chat.completion`. Of a key that is there more than once the last counts; null is
/// as if it were not there.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    object: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) choices: Vec<Choice<'a>>,
}

/// One answer of several that could be asked for.
#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) delta: Option<Piece<'a>>,
    pub(super) message: Option<Piece<'a>>,
    /// Empty if it has not stopped.
    pub(super) finish_reason: Text<'a>,
}

impl Chunk<'_> {
    /// Whether it tells of an error, or is one.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.object.is_some_and(|object| object.get() == r#""error""#)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Chunk<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Chunk<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Chunk<'de>, A::Error> {
                let mut chunk = Chunk::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "object" => chunk.object = map.next_value()?,
                        "error" => chunk.error = map.next_value()?,
                        "usage" => chunk.usage = map.next_value()?,
                        "choices" => chunk.choices = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(chunk)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choice<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Choice<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Choice<'de>, A::Error> {
                let mut choice = Choice::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "index" => choice.index = map.next_value()?,
                        "error" => choice.error = map.next_value()?,
                        "delta" => choice.delta = map.next_value()?,
                        "message" => choice.message = map.next_value()?,
                        "finish_reason" => choice.finish_reason = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(choice)
            }
        }

        deserializer.deserialize_map(Object)
    }
}
