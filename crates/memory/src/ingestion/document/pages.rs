//! HTML and PDF.

use super::LONGEST_TEXT;
use super::unreadable::Unreadable;

/// The longest line that HTML is laid out to. Paragraphs are broken by whoever shows them.
const WIDTH: usize = 1_000;

/// Pages of a PDF that are looked at.
const MOST_PAGES: usize = 10_000;

/// The text of a page: no scripts, no styles, headings and lists as in Markdown.
pub(super) fn html(page: &str) -> Result<String, Unreadable> {
    let text = html2text::config::plain_no_decorate()
        .raw_mode(true)
        .string_from_read(page.as_bytes(), WIDTH)
        .map_err(|error| Unreadable::damaged("HTML")(Box::new(error)))?;
    // A rule is drawn over the whole width.
    let lines = text.lines().map(|line| {
        let is_rule = line.chars().count() > 10 && line.chars().all(|character| character == '─');
        if is_rule { "---" } else { line.trim_end() }
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The text of the pages of a PDF. Pages that cannot be read are left out, unless none can.
pub(super) fn pdf(bytes: &[u8]) -> Result<String, Unreadable> {
    let damaged = |error: lopdf::Error| Unreadable::damaged("PDF")(Box::new(error));
    let document = lopdf::Document::load_mem(bytes).map_err(damaged)?;
    if document.is_encrypted() {
        return Err(Unreadable::Encrypted);
    }
    let mut text = String::new();
    let mut failed = None;
    for page in document.get_pages().keys().take(MOST_PAGES) {
        match document.extract_text(&[*page]) {
            Ok(of_page) => {
                if !text.is_empty() && !of_page.trim().is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(of_page.trim());
            }
            Err(error) => failed = Some(error),
        }
        if text.len() > LONGEST_TEXT {
            return Err(Unreadable::TooLong);
        }
    }
    match failed {
        Some(error) if text.trim().is_empty() => Err(damaged(error)),
        Some(error) => {
            tracing::warn!(%error, "pages of a PDF cannot be read; they are left out");
            Ok(text)
        }
        None => Ok(text),
    }
}
