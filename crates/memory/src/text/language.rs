//! Which language a text is in, and the stems of its words.

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::{Detector, Lang};

/// A language with a stemmer. English for what cannot be told: its endings are rare in other languages, and the same
/// stemmer then is used for the text and for what is searched in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Language(usize);

struct Row {
    code: &'static str,
    two_letters: &'static str,
    language: Lang,
    algorithm: fn() -> Algorithm,
}

macro_rules! rows {
    ($($code:literal $two:literal $lang:ident $algorithm:ident),* $(,)?) => {
        [$(Row { code: $code, two_letters: $two, language: Lang::$lang, algorithm: || Algorithm::$algorithm }),*]
    };
}

static ROWS: [Row; 18] = rows![
    "eng" "en" Eng English,
    "ara" "ar" Ara Arabic,
    "dan" "da" Dan Danish,
    "nld" "nl" Nld Dutch,
    "fin" "fi" Fin Finnish,
    "fra" "fr" Fra French,
    "deu" "de" Deu German,
    "ell" "el" Ell Greek,
    "hun" "hu" Hun Hungarian,
    "ita" "it" Ita Italian,
    "nob" "no" Nob Norwegian,
    "por" "pt" Por Portuguese,
    "ron" "ro" Ron Romanian,
    "rus" "ru" Rus Russian,
    "spa" "es" Spa Spanish,
    "swe" "sv" Swe Swedish,
    "tam" "ta" Tam Tamil,
    "tur" "tr" Tur Turkish,
];

/// A text shorter than this, in characters, tells too little of its language.
const SHORTEST: usize = 24;

impl Language {
    /// What is taken where nothing is known.
    pub(crate) const ENGLISH: Self = Self(0);

    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..ROWS.len()).map(Self)
    }

    /// Its number, from 0, below 64.
    pub(crate) fn number(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    /// ISO 639-3.
    pub(crate) fn code(self) -> &'static str {
        ROWS.get(self.0).map_or("eng", |row| row.code)
    }

    /// ISO 639-1.
    pub(crate) fn two_letters(self) -> &'static str {
        ROWS.get(self.0).map_or("en", |row| row.two_letters)
    }

    /// The language of that ISO 639-3 code; English for one without a stemmer.
    pub(crate) fn of_code(code: &str) -> Self {
        ROWS.iter()
            .position(|row| row.code == code)
            .map_or(Self::ENGLISH, Self)
    }

    /// Its stemmer.
    pub(crate) fn stemmer(self) -> Stemmer {
        let row = ROWS.get(self.0).map(|row| row.algorithm);
        Stemmer::create(row.map_or(Algorithm::English, |algorithm| algorithm()))
    }
}

/// The language of a text, if it can be told with some certainty; else English.
pub(crate) fn language_of(text: &str) -> Language {
    // The beginning tells it; a long text is not read to its end for that.
    let beginning: String = text.chars().take(2_000).collect();
    if beginning
        .chars()
        .filter(|character| character.is_alphabetic())
        .count()
        < SHORTEST
    {
        return Language::ENGLISH;
    }
    let detector = Detector::with_allowlist(ROWS.iter().map(|row| row.language).collect());
    let found = detector.detect(&beginning).filter(whatlang::Info::is_reliable);
    found
        .and_then(|found| ROWS.iter().position(|row| row.language == found.lang()))
        .map_or(Language::ENGLISH, Language)
}
