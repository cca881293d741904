//! Cuts that are none: behind an abbreviation.

use std::ops::Range;

/// Abbreviations that stand before a name or a number, in lower case and without the point, of the languages that
/// have stemmers. A single letter is one as well.
const ABBREVIATIONS: [&str; 40] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "sr", "jr", "mme", "mlle", "mm", "me", "sig", "dott", "hr", "fr", "frl",
    "herr", "gen", "col", "lt", "sgt", "capt", "no", "nr", "art", "abs", "vol", "ch", "fig", "p", "pp", "cf", "vs", "bzw",
    "ca", "approx", "z", "д-р",
];

/// Where the abbreviations begin with which `range` of `text` ends ("J. R. R."), but for white space on the same line;
/// none if there is none, or nothing but them.
pub(super) fn abbreviations_at_end(text: &str, range: Range<usize>) -> Option<usize> {
    let start = range.start;
    let mut before = text.get(range)?;
    let mut found = None;
    while let Some(place) = abbreviation_at_end(before) {
        before = before.get(..place)?;
        found = Some(place);
    }
    found.filter(|_| !before.trim().is_empty()).map(|place| start + place)
}

/// The place of the abbreviation that ends `text`, but for white space on the same line.
fn abbreviation_at_end(text: &str) -> Option<usize> {
    let trimmed = text.trim_end_matches([' ', '\t', '\u{a0}', '\u{202f}']);
    let word_and_point = trimmed.strip_suffix('.')?;
    let place = word_and_point
        .char_indices()
        .rev()
        .take_while(|(_, character)| character.is_alphabetic() || *character == '-')
        .last()
        .map(|(place, _)| place)?;
    let word = word_and_point.get(place..)?;
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let is_known = ABBREVIATIONS.contains(&word.to_lowercase().as_str());
    (is_initial || is_known).then_some(place)
}
