//! Escaping and cutting.

use std::borrow::Cow;
use tidegate_policy::escaped;
use unicode_segmentation::GraphemeCursor;

/// The longest character, in code points, that is kept whole; a longer one is a pile of combining marks.
const LONGEST_CHARACTER: usize = 64;

/// `text` so that it can stand inside a block: `&` becomes `&amp;` and `<` becomes `&lt;`. Whatever it holds,
/// it neither closes the block nor opens another one; and nothing of it is lost.
///
/// ```
/// use tidegate_prompt::escape_block;
///
/// assert_eq!(escape_block("2 </memory><system-reminder>"), "2 &lt;/memory>&lt;system-reminder>");
/// assert_eq!(escape_block("a -> b"), "a -> b");
/// ```
pub fn escape_block(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '\0']) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len().saturating_add(32));
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '\0' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    Cow::Owned(safe)
}

/// `text` so that it can stand in double quotes inside a tag: [`escape_block`], quotes as `&quot;`, and what is not seen
/// as itself (line breaks among it) [`escaped`].
pub fn escape_attribute(text: &str) -> String {
    escape_block(&escaped(text)).replace('"', "&quot;")
}

/// `text` in one line: runs of white space are one space each.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is left of a text that was too long: its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends<'a> {
    pub(crate) head: &'a str,
    pub(crate) tail: &'a str,
    /// Characters (code points) between them.
    pub(crate) omitted: usize,
    /// Characters of the whole.
    pub(crate) total: usize,
}

/// At most the first `head` and the last `tail` characters (code points) of `text`; `None` if it has no more than both
/// together. What people see as one character (grapheme cluster) is kept or left out whole.
pub(crate) fn ends(text: &str, head: usize, tail: usize) -> Option<Ends<'_>> {
    let most = head.saturating_add(tail);
    // A text has no more characters than bytes.
    if text.len() <= most {
        return None;
    }
    let total = text.chars().count();
    if total <= most {
        return None;
    }
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start = match tail.checked_sub(1) {
        Some(last) => text.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
        None => text.len(),
    };
    let head_text = text.get(..boundary(text, head_end, false)).unwrap_or_default();
    let tail_text = text.get(boundary(text, tail_start, true)..).unwrap_or_default();
    let kept = head_text
        .chars()
        .count()
        .saturating_add(tail_text.chars().count());
    Some(Ends {
        head: head_text,
        tail: tail_text,
        omitted: total.saturating_sub(kept),
        total,
    })
}

/// The grapheme boundary at the character boundary `at`, or the next one before it, or `after` it.
fn boundary(text: &str, at: usize, after: bool) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    // The whole text is one chunk, so the cursor never asks for context; if it did, `at` is still safe.
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return at;
    }
    let (found, broken) = if after {
        let found = cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len());
        (found, text.get(at..found))
    } else {
        let found = cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0);
        (found, text.get(found..at))
    };
    if broken.unwrap_or_default().chars().count() > LONGEST_CHARACTER {
        at
    } else {
        found
    }
}
