//! Whether two facts that sound alike say the same.

use super::Language;
use super::words::{fold, words};
use std::collections::BTreeSet;

/// Words that turn a sentence around, in the languages that have stemmers, without accents.
const NEGATIONS: &[&str] = &[
    // English
    "not",
    "no",
    "never",
    "none",
    "neither",
    "nor",
    "cannot",
    "without",
    "nobody",
    "nothing",
    "nowhere",
    "hardly",
    "stopped",
    "quit",
    "refuses",
    "unlike",
    "longer",
    "except", // German, Dutch
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "keiner",
    "keines",
    "nie",
    "niemals",
    "ohne",
    "weder",
    "niet",
    "geen",
    "nooit",
    "zonder", // Romance
    "ne",
    "pas",
    "jamais",
    "sans",
    "aucun",
    "aucune",
    "ni",
    "rien",
    "sin",
    "nunca",
    "jamas",
    "ningun",
    "ninguna",
    "nada",
    "non",
    "mai",
    "senza",
    "nessun",
    "nessuna",
    "nao",
    "sem",
    "nem",
    "nenhum",
    "nenhuma",
    "nu",
    "fara",
    "niciodata",
    // Nordic, Hungarian, Turkish
    "ikke",
    "inte",
    "aldrig",
    "aldri",
    "ingen",
    "inget",
    "uden",
    "uten",
    "utan",
    "ei",
    "eivat",
    "emme",
    "koskaan",
    "ilman",
    "nem",
    "soha",
    "nelkul",
    "degil",
    "yok",
    "hayir",
    "asla", // Russian, Greek
    "не",
    "нет",
    "никогда",
    "без",
    "ни",
    "δεν",
    "μην",
    "οχι",
    "ποτε",
    "χωρις",
    "لا",
];

/// The same, where they are no words of their own.
const NEGATING_PARTS: [&str; 9] = ["不", "没", "沒", "無", "ない", "ません", "아니", "않", "ไม่"];

/// What of a fact is compared with others, taken apart once.
pub(crate) struct Saying {
    stems: Stems,
    numbers: BTreeSet<String>,
    names: BTreeSet<String>,
    negations: usize,
}

impl Saying {
    /// Of a fact in that language (ISO 639-3).
    pub(crate) fn of(text: &str, language: &str) -> Self {
        Self {
            stems: Stems::of(text, language),
            numbers: numbers(text),
            names: names(text),
            negations: negations(text),
        }
    }

    /// Whether the facts differ in a number, date, name or negation, or in the one word that matters: then they are two
    /// facts, however alike they sound.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.numbers != other.numbers
            || self.negations != other.negations
            || self.differs_in_name(other)
            || self.differs_in_one_word(other)
    }

    /// Whether a text that was made of facts says all that matters of this one: its numbers, its names, and that
    /// something is not so.
    pub(crate) fn is_kept_in(&self, made: &Self) -> bool {
        self.numbers.is_subset(&made.numbers)
            && self.names.is_subset(&made.stems.words)
            && (self.negations == 0 || made.negations > 0)
    }

    /// Whether a text that was made of `facts` says no number that none of them says.
    pub(crate) fn adds_no_number(&self, facts: &[Self]) -> bool {
        self.numbers
            .iter()
            .all(|number| facts.iter().any(|fact| fact.numbers.contains(number)))
    }

    /// A name of one that the other does not hold, in whatever case, is a difference.
    fn differs_in_name(&self, other: &Self) -> bool {
        !self.names.is_subset(&other.stems.words) || !other.names.is_subset(&self.stems.words)
    }

    /// Each has exactly one content word that the other lacks, as in "likes tea" and "likes coffee".
    fn differs_in_one_word(&self, other: &Self) -> bool {
        let (own, theirs) = (&self.stems.stems, &other.stems.stems);
        own.difference(theirs).count() == 1 && theirs.difference(own).count() == 1
    }

    /// How alike they are by their words, from 0 to 1: shared stems of all stems.
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        self.stems.similarity(&other.stems)
    }
}

/// The words of a fact and their stems: the part that is cheap to tell, and tells most facts apart.
pub(crate) struct Stems {
    stems: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Stems {
    /// Of a fact in that language (ISO 639-3).
    pub(crate) fn of(text: &str, language: &str) -> Self {
        let stemmer = Language::of_code(language).stemmer();
        let (mut all, mut stems) = (BTreeSet::new(), BTreeSet::new());
        for word in words(text) {
            let bare = without_possessive(&word);
            if !super::is_stop_word(&word) {
                stems.insert(fold(&stemmer.stem(&bare)));
            }
            all.insert(bare);
        }
        Self { stems, words: all }
    }

    /// How alike they are, from 0 to 1: shared stems of all stems.
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        let shared = self.stems.intersection(&other.stems).count();
        let all = self.stems.len() + other.stems.len() - shared;
        if all == 0 {
            return if self.words == other.words { 1.0 } else { 0.0 };
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
        let share = shared as f32 / all as f32;
        share
    }
}

/// Numbers, with what stands in them: "3.14", "2026-11-29", "17:30". As sets: saying one twice says no more.
fn numbers(text: &str) -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    let mut current = String::new();
    let characters: Vec<char> = text.chars().chain([' ']).collect();
    for (place, character) in characters.iter().enumerate() {
        let next_is_digit = characters.get(place + 1).is_some_and(|next| next.is_numeric());
        if character.is_numeric() || (matches!(character, '-' | '−') && current.is_empty() && next_is_digit)
        {
            current.push(if *character == '−' { '-' } else { *character });
        } else if !current.is_empty() && next_is_digit && matches!(character, '.' | ',' | ':' | '/' | '-') {
            current.push(*character);
        } else if !current.is_empty() {
            numbers.insert(std::mem::take(&mut current));
        }
    }
    const WORDS: [&str; 32] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "twenty",
        "thirty",
        "hundred",
        "thousand",
        "million",
        "zwei",
        "drei",
        "vier",
        "deux",
        "trois",
        "quatre",
        "dos",
        "tres",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    numbers.extend(
        words(text)
            .into_iter()
            .filter(|word| WORDS.contains(&word.as_str()) || MONTHS.contains(&word.as_str())),
    );
    numbers
}

fn negations(text: &str) -> usize {
    let in_words = words(text)
        .iter()
        .map(|word| fold(&word.replace('\u{2019}', "'")))
        .filter(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
        .count();
    let in_parts: usize = NEGATING_PARTS.iter().map(|part| text.matches(part).count()).sum();
    in_words.saturating_add(in_parts)
}

fn without_possessive(word: &str) -> String {
    word.replace('\u{2019}', "'").trim_end_matches("'s").to_owned()
}

/// Names: words with a capital.
fn names(text: &str) -> BTreeSet<String> {
    use unicode_segmentation::UnicodeSegmentation as _;
    let mut names = BTreeSet::new();
    // German writes every noun with a capital: there a capital tells nothing of names, and every noun that differs
    // counts as a difference. That keeps apart too much, never too little.
    for sentence in text.unicode_sentences() {
        for (place, word) in sentence.unicode_words().enumerate() {
            let mut characters = word.chars();
            let first_is_capital = characters.next().is_some_and(char::is_uppercase);
            let other_capital = characters.any(char::is_uppercase);
            // "I" is a word of its own. The first word of a sentence has its capital anyway, and may be a name all
            // the same, unless it is one of those that only hold sentences together.
            let is_name = other_capital
                || (first_is_capital && (place > 0 || !super::is_stop_word(&word.to_lowercase())));
            if word.chars().count() > 1 && is_name {
                names.extend(words(word).iter().map(|word| without_possessive(word)));
            }
        }
    }
    names
}
