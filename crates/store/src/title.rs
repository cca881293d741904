//! A session's title.

use tidegate_message::UserMessage;

/// The longest title, in characters.
const LONGEST_TITLE: usize = 80;

/// The first words of a message, on one line.
pub(crate) fn title(message: &UserMessage) -> String {
    let mut title = String::new();
    let mut length = 0;
    let characters = message
        .content
        .iter()
        .filter_map(|part| part.as_text())
        .flat_map(|text| text.chars().chain([' ']));
    for character in characters {
        if length == LONGEST_TITLE {
            break;
        }
        if reorders(character) {
            continue;
        }
        let character = if character.is_control() || character.is_whitespace() {
            ' '
        } else {
            character
        };
        if character == ' ' && (title.is_empty() || title.ends_with(' ')) {
            continue;
        }
        title.push(character);
        length += 1;
    }
    title.truncate(title.trim_end().len());
    title
}

/// Whether a character only changes the direction in which others are shown.
fn reorders(character: char) -> bool {
    let isolates = '\u{2066}'..='\u{2069}';
    let embeddings = '\u{202a}'..='\u{202e}';
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}'];
    marks.contains(&character) || embeddings.contains(&character) || isolates.contains(&character)
}

#[cfg(test)]
mod tests {
    use super::title;
    use tidegate_message::{Author, Content, UserMessage};

    #[test]
    fn a_title_is_one_line_of_at_most_80_characters() {
        let long = "é".repeat(100);
        let cases: [(&[&str], &str); 9] = [
            (&["How are you?"], "How are you?"),
            (&["  two\n\n lines\t "], "two lines"),
            (&["a\u{1b}[31mred\u{0}b"], "a [31mred b"),
            (&["\u{202e}gnp.exe\u{2066}"], "gnp.exe"),
            (&["first", "second"], "first second"),
            (&[], ""),
            (&["\n\u{7}\n"], ""),
            (&[&long], &"é".repeat(80)),
            (&[&format!("{} x", "🦀".repeat(79))], &"🦀".repeat(79)),
        ];
        for (texts, expected) in cases {
            let content = texts.iter().map(|text| Content::text(*text)).collect();
            assert_eq!(
                title(&UserMessage::new(Author::Person, content)),
                *expected,
                "{texts:?}"
            );
        }
    }
}
