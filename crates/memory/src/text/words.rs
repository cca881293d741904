//! Words and terms.

use super::language::Language;
use std::collections::HashSet;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

/// The longest word that is looked at, in characters: longer ones are data, not words.
const LONGEST_WORD: usize = 64;

/// The words of a text as they stand in it (Unicode word boundaries), in compatibility form and lower case. A run of
/// a script that is written without spaces is one word.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    let mut words: Vec<String> = Vec::new();
    let mut end_of_run = None;
    for (start, word) in text.unicode_word_indices() {
        let end = start + word.len();
        let is_unspaced = word.chars().all(is_unspaced);
        // Word boundaries stand around each ideograph; the run is what n-grams are made of.
        match words.last_mut() {
            Some(run) if is_unspaced && end_of_run == Some(start) => run.push_str(word),
            _ => words.push(word.chars().take(LONGEST_WORD).collect()),
        }
        end_of_run = is_unspaced.then_some(end);
    }
    words
}

/// The terms under which a text is found: stems without accents, and single characters and pairs of those scripts
/// that are written without spaces.
pub(crate) fn terms(text: &str, language: Language) -> Vec<String> {
    let stemmer = language.stemmer();
    let mut terms = Vec::new();
    for word in words(text) {
        push_terms(&word, &stemmer, &mut terms);
    }
    terms
}

fn push_terms(word: &str, stemmer: &rust_stemmers::Stemmer, terms: &mut Vec<String>) {
    if word.chars().all(is_unspaced) {
        let characters: Vec<char> = word.chars().collect();
        terms.extend(characters.iter().map(char::to_string));
        terms.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
    } else {
        // A typographic apostrophe is the one that stemmers know.
        let word = word.replace(['\u{2019}', '\u{2bc}'], "'");
        terms.push(fold(&stemmer.stem(&word)));
    }
}

/// The terms of a text that is searched for, one list for each of its words. Words that only hold sentences together
/// are left out, unless there is nothing else.
pub(crate) fn content_words(text: &str) -> Vec<String> {
    let all = words(text);
    let (said, held): (Vec<String>, Vec<String>) = all.into_iter().partition(|word| !is_stop_word(word));
    if said.is_empty() { held } else { said }
}

/// Whether it is a word of the kind of "the" in a language for which there is a list. Only the language of the
/// query could tell whose it is, and a query is too short for that: those of English count.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
        let words = stop_words::lookup(Language::ENGLISH.two_letters());
        words.unwrap_or_default().iter().copied().collect()
    });
    if word.is_ascii() {
        return WORDS.contains(word);
    }
    WORDS.contains(word.replace(['\u{2019}', '\u{2bc}'], "'").as_str())
}

/// The word without accents: in letters that have them as marks of their own.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    word.nfd()
        .filter(|character| !is_combining_mark(*character))
        .nfc()
        .collect()
}

/// Whether the script is written without spaces between words (or, as Hangul, joins words with their endings).
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// The term's number: 32 bits of FNV-1a, mixed. The same for ever: it is stored in indexes.
pub(crate) fn hash_of(term: &str) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // FNV's low bits alone are not spread well.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// The `most` content words that stand in a text most often, of at least four letters; of equals the first.
pub(crate) fn frequent_words(text: &str, most: usize) -> Vec<String> {
    let mut counts: indexmap::IndexMap<String, usize> = indexmap::IndexMap::new();
    for word in content_words(text) {
        if word.chars().count() >= 4 && word.chars().any(char::is_alphabetic) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts.sort_by(|_, a, _, b| b.cmp(a));
    counts.into_keys().take(most).collect()
}
