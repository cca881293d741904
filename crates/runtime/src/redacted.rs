//! Redacted texts on their way back to where they were taken from.

use tidegate_message::Content;

/// Puts `texts` in the place of the text parts of `content`, in order: as many as there are.
pub(crate) fn put_back(content: &mut [Content], texts: impl IntoIterator<Item = String>) {
    let parts = content.iter_mut().filter_map(|part| match part {
        Content::Text { text } => Some(text),
        Content::Image { .. } | Content::File { .. } => None,
    });
    for (part, text) in parts.zip(texts) {
        *part = text;
    }
}
