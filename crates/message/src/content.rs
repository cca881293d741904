//! What a person or a tool can say: text, images, files.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes in base64 (standard alphabet, padded), as providers want them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Data(Arc<str>);

impl Data {
    /// Wraps text that is base64 already.
    pub fn from_base64(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The base64 text.
    pub fn as_base64(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of base64", self.0.len())
    }
}

/// One part of a user's message or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// Its bytes.
        data: Data,
    },
    /// Any other file.
    File {
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its bytes.
        data: Data,
    },
}

impl Content {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::File { .. } => None,
        }
    }
}

/// The text parts, joined by line breaks.
pub fn joined_text<'a>(content: impl IntoIterator<Item = &'a Content>) -> String {
    let texts: Vec<&str> = content.into_iter().filter_map(Content::as_text).collect();
    texts.join("\n")
}
