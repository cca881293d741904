//! Cuts that are none: behind an abbreviation.

use crate::text::is_unspaced;
use std::ops::Range;

/// Abbreviations that stand before a name or a number, in lower case and without the point, of the languages that
/// have stemmers. A single letter is one as well.
const ABBREVIATIONS: [&str; 40] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "sr", "jr", "mme", "mlle", "mm", "me", "sig", "dott", "hr",
    "fr", "frl", "herr", "gen", "col", "lt", "sgt", "capt", "no", "nr", "art", "abs", "vol", "ch", "fig",
    "p", "pp", "cf", "vs", "bzw", "ca", "approx", "z", "д-р",
];

/// The longest part of a word that is moved, in bytes: what is longer is data and may be cut.
const LONGEST_PART: usize = 64;

/// Where the word begins that `range` of `text` ends inside of; none if it ends at a border of words, in a script that
/// is written without spaces, or if nothing but the word stands in it. Here a word is all between white space, so that
/// "3.14" and an address are one.
pub(super) fn beginning_of_word(text: &str, range: Range<usize>) -> Option<usize> {
    let inside = text.get(range.clone())?;
    let (last, next) = (
        inside.chars().next_back()?,
        text.get(range.end..)?.chars().next()?,
    );
    if [last, next].iter().any(|character| {
        character.is_whitespace() || is_unspaced(*character) || "。！？".contains(*character)
    }) {
        return None;
    }
    let place = inside.rfind(char::is_whitespace)?;
    let begins = place + inside.get(place..)?.chars().next()?.len_utf8();
    let is_short = inside.len() - begins <= LONGEST_PART;
    let is_rest = inside.get(..begins)?.trim().is_empty();
    (is_short && !is_rest).then_some(range.start + begins)
}

/// Where the abbreviations begin with which `range` of `text` ends ("J. R. R."), but for white space on the same line.
pub(super) fn abbreviations_at_end(text: &str, range: Range<usize>) -> Option<usize> {
    let start = range.start;
    let mut before = text.get(range)?;
    let mut found = None;
    while let Some(place) = abbreviation_at_end(before) {
        before = before.get(..place)?;
        found = Some(place);
    }
    found.map(|place| start + place)
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
