//! The words of a message, as they are searched: folded, and split where no script is favoured.
//!
//! A word is a run of letters and digits. Chinese, Japanese, Thai and other scripts without spaces between words
//! are split into their characters, so that any part of a text is found as a row of them.

use tidegate_message::{AssistantPart, Body, Content, Entry};

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if is_alone(character) {
            words.extend(taken(&mut word));
            words.push(character.to_string());
        } else if character.is_alphanumeric() || joins(character) {
            word.push(character);
        } else {
            words.extend(taken(&mut word));
        }
    }
    words.extend(taken(&mut word));
    words
}

fn taken(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

/// Whether a character is a word by itself.
fn is_alone(character: char) -> bool {
    character.is_alphanumeric()
        && matches!(u32::from(character),
            // Thai and Lao; Myanmar; Khmer; kana; ideographs; their compatibility forms and rare ones.
            0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff
            | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Whether a mark belongs to the letter before it: an accent that stands by itself.
fn joins(character: char) -> bool {
    matches!(u32::from(character), 0x0300..=0x036f | 0x093c | 0x094d)
}

/// What is looked for: rows of words, each as a person wrote it without a space in it.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    text.split_whitespace()
        .map(words)
        .filter(|row| !row.is_empty())
        .collect()
}

/// Whether all rows stand in `words`; of each the last word may go on.
pub(crate) fn found(words: &[String], rows: &[Vec<String>]) -> bool {
    rows.iter().all(|row| {
        let Some((last, first)) = row.split_last() else {
            return true;
        };
        words.windows(row.len()).any(|window| match window.split_last() {
            Some((end, before)) => before == first && end.starts_with(last.as_str()),
            None => false,
        })
    })
}

/// What a message says: texts, names and arguments of calls, results. Thinking is left out.
pub(crate) fn text_of(entry: &Entry) -> String {
    let mut text = String::new();
    let mut add = |part: &str| {
        text.push_str(part);
        text.push('\n');
    };
    match &entry.body {
        Body::User(message) => message.content.iter().filter_map(said).for_each(&mut add),
        Body::Assistant(message) => {
            for part in &message.parts {
                match part {
                    AssistantPart::Text { text } => add(text),
                    AssistantPart::Reasoning { .. } => {}
                    AssistantPart::Call(call) => {
                        add(call.name.as_str());
                        add(&call.arguments);
                    }
                }
            }
        }
        Body::Results(results) => {
            for result in &results.results {
                add(result.name.as_str());
                result.content.iter().filter_map(said).for_each(&mut add);
            }
        }
    }
    text
}

fn said(part: &Content) -> Option<&str> {
    match part {
        Content::Text { text } => Some(text),
        Content::File { name, .. } => Some(name),
        Content::Image { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{found, rows, words};

    #[test]
    fn any_script_is_found_by_what_a_person_types() {
        for (text, asked, expected) in [
            ("The tide tables of 2026.", "tide", true),
            ("The tide tables of 2026.", "TABLE", true),
            ("The tide tables of 2026.", "table 2026", true),
            ("The tide tables of 2026.", "ables", false),
            ("Straße nach Köln", "köln", true),
            ("他住在北京市", "北京", true),
            ("他住在北京市", "京北", false),
            ("潮位は高い", "潮位", true),
            ("Прилив в полдень", "ПРИЛИВ", true),
            ("reports/q3.md", "reports/q3.md", true),
            ("reports of q3", "reports/q3", false),
            ("a \" b", "\"", true),
        ] {
            assert_eq!(found(&words(text), &rows(asked)), expected, "{text} {asked}");
        }
    }
}
