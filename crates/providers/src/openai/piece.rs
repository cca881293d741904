//! What a chunk brings of a reply: a `delta` or a whole `message`, read in the same pass as the chunk.

use super::calls::Fragment;
use super::fragment::{Key, Text};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A `delta` or a whole `message`. Of a key that is there more than once the last counts; null is as if it were not there.
#[derive(Debug, Default)]
pub(super) struct Piece<'a> {
    pub(super) content: Content<'a>,
    /// What the model says instead of an answer.
    pub(super) refusal: Text<'a>,
    pub(super) reasoning_content: Text<'a>,
    pub(super) reasoning: Text<'a>,
    pub(super) reasoning_details: Vec<&'a RawValue>,
    pub(super) extra_content: Option<&'a RawValue>,
    pub(super) tool_calls: Vec<Fragment<'a>>,
}

/// Text, null, or an array of parts.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    /// It has a part that is not text.
    NotText,
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Piece<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Piece<'de>, A::Error> {
                let mut piece = Piece::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "content" => piece.content = map.next_value()?,
                        "refusal" => piece.refusal = map.next_value()?,
                        "reasoning_content" => piece.reasoning_content = map.next_value()?,
                        "reasoning" => piece.reasoning = map.next_value()?,
                        "reasoning_details" => piece.reasoning_details = list(&mut map)?,
                        "extra_content" => piece.extra_content = map.next_value()?,
                        "tool_calls" => piece.tool_calls = list(&mut map)?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(piece)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The list that comes next; empty for null.
fn list<'de, A: MapAccess<'de>, T: Deserialize<'de>>(map: &mut A) -> Result<Vec<T>, A::Error> {
    Ok(map.next_value::<Option<_>>()?.unwrap_or_default())
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, null or an array of parts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Content<'de>, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content<'de>, A::Error> {
                let (mut said, mut is_text) = (String::new(), true);
                while let Some(Part { r#type, text }) = parts.next_element()? {
                    is_text &= r#type.0 == "text";
                    said.push_str(&text.0);
                }
                Ok(if is_text {
                    Content::Text(Cow::Owned(said))
                } else {
                    Content::NotText
                })
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// A part of the content.
#[derive(serde::Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    r#type: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
}
