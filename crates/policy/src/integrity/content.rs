//! Texts the owner fixed, with and without holes.

use crate::licence::normalised;

/// Longest text that fills one hole, in bytes.
const LONGEST_FILLING: usize = 300;

/// Whether `text` is what the owner fixed: equal, but for white space and a full stop at its ends; where the owner
/// left holes (`{name}`), with something in each.
pub(super) fn is_literal(literal: &str, text: &str) -> bool {
    let (literal, text) = (bare(literal), bare(text));
    if literal == text {
        return true;
    }
    let parts = split_at_holes(&literal);
    let [first, middle @ .., last] = parts.as_slice() else {
        return false;
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else {
        return false;
    };
    for part in middle {
        // Nothing between two holes: they fill together.
        if part.is_empty() {
            continue;
        }
        let Some(at) = rest.find(part.as_str()) else {
            return false;
        };
        if !fills(rest.get(..at).unwrap_or_default()) {
            return false;
        }
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.strip_suffix(last.as_str()).is_some_and(fills)
}

fn fills(filling: &str) -> bool {
    !filling.trim().is_empty() && filling.len() <= LONGEST_FILLING && !filling.contains('\n')
}

fn bare(text: &str) -> String {
    let normal = normalised(text);
    let lines: Vec<String> = normal
        .trim()
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let joined = lines.join("\n");
    joined.trim_end_matches(['.', '!', '。']).trim().to_owned()
}

/// The parts around holes; a single part where there are none.
fn split_at_holes(literal: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = literal;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        let Some(close) = from.find('}').filter(|close| *close <= 60) else {
            break;
        };
        if let Some(part) = parts.last_mut() {
            part.push_str(before);
        }
        let after = from.get(close + 1..).unwrap_or_default();
        // `{{name}}` is one hole.
        rest = after.trim_start_matches('}');
        parts.push(String::new());
    }
    if let Some(part) = parts.last_mut() {
        part.push_str(rest);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::is_literal;

    #[test]
    fn a_template_matches_with_its_holes_and_nothing_around() {
        for (literal, text, expected) in [
            ("Lunch", "Lunch", true),
            ("Lunch", "lunch", false),
            ("Catch up.", "Catch up", true),
            ("Hotel: {hotel_name}", "Hotel: Luxury Palace", true),
            ("Hotel: {hotel_name}", "Hotel: ", false),
            ("Hotel: {hotel_name}", "My Hotel: Luxury", false),
            (
                "At {name}, {address}, until May",
                "At A, 1 Rue B, until May",
                true,
            ),
            (
                "At {name}, {address}, until May",
                "At A, 1 Rue B, until June",
                false,
            ),
            ("{a}", "x\ny", false),
            ("Hello", "Hello, see my site", false),
        ] {
            assert_eq!(is_literal(literal, text), expected, "{literal:?} {text:?}");
        }
    }
}
