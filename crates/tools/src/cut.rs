//! Cutting text without breaking a character.

use unicode_segmentation::GraphemeCursor;

/// The longest character, in code points, that is kept whole. Real ones (families, flags of regions) have
/// about ten; a pile of thousands of combining marks is an attack, and is cut between two of them.
const LONGEST_CHARACTER: usize = 64;

/// A text that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What is left, with a mark.
    pub text: String,
    /// Characters (Unicode code points) left out.
    pub omitted_chars: usize,
}

/// Cuts `text` to its first `max_chars` characters (Unicode code points) and adds a line that says how much
/// is missing and where the full text is; `None` if it fits. A character as people see it (grapheme cluster:
/// an emoji with joiners, a letter with its accents, CR LF) is kept whole or left out whole.
///
/// The work is one count over the text; only the neighbourhood of the cut is segmented.
///
/// ```
/// let cut = tidegate_tools::cut_text("water 🌊 over the weir", 7, "src_1").unwrap();
/// assert_eq!(cut.text, "water 🌊\n[cut: 14 of 21 characters left out; full text: source src_1]");
/// assert_eq!(tidegate_tools::cut_text("short", 7, "src_2"), None);
/// ```
pub fn cut_text(text: &str, max_chars: usize, source: &str) -> Option<Cut> {
    let kept = graphemes_within(text, max_chars);
    let rest = text.get(kept.len()..).unwrap_or_default();
    if rest.is_empty() {
        return None;
    }
    let omitted_chars = rest.chars().count();
    let total = kept.chars().count().saturating_add(omitted_chars);
    let text =
        format!("{kept}\n[cut: {omitted_chars} of {total} characters left out; full text: source {source}]");
    Some(Cut { text, omitted_chars })
}

/// The longest beginning of `text` that has at most `max_chars` characters (Unicode code points) and does not
/// end inside a grapheme cluster. It looks at no more of the text than that.
pub fn graphemes_within(text: &str, max_chars: usize) -> &str {
    // A text has no more characters than bytes.
    if text.len() <= max_chars {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return text;
    };
    text.get(..boundary_at_or_before(text, end)).unwrap_or_default()
}

/// The grapheme boundary at or before the character boundary `end`.
fn boundary_at_or_before(text: &str, end: usize) -> usize {
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    // The whole text is one chunk, so the cursor never asks for context; if it did, `end` is still safe.
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return end;
    }
    let boundary = cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0);
    let broken = text.get(boundary..end).unwrap_or_default();
    if broken.chars().count() > LONGEST_CHARACTER {
        end
    } else {
        boundary
    }
}
