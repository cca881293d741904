//! Addresses, links and account numbers inside content, in whatever notation they are written.

use super::given::Given;
use crate::licence::{Kind, Shape, Text, Vocabulary, normalised, pieces};

/// Longest IBAN, in characters.
const LONGEST_IBAN: usize = 34;

/// The control values inside a text that leaves.
pub(super) fn inside(leaf: &Given, vocabulary: &Vocabulary) -> Vec<Given> {
    let shown = as_shown(&leaf.raw);
    let text = Text::read(&shown, vocabulary);
    let mut found: Vec<String> = Vec::new();
    for lexeme in &text.lexemes {
        if matches!(lexeme.kind, Kind::Address | Kind::Url) {
            found.push(lexeme.text.clone());
        } else if let Some(within) = hidden_address(&lexeme.text) {
            found.push(within.to_owned());
        }
    }
    for piece in pieces(&text, vocabulary) {
        if matches!(piece.shape, Shape::Account(_)) {
            let start = text.lexemes.get(piece.first).map_or(0, |lexeme| lexeme.start);
            let end = text.lexemes.get(piece.last).map_or(start, |lexeme| lexeme.end);
            found.push(text.normal.get(start..end).unwrap_or_default().to_owned());
        }
    }
    for number in spread_ibans(&text.normal) {
        let known = found.iter().any(|known| {
            known
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .eq(number.chars())
        });
        if !known {
            found.push(number);
        }
    }
    found.extend(schemes(&text.normal));
    found.dedup();
    found
        .into_iter()
        .map(|value| Given {
            path: leaf.path.clone(),
            words: leaf.words.clone(),
            raw: value.clone(),
            text: value,
            is_number: false,
            is_true: false,
            is_recipient: false,
            in_content: true,
        })
        .collect()
}

/// The text as a reader's program takes it: without characters that are not seen, and with the full stops of other
/// scripts that host names may have.
fn as_shown(raw: &str) -> String {
    let normal = normalised(raw);
    let characters: Vec<char> = normal
        .chars()
        .filter(|character| {
            !matches!(character,
                '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}')
        })
        .collect();
    let is_plain = |index: Option<usize>| {
        index
            .and_then(|index| characters.get(index))
            .is_some_and(char::is_ascii_alphanumeric)
    };
    characters
        .iter()
        .enumerate()
        .map(|(index, character)| {
            let between = is_plain(index.checked_sub(1)) && is_plain(Some(index + 1));
            if matches!(character, '\u{3002}' | '\u{ff61}') && between {
                '.'
            } else {
                *character
            }
        })
        .collect()
}

/// A link or address glued to other characters: `mailto:x@y.z`, `(see:https://…`, `//host.tld/path`.
fn hidden_address(word: &str) -> Option<&str> {
    if let Some(at) = word.find("://") {
        let start = word
            .get(..at)?
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |at| at + 1);
        return word.get(start..);
    }
    let slashes = |mark: char| mark == '/' || mark == '\\';
    if let Some(rest) = word
        .find("//")
        .or_else(|| word.find("\\\\"))
        .and_then(|at| word.get(at..))
    {
        let host = rest.trim_start_matches(slashes);
        let is_host = host.chars().next().is_some_and(char::is_alphanumeric)
            && (host.contains('.') || host.contains(':') || host.contains(slashes));
        if is_host {
            return Some(rest);
        }
    }
    (word.contains('@') && word.split('@').nth(1).is_some_and(|host| host.contains('.'))).then_some(word)
}

/// What begins with the name of a scheme that programs follow, without the two slashes that make it an ordinary link.
fn schemes(text: &str) -> Vec<String> {
    let folded = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for scheme in [
        "javascript:",
        "vbscript:",
        "data:",
        "http:",
        "https:",
        "ftp:",
        "file:",
        "tel:",
        "sms:",
    ] {
        for (at, _) in folded.match_indices(scheme) {
            let glued = folded
                .get(..at)
                .and_then(|before| before.chars().next_back())
                .is_some_and(char::is_alphanumeric);
            let body = folded.get(at + scheme.len()..).unwrap_or_default();
            let run = body
                .split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\''))
                .next()
                .unwrap_or_default();
            let follows = match scheme {
                "data:" => run.contains(',') && run.contains([';', '/']),
                "tel:" | "sms:" => run.chars().any(|c| c.is_ascii_digit()),
                "javascript:" | "vbscript:" => !run.is_empty(),
                _ => run.starts_with(['/', '\\']) && !run.starts_with("//"),
            };
            if !glued && follows && !run.is_empty() {
                found.extend(text.get(at..at + scheme.len() + run.len()).map(str::to_owned));
            }
        }
    }
    found
}

/// IBANs whose groups are set apart by anything: full stops, line ends, slashes. Their check digits tell them from
/// other words.
fn spread_ibans(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied();
    let mut found = Vec::new();
    let mut index = 0;
    while index + 4 <= characters.len() {
        let fresh = index
            .checked_sub(1)
            .and_then(at)
            .is_none_or(|before| !before.is_ascii_alphanumeric());
        let starts = fresh
            && (index..index + 2).all(|index| at(index).is_some_and(|c| c.is_ascii_alphabetic()))
            && (index + 2..index + 4).all(|index| at(index).is_some_and(|c| c.is_ascii_digit()));
        if !starts {
            index += 1;
            continue;
        }
        let mut whole = String::new();
        let mut next = index;
        let mut gap = 0;
        let mut end = None;
        while let Some(character) = at(next) {
            if character.is_ascii_alphanumeric() {
                if whole.len() == LONGEST_IBAN {
                    break;
                }
                whole.push(character.to_ascii_uppercase());
                gap = 0;
            } else if character.is_alphanumeric() || gap == 3 {
                break;
            } else {
                gap += 1;
            }
            next += 1;
            let closes = at(next).is_none_or(|after| !after.is_ascii_alphanumeric());
            if gap == 0 && closes && whole.len() >= 15 && has_check_digits(&whole) {
                end = Some((whole.clone(), next));
            }
        }
        match end {
            Some((number, next)) => {
                found.push(number);
                index = next;
            }
            None => index += 1,
        }
    }
    found
}

/// ISO 7064, modulus 97: the first four characters to the end, letters as two digits.
fn has_check_digits(number: &str) -> bool {
    let (head, tail) = number.split_at(4);
    let rest = tail.chars().chain(head.chars()).fold(0_u32, |rest, character| {
        let digit = character.to_digit(36).unwrap_or_default();
        (rest * if digit > 9 { 100 } else { 10 } + digit) % 97
    });
    rest == 1
}
