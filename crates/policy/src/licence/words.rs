//! The vocabulary: action words and object words by class and language.

use crate::ActionClass;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

/// Words by language: `{"en": ["send", "email~"]}`.
type ByLanguage = BTreeMap<String, Vec<String>>;

/// A family of action words that mean the same kind of deed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionFamily {
    /// The classes of tools it may license.
    #[serde(default)]
    pub classes: Vec<ActionClass>,
    /// The objects it is about where none is named.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Words in the names of tools that do it.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Imperatives and infinitives, by language. A word with `~` at its end is a noun as well, and counts only where
    /// a verb stands; `lade…ein` is a verb with a particle that follows later.
    #[serde(default)]
    pub words: ByLanguage,
}

/// A class of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectClass {
    /// Words in the names of tools that are about it.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Nouns, by language.
    #[serde(default)]
    pub words: ByLanguage,
}

/// The words from which licences are read, by class and language (`[policy.words]`).
///
/// [`built_in`](Self::built_in) knows English, French, German, Spanish and Chinese; a configuration
/// [extends](Self::extend) it by words or by whole languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ActionWords {
    /// Families of action words.
    pub actions: BTreeMap<String, ActionFamily>,
    /// Classes of objects.
    pub objects: BTreeMap<String, ObjectClass>,
    /// Function words by kind: `negations`, `determiners`, `conditions`, and so on.
    pub lists: BTreeMap<String, ByLanguage>,
    /// Words for small numbers, by language.
    pub numbers: BTreeMap<String, BTreeMap<String, u32>>,
    /// Twelve months by language, the spellings of each separated by spaces.
    pub months: ByLanguage,
    /// Seven days by language, Monday first, the spellings of each separated by spaces.
    pub weekdays: ByLanguage,
    /// Words for a day relative to today, in days.
    pub relative_days: BTreeMap<String, i64>,
    /// Units of time, in minutes.
    pub units: BTreeMap<String, u32>,
    /// Words for a time of day, `HH:MM`.
    pub clock: BTreeMap<String, String>,
    /// Words that name a mode a tool knows by a short value: `r` is read, view, lire, ….
    pub modes: BTreeMap<String, Vec<String>>,
    /// The values by which tools know the modes.
    pub mode_values: BTreeMap<String, Vec<String>>,
    /// Words in the names of arguments that hold an amount.
    pub amount_arguments: Vec<String>,
    /// Words in the names of arguments that hold an end.
    pub end_arguments: Vec<String>,
    /// What small numbers count, and the arguments that hold such a number.
    pub number_roles: BTreeMap<String, NumberRole>,
}

/// Something that is counted: guests, say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NumberRole {
    /// Words in the names of arguments that hold the number.
    pub arguments: Vec<String>,
    /// Words beside which the owner writes it.
    pub words: Vec<String>,
}

/// A vocabulary that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the vocabulary cannot be read: {cause}; see ActionWords for what it holds")]
pub struct ActionWordsError {
    #[source]
    cause: serde_json::Error,
}

impl ActionWords {
    /// The vocabulary that comes with the program.
    pub fn built_in() -> Result<Self, ActionWordsError> {
        serde_json::from_str(include_str!("words.json")).map_err(|cause| ActionWordsError { cause })
    }

    /// Adds the words of `other`. Nothing is taken away; what both name has the words of both.
    pub fn extend(&mut self, other: Self) {
        for (name, family) in other.actions {
            let own = self.actions.entry(name).or_default();
            own.classes.extend(family.classes);
            own.objects.extend(family.objects);
            own.tools.extend(family.tools);
            extend(&mut own.words, family.words);
        }
        for (name, class) in other.objects {
            let own = self.objects.entry(name).or_default();
            own.tools.extend(class.tools);
            extend(&mut own.words, class.words);
        }
        for (name, list) in other.lists {
            extend(self.lists.entry(name).or_default(), list);
        }
        for (language, numbers) in other.numbers {
            self.numbers.entry(language).or_default().extend(numbers);
        }
        self.months.extend(other.months);
        self.weekdays.extend(other.weekdays);
        self.relative_days.extend(other.relative_days);
        self.units.extend(other.units);
        self.clock.extend(other.clock);
        extend(&mut self.modes, other.modes);
        extend(&mut self.mode_values, other.mode_values);
        self.amount_arguments.extend(other.amount_arguments);
        self.end_arguments.extend(other.end_arguments);
        for (name, role) in other.number_roles {
            let own = self.number_roles.entry(name).or_default();
            own.arguments.extend(role.arguments);
            own.words.extend(role.words);
        }
    }
}

impl ActionWords {
    /// Takes the words of all other languages away.
    pub fn keep_languages(&mut self, languages: &[String]) {
        let is_kept = |language: &String| languages.contains(language);
        for family in self.actions.values_mut() {
            family.words.retain(|language, _| is_kept(language));
        }
        for class in self.objects.values_mut() {
            class.words.retain(|language, _| is_kept(language));
        }
        for list in self.lists.values_mut() {
            list.retain(|language, _| is_kept(language));
        }
        self.numbers.retain(|language, _| is_kept(language));
        self.months.retain(|language, _| is_kept(language));
        self.weekdays.retain(|language, _| is_kept(language));
    }
}

fn extend(own: &mut ByLanguage, other: ByLanguage) {
    for (language, words) in other {
        own.entry(language).or_default().extend(words);
    }
}

/// A kind of function word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum List {
    Negations,
    Keeps,
    Determiners,
    Owners,
    Others,
    Wishes,
    Modals,
    Addressed,
    Questions,
    Prepositions,
    Joins,
    Refers,
    Reports,
    Conditions,
    Superlatives,
    Many,
    ModeNouns,
    Roles,
    Mine,
    Stop,
    Exceptions,
    Retains,
    Sources,
    Authors,
    Reading,
    Rendering,
}

impl List {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "negations" => Self::Negations,
            "keeps" => Self::Keeps,
            "determiners" => Self::Determiners,
            "owners" => Self::Owners,
            "others" => Self::Others,
            "wishes" => Self::Wishes,
            "modals" => Self::Modals,
            "addressed" => Self::Addressed,
            "questions" => Self::Questions,
            "prepositions" => Self::Prepositions,
            "joins" => Self::Joins,
            "refers" => Self::Refers,
            "reports" => Self::Reports,
            "conditions" => Self::Conditions,
            "superlatives" => Self::Superlatives,
            "many" => Self::Many,
            "modes_words" => Self::ModeNouns,
            "roles" => Self::Roles,
            "mine" => Self::Mine,
            "stop" => Self::Stop,
            "exceptions" => Self::Exceptions,
            "retains" => Self::Retains,
            "sources" => Self::Sources,
            "authors" => Self::Authors,
            "reading" => Self::Reading,
            "rendering" => Self::Rendering,
            _ => return None,
        })
    }

    fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

/// An action word's meaning.
#[derive(Clone, Debug)]
pub(crate) struct Sense {
    /// The family's index.
    pub(crate) family: usize,
    /// Whether the word is a noun as well.
    pub(crate) ambiguous: bool,
    /// A particle that has to follow.
    pub(crate) particle: Option<String>,
}

/// A family, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) classes: Vec<ActionClass>,
    pub(crate) objects: Vec<usize>,
}

/// One language.
#[derive(Clone, Debug, Default)]
pub(crate) struct Language {
    pub(crate) verbs: HashMap<String, Vec<Sense>>,
    pub(crate) objects: HashMap<String, Vec<usize>>,
    lists: HashMap<String, u32>,
    pub(crate) numbers: HashMap<String, u32>,
}

/// The vocabulary, ready to look up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    pub(crate) families: Vec<Family>,
    languages: BTreeMap<String, Language>,
    /// Families of a word in a tool's name; whether it tells only as the first word.
    tool_verbs: HashMap<String, Vec<(usize, bool)>>,
    tool_objects: HashMap<String, Vec<usize>>,
    pub(crate) months: HashMap<String, u8>,
    pub(crate) weekdays: HashMap<String, u8>,
    pub(crate) relative_days: HashMap<String, i64>,
    pub(crate) units: HashMap<String, u32>,
    pub(crate) clock: HashMap<String, (u8, u8)>,
    modes: BTreeMap<String, HashSet<String>>,
    mode_values: HashMap<String, String>,
    pub(crate) amount_arguments: HashSet<String>,
    pub(crate) end_arguments: HashSet<String>,
    number_roles: Vec<NumberRole>,
    /// Every word written without spaces, for cutting runs of such writing.
    unspaced: HashSet<String>,
    longest_unspaced: usize,
}

static BUILT_IN: LazyLock<Arc<Vocabulary>> =
    LazyLock::new(|| Arc::new(Vocabulary::new(&ActionWords::built_in().unwrap_or_default())));

impl Vocabulary {
    pub(crate) fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    pub(crate) fn new(words: &ActionWords) -> Self {
        let mut vocabulary = Self::default();
        let object_index: HashMap<&str, usize> = words
            .objects
            .keys()
            .enumerate()
            .map(|(index, name)| (name.as_str(), index))
            .collect();
        for (index, class) in words.objects.values().enumerate() {
            for word in &class.tools {
                vocabulary
                    .tool_objects
                    .entry(word.clone())
                    .or_default()
                    .push(index);
            }
            for (language, nouns) in &class.words {
                for noun in nouns {
                    vocabulary.note_unspaced(noun);
                    let language = vocabulary.languages.entry(language.clone()).or_default();
                    language
                        .objects
                        .entry(noun.to_lowercase())
                        .or_default()
                        .push(index);
                }
            }
        }
        for (index, family) in words.actions.values().enumerate() {
            vocabulary.families.push(Family {
                classes: family.classes.clone(),
                objects: family
                    .objects
                    .iter()
                    .filter_map(|object| object_index.get(object.as_str()).copied())
                    .collect(),
            });
            for word in &family.tools {
                let (word, noun) = word
                    .strip_suffix('~')
                    .map_or((word.as_str(), false), |word| (word, true));
                vocabulary
                    .tool_verbs
                    .entry(word.to_owned())
                    .or_default()
                    .push((index, noun));
            }
            for (language, verbs) in &family.words {
                for verb in verbs {
                    vocabulary.note_unspaced(verb);
                    let (verb, ambiguous) = match verb.strip_suffix('~') {
                        Some(verb) => (verb, true),
                        None => (verb.as_str(), false),
                    };
                    let (verb, particle) = match verb.split_once('…') {
                        Some((verb, particle)) => (verb, Some(particle.to_lowercase())),
                        None => (verb, None),
                    };
                    let language = vocabulary.languages.entry(language.clone()).or_default();
                    language
                        .verbs
                        .entry(verb.to_lowercase())
                        .or_default()
                        .push(Sense {
                            family: index,
                            ambiguous,
                            particle,
                        });
                }
            }
        }
        for (name, list) in &words.lists {
            let Some(kind) = List::named(name) else { continue };
            for (language, entries) in list {
                for word in entries {
                    vocabulary.note_unspaced(word);
                    let language = vocabulary.languages.entry(language.clone()).or_default();
                    *language.lists.entry(word.to_lowercase()).or_default() |= kind.bit();
                }
            }
        }
        vocabulary.add_times(words);
        vocabulary
    }

    fn add_times(&mut self, words: &ActionWords) {
        for (language, numbers) in &words.numbers {
            for (word, number) in numbers {
                self.note_unspaced(word);
                let language = self.languages.entry(language.clone()).or_default();
                language.numbers.insert(word.to_lowercase(), *number);
            }
        }
        for months in words.months.values() {
            for (month, spellings) in (1_u8..).zip(months) {
                for spelling in spellings.split(' ') {
                    self.note_unspaced(spelling);
                    self.months.insert(spelling.to_lowercase(), month);
                }
            }
        }
        for days in words.weekdays.values() {
            for (day, spellings) in (0_u8..).zip(days) {
                for spelling in spellings.split(' ') {
                    self.note_unspaced(spelling);
                    self.weekdays.insert(spelling.to_lowercase(), day);
                }
            }
        }
        for (word, days) in &words.relative_days {
            self.note_unspaced(word);
            self.relative_days.insert(word.to_lowercase(), *days);
        }
        for (word, minutes) in &words.units {
            self.note_unspaced(word);
            self.units.insert(word.to_lowercase(), *minutes);
        }
        for (word, time) in &words.clock {
            self.note_unspaced(word);
            let time = time
                .split_once(':')
                .and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
            if let Some(time) = time {
                self.clock.insert(word.to_lowercase(), time);
            }
        }
        for (mode, entries) in &words.modes {
            for word in entries {
                self.note_unspaced(word);
            }
            let entries = entries.iter().map(|word| word.to_lowercase()).collect();
            self.modes.insert(mode.clone(), entries);
        }
        for (mode, values) in &words.mode_values {
            for value in values {
                self.mode_values.insert(value.to_lowercase(), mode.clone());
            }
        }
        for unit in [
            "年", "月", "日", "号", "点", "时", "分", "半", "元", "上午", "下午", "晚上", "早上",
        ] {
            self.note_unspaced(unit);
        }
        self.amount_arguments
            .extend(words.amount_arguments.iter().cloned());
        self.end_arguments.extend(words.end_arguments.iter().cloned());
        for role in words.number_roles.values() {
            for word in &role.words {
                self.note_unspaced(word);
            }
            self.number_roles.push(role.clone());
        }
    }

    fn note_unspaced(&mut self, word: &str) {
        let word = word.trim_end_matches('~');
        if word.chars().all(is_unspaced) && !word.is_empty() {
            self.longest_unspaced = self.longest_unspaced.max(word.chars().count());
            self.unspaced.insert(word.to_owned());
        }
    }

    /// How many characters at the start of `run`, written without spaces, are a known word; 0 if none.
    pub(crate) fn known_prefix(&self, run: &[char]) -> usize {
        let mut candidate = String::new();
        let mut longest = 0;
        for (index, character) in run.iter().take(self.longest_unspaced).enumerate() {
            candidate.push(*character);
            if self.unspaced.contains(&candidate) {
                longest = index + 1;
            }
        }
        longest
    }

    /// The languages a text of these words is written in: the one with most function words, and each with nearly
    /// as many.
    pub(crate) fn languages_of<'w>(&self, words: impl Iterator<Item = &'w str> + Clone) -> Vec<&Language> {
        let scores: Vec<(usize, &Language)> = self
            .languages
            .values()
            .map(|language| {
                let score = words
                    .clone()
                    .filter(|word| language.lists.contains_key(*word) || language.verbs.contains_key(*word))
                    .count();
                (score, language)
            })
            .collect();
        let best = scores.iter().map(|(score, _)| *score).max().unwrap_or_default();
        scores
            .into_iter()
            .filter(|(score, _)| *score > 0 && score * 5 >= best * 4)
            .map(|(_, language)| language)
            .collect()
    }

    /// Whether any language knows the word as a function word, an action or an object: then it names nothing.
    pub(crate) fn is_common(&self, folded: &str) -> bool {
        self.languages.values().any(|language| {
            language.lists.contains_key(folded)
                || language.objects.contains_key(folded)
                || language.verbs.contains_key(folded)
                || language.numbers.contains_key(folded)
        }) || self.units.contains_key(folded)
    }

    /// Whether any language has the word in `list`.
    pub(crate) fn in_list(&self, folded: &str, list: List) -> bool {
        self.languages.values().any(|language| language.is(folded, list))
    }

    /// The small number a word stands for.
    pub(crate) fn number(&self, folded: &str) -> Option<u32> {
        self.languages
            .values()
            .find_map(|language| language.numbers.get(folded).copied())
    }

    /// Families of a word in a tool's name. What is a noun as well tells only as the `first` word.
    pub(crate) fn tool_families(&self, word: &str, first: bool) -> Vec<usize> {
        self.tool_verbs
            .get(word)
            .into_iter()
            .flatten()
            .filter(|(_, noun)| first || !noun)
            .map(|(family, _)| *family)
            .collect()
    }

    pub(crate) fn tool_object_classes(&self, word: &str) -> &[usize] {
        self.tool_objects.get(word).map_or(&[], Vec::as_slice)
    }

    /// Families of an action word of any language, for the names of tools that are not English.
    pub(crate) fn word_families(&self, word: &str) -> Vec<usize> {
        self.languages
            .values()
            .filter_map(|language| language.verbs.get(word))
            .flatten()
            .map(|sense| sense.family)
            .collect()
    }

    /// Classes of an object word of any language.
    pub(crate) fn word_objects(&self, word: &str) -> Vec<usize> {
        self.languages
            .values()
            .filter_map(|language| language.objects.get(word))
            .flatten()
            .copied()
            .collect()
    }

    /// Whether `argument` holds a number of what `word` counts.
    pub(crate) fn counts(&self, argument: &str, word: &str) -> bool {
        self.number_roles.iter().any(|role| {
            role.arguments.iter().any(|own| own == argument) && role.words.iter().any(|own| own == word)
        })
    }

    /// The mode a tool's value stands for.
    pub(crate) fn mode_of(&self, value: &str) -> Option<&str> {
        self.mode_values.get(&value.to_lowercase()).map(String::as_str)
    }

    /// Whether `word` names `mode`.
    pub(crate) fn names_mode(&self, mode: &str, word: &str) -> bool {
        self.modes.get(mode).is_some_and(|words| words.contains(word))
    }
}

impl Language {
    pub(crate) fn is(&self, folded: &str, list: List) -> bool {
        self.lists
            .get(folded)
            .is_some_and(|lists| lists & list.bit() != 0)
    }
}

/// Whether the character belongs to writing without spaces between words.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_vocabulary_is_read_and_has_five_languages() {
        let words = ActionWords::built_in().map_err(|error| error.to_string());
        assert!(words.is_ok(), "{words:?}");
        let languages: Vec<_> = Vocabulary::built_in().languages.keys().cloned().collect();
        assert_eq!(languages, ["de", "en", "es", "fr", "zh"]);
        let unknown: Vec<_> = words
            .unwrap_or_default()
            .lists
            .into_keys()
            .filter(|name| List::named(name).is_none())
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
