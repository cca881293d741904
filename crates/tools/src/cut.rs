//! Placeholder.
/// A text that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What is left, with a mark.
    pub text: String,
    /// Characters left out.
    pub omitted_chars: usize,
}
/// Cuts `text` to at most `max_chars` characters (grapheme-safe), naming `source` in the mark; `None` if it fits.
pub fn cut_text(_text: &str, _max_chars: usize, _source: &str) -> Option<Cut> {
    None
}
