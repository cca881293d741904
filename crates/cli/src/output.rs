//! Printing, for people and for programs.

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// Nobody reads what is printed any more, as in `tidegate events | head`: no fault, and nothing to tell anybody.
#[derive(Debug)]
pub(crate) struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

/// Prints one JSON object on a line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = json_text(value)?;
    text.push('\n');
    write(&text)
}

/// The value as JSON on one line, in which the characters that could play with a terminal are escaped.
pub(crate) fn json_text(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string(value)?;
    if text.chars().all(is_harmless) {
        return Ok(text);
    }
    // All structure of JSON is ASCII, so what is escaped here stands in a string.
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmless(character) {
            safe.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(safe, "\\u{unit:04x}")?;
            }
        }
    }
    Ok(safe)
}

/// Prints text, with the characters escaped that could play with a terminal.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    write(&printable(text))
}

/// Prints text as it is, to a file or another program; at a terminal as [`line`] does.
pub(crate) fn exact(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        line(text.strip_suffix('\n').unwrap_or(text))
    } else {
        write(text)
    }
}

/// Prints a line of text.
pub(crate) fn line(line: &str) -> anyhow::Result<()> {
    let mut text = printable(line).into_owned();
    text.push('\n');
    write(&text)
}

/// Prints a text of several lines below a heading. None of its lines looks like a heading or a mark of ours: those that
/// would are moved in by a space.
pub(crate) fn body(body: &str) -> anyhow::Result<()> {
    let mut text = String::with_capacity(body.len() + 1);
    for one in printable(body).split('\n') {
        if one.starts_with(['─', '→', '←']) {
            text.push(' ');
        }
        text.push_str(one);
        text.push('\n');
    }
    write(&text)
}

/// The text on one line, whatever it holds: it cannot look like another row.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n").replace('\t', "\\t")
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        Err(error) => Err(error).context("cannot write to standard output"),
    }
}

/// Tells something on standard error.
pub(crate) fn tell(line: &str) {
    styled(line, Style::new());
}

/// Tells something less important on standard error.
pub(crate) fn aside(line: &str) {
    styled(line, DIM);
}

/// Tells something on standard error, in a style where it is a terminal.
pub(crate) fn styled(line: &str, style: Style) {
    // Standard error may be gone; there is nobody left to tell then.
    let _ = writeln!(anstream::stderr().lock(), "{style}{}{style:#}", printable(line));
}

/// Tells of what went wrong on standard error.
pub(crate) fn failure(word: &str, message: &str) {
    let message = printable(message);
    let _ = writeln!(anstream::stderr().lock(), "{ERROR}{word}:{ERROR:#} {message}");
}

/// Tells of an error: what happened, then each deeper cause on its own line.
pub(crate) fn error(error: &anyhow::Error, as_json: bool) {
    let message = with_causes(error);
    if as_json {
        // What cannot be written to standard output is told on standard error.
        if json(&serde_json::json!({ "status": "error", "error": message })).is_ok() {
            return;
        }
    }
    failure("error", &message);
}

/// Tells of what the policy does not let happen.
pub(crate) fn blocked(error: &anyhow::Error, as_json: bool) -> anyhow::Result<()> {
    let message = with_causes(error);
    if as_json {
        return json(&serde_json::json!({ "status": "blocked", "error": message }));
    }
    failure("blocked", &message);
    Ok(())
}

/// The message of an error with those of its causes, one on a line.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    let mut last = String::new();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Many errors repeat the one below them, or wrap it in a few words.
        let told = message.contains(&cause) || (!last.is_empty() && cause.contains(&last));
        if !told {
            message.push_str("\n  because: ");
            message.push_str(&cause);
            last = cause;
        }
    }
    message
}

/// The text with everything escaped that could play with a terminal: controls other than line break and tab,
/// so ANSI sequences and carriage returns, bidirectional marks, and what is never seen. What writing needs
/// stays: the spaces of other scripts, joiners between their letters, variants of emoji.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text
        .chars()
        .all(|character| matches!(character, ' '..='~' | '\n' | '\t'))
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
            && before.is_some_and(|before: char| !before.is_ascii() || before.is_ascii_digit())
            && (matches!(character, '\u{fe0e}' | '\u{fe0f}')
                || characters.peek().is_some_and(|after| !after.is_ascii()));
        if joins || matches!(character, '\n' | '\t') || is_harmless(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
        before = Some(character);
    }
    Cow::Owned(shown)
}

/// Whether the character may be printed, whatever stands beside it.
fn is_harmless(character: char) -> bool {
    let is_space = matches!(
        character,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    );
    let mut bytes = [0; 4];
    is_space
        || matches!(
            tidegate_policy::escaped(character.encode_utf8(&mut bytes)),
            Cow::Borrowed(_)
        )
}

/// The first characters of a text on one line.
pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    let line = text.trim().replace(['\n', '\t'], " ");
    let line = printable(&line);
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
            ("a\u{8}b\u{7}\u{7f}", "a\\u{8}b\\u{7}\\u{7f}"),
            ("\u{202e}abc", "\\u{202e}abc"),
            ("\u{2066}abc\u{2069}", "\\u{2066}abc\\u{2069}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{2028}b", "a\\u{2028}b"),
            ("pay\u{200d}pal", "pay\\u{200d}pal"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(printable(given), expected);
        }
    }

    #[test]
    fn what_writing_needs_is_printed() {
        for text in [
            "une question\u{202f}: 12\u{a0}000 €",
            "你好\u{3000}世界",
            "⚠\u{fe0f} 1\u{fe0f}\u{20e3} 👩\u{200d}🚀",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "שלום",
        ] {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn json_says_the_same_without_what_could_play_with_a_terminal() {
        for (given, expected) in [
            ("a\u{1b}[2J\r\n", r#""a\u001b[2J\r\n""#),
            ("\u{9b}\u{7f}\u{202e}", r#""\u009b\u007f\u202e""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("ü你🦀", "\"ü你🦀\""),
        ] {
            let text = json_text(&given).unwrap();
            assert_eq!(text, expected);
            assert_eq!(serde_json::from_str::<String>(&text).unwrap(), given);
        }
    }

    #[test]
    fn no_text_looks_like_another_row() {
        assert_eq!(
            one_line("a\nb\tc\r\u{1b}[2Jd ⚠\u{fe0f}"),
            "a\\nb\\tc\\r\\u{1b}[2Jd ⚠\u{fe0f}"
        );
    }

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("disk full")
            .context("Error code 13: disk full")
            .context("the store: disk full");
        assert_eq!(
            with_causes(&error),
            "the store: disk full\n  because: Error code 13: disk full"
        );
        let error = anyhow::anyhow!("Error code 13: disk full")
            .context("disk full")
            .context("it failed");
        assert_eq!(with_causes(&error), "it failed\n  because: disk full");
    }

    #[test]
    fn long_lines_are_shortened_by_characters() {
        for (given, expected) in [("你好世界", "你好…"), ("ab", "ab"), (" a\nb", "a …"), ("", "")] {
            assert_eq!(shortened(given, 2), expected);
        }
    }
}
