//! Text as it may be stored and sent.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Stands for what cannot be kept.
const REPLACEMENT: char = '\u{fffd}';

/// `text` with every NUL replaced by U+FFFD: databases and C libraries end a text at a NUL, and what they then keep is
/// not what was sent. All other characters stay.
///
/// Lone surrogates cannot be in a `str`; see [`LossyText`] for text that comes from JSON.
pub fn sanitise(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text that may come with lone surrogates (`"\ud83d"` in JSON, what is left of an emoji that some other program cut
/// in two): each becomes one U+FFFD, as does each NUL and each run of bytes that is no UTF-8. A plain `String` refuses
/// the whole document for them.
///
/// Reads strings and, from formats that have them, bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossyText(
    /// The text, sanitised.
    pub String,
);

impl LossyText {
    /// The text of `bytes`, which are UTF-8 except for what is to be replaced.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            // A surrogate in the form of UTF-8 is three bytes, and none of them is valid by itself.
            if let [0xed, 0xa0..=0xbf, 0x80..=0xbf, after @ ..] = rest {
                text.push(REPLACEMENT);
                rest = after;
                continue;
            }
            let surrogate = rest
                .windows(3)
                .position(|window| matches!(window, [0xed, 0xa0..=0xbf, 0x80..=0xbf]));
            let (before, after) = rest
                .split_at_checked(surrogate.unwrap_or(rest.len()))
                .unwrap_or((rest, &[]));
            text.push_str(&sanitise(&String::from_utf8_lossy(before)));
            rest = after;
        }
        Self(text)
    }
}

impl<'de> Deserialize<'de> for LossyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = LossyText;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<LossyText, E> {
                Ok(LossyText(sanitise(text).into_owned()))
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<LossyText, E> {
                Ok(LossyText::from_bytes(bytes))
            }
        }

        // As bytes: serde_json then gives a string with its lone surrogates instead of an error.
        deserializer.deserialize_bytes(Text)
    }
}
