//! Printing, for people and for programs.

use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write as _};

/// Prints one JSON object on a line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints text as it is, with the characters escaped that could play with a terminal.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a line of text.
pub(crate) fn line(line: &str) -> anyhow::Result<()> {
    text(line)?;
    text("\n")
}

/// Tells of an error: what happened, then each deeper cause on its own line.
pub(crate) fn error(error: &anyhow::Error, as_json: bool) {
    let mut message = error.to_string();
    let mut causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
    causes.dedup();
    causes.retain(|cause| !message.contains(cause.as_str()));
    for cause in &causes {
        message.push_str("\n  because: ");
        message.push_str(cause);
    }
    // Standard output or error may be gone; there is nobody left to tell then.
    if as_json {
        let object = serde_json::json!({ "error": message });
        let _ = writeln!(io::stdout().lock(), "{object}");
    } else {
        let _ = writeln!(io::stderr().lock(), "error: {}", printable(&message));
    }
}

/// The text with line breaks and tabs kept, and every other control, escape and bidi character escaped.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text
        .split(['\n', '\t'])
        .all(|cell| matches!(tidegate_policy::escaped(cell), Cow::Borrowed(_)))
    {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push('\n');
        }
        for (index, cell) in line.split('\t').enumerate() {
            if index > 0 {
                escaped.push('\t');
            }
            escaped.push_str(&tidegate_policy::escaped(cell));
        }
    }
    Cow::Owned(escaped)
}

/// The first characters of a text on one line.
pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    let line = tidegate_policy::escaped(text);
    let mut short: String = line.chars().take(max_chars).collect();
    if line.chars().nth(max_chars).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_could_play_with_a_terminal_is_printed() {
        for (given, expected) in [
            ("plain\n\ttext ü 你好🦀", "plain\n\ttext ü 你好🦀"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\rb", "a\\rb"),
            ("\u{202e}abc", "\\u{202e}abc"),
            ("\u{9b}31m", "\\u{9b}31m"),
        ] {
            assert_eq!(printable(given), expected);
        }
    }

    #[test]
    fn long_lines_are_shortened_by_characters() {
        assert_eq!(shortened("你好世界", 2), "你好…");
        assert_eq!(shortened("ab", 2), "ab");
    }
}
