//! Cuts that are none: behind an abbreviation.

/// Abbreviations that stand before a name or a number, in lower case and without the point, of the languages that
/// have stemmers. A single letter is one as well.
const ABBREVIATIONS: [&str; 40] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "sr", "jr", "mme", "mlle", "mm", "me", "sig", "dott", "hr", "fr", "frl",
    "herr", "gen", "col", "lt", "sgt", "capt", "no", "nr", "art", "abs", "vol", "ch", "fig", "p", "pp", "cf", "vs", "bzw",
    "ca", "approx", "z", "д-р",
];

/// Where a piece that begins at `start` should begin: before the abbreviation, if one stands right before it.
pub(super) fn start_before_abbreviation(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    abbreviation_at_end(before).unwrap_or(start)
}

/// Where a piece from `start` to `end` should end: before the abbreviation at its end, if the text goes on behind it.
pub(super) fn end_before_abbreviation(text: &str, start: usize, end: usize) -> usize {
    let goes_on = text.get(end..).is_some_and(|rest| !rest.trim().is_empty());
    let inside = text.get(start..end).unwrap_or_default();
    match abbreviation_at_end(inside) {
        Some(place) if goes_on && place > 0 => start + place,
        _ => end,
    }
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
