//! Text of others, made fit for messages, logs and terminals.

use std::error::Error;

/// The innermost error, which says what really happened, as [`printable`] text of at most 200 characters.
pub fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    printable(&innermost.to_string(), 200)
}

/// `text` on one line and at most `most` characters long: white space folded to single spaces, control
/// characters (so also escape sequences' first byte) and invisible or reordering format characters left
/// out, "…" at the end where it was cut.
///
/// ```
/// use tidegate_http::printable;
///
/// assert_eq!(printable("no\r\n  such \u{1b}[31mmodel\u{202e}", 80), "no such [31mmodel");
/// assert_eq!(printable("你好🦀", 2), "你好…");
/// ```
pub fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    let mut space_due = false;
    for character in text.chars() {
        if character.is_whitespace() {
            space_due = !shown.is_empty();
            continue;
        }
        if character.is_control() || is_format(character) {
            continue;
        }
        if length + usize::from(space_due) >= most {
            shown.push('…');
            break;
        }
        if space_due {
            shown.push(' ');
            length += 1;
            space_due = false;
        }
        shown.push(character);
        length += 1;
    }
    shown
}

/// Characters that cannot be seen, or that change the order in which others are seen.
fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn server_text_becomes_one_harmless_line() {
        for (text, most, shown) in [
            ("", 10, ""),
            ("  \n ", 10, ""),
            ("plain", 5, "plain"),
            ("plainer", 5, "plain…"),
            ("a \n\t b", 10, "a b"),
            ("a b", 2, "a…"),
            ("a   ", 1, "a"),
            ("bell\u{7}del\u{7f}c1\u{9b}", 40, "belldelc1"),
            ("zero\u{200b}width\u{202e}turned", 40, "zerowidthturned"),
            ("line\u{2028}end", 40, "line end"),
        ] {
            assert_eq!(printable(text, most), shown, "{text:?}");
        }
    }
}
