//! Owner text by clauses: which deeds it asks for.

use super::shape::{Piece, Shape, pieces};
use super::text::{Kind, Lexeme, Text};
use super::words::{Language, List, Sense, Vocabulary};

/// One thing the owner asked for.
#[derive(Clone, Debug)]
pub(crate) struct Licence {
    /// The sentence it stands in.
    pub(crate) sentence: usize,
    /// Its clause: the first lexeme.
    pub(crate) first: usize,
    /// One past its last lexeme.
    pub(crate) last: usize,
    /// Families of its action word.
    pub(crate) families: Vec<usize>,
    /// The action word, in lower case.
    pub(crate) verb: String,
    /// Classes of objects named in the clause, or in what it refers to.
    pub(crate) objects: Vec<usize>,
    /// How many calls it allows; none where it speaks of each or all.
    pub(crate) count: Option<u32>,
}

/// A sentence of owner text.
#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Whether it points at what was said before.
    refers: bool,
    /// Whether it only numbers an item of a list: nothing refers across it.
    numbering: bool,
}

/// Something the owner typed, read.
#[derive(Clone, Debug)]
pub(crate) struct OwnerMessage {
    pub(crate) text: Text,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) sentences: Vec<Sentence>,
    pub(crate) licences: Vec<Licence>,
}

/// The places a licence may take its dates, amounts and literals from, nearest first.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    levels: Vec<Vec<(usize, usize)>>,
}

impl Reach {
    /// Whether the lexeme stands anywhere in reach.
    pub(crate) fn holds(&self, lexeme: usize) -> bool {
        self.levels.iter().any(|level| within(level, lexeme))
    }

    /// Ranges of each level, nearest first.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &[(usize, usize)]> {
        self.levels.iter().map(Vec::as_slice)
    }
}

fn within(ranges: &[(usize, usize)], lexeme: usize) -> bool {
    ranges
        .iter()
        .any(|(first, last)| (*first..*last).contains(&lexeme))
}

/// The parts of what a person sent that they wrote themselves: without fenced blocks, quoted lines and what was
/// forwarded.
pub(crate) fn typed_parts(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if let Some(mark) = fence {
            if bare.starts_with(mark) {
                fence = None;
            }
            kept.push('\n');
            continue;
        }
        if let Some(mark) = ["```", "~~~", "\"\"\"", "'''"]
            .into_iter()
            .find(|mark| bare.starts_with(mark))
        {
            // A fence that opens and closes on one line is a quotation of its own.
            if !(bare.len() > mark.len() && bare.ends_with(mark) && bare.len() >= 2 * mark.len()) {
                fence = Some(mark);
            }
            kept.push('\n');
            continue;
        }
        if bare.starts_with('>') || bare.starts_with('＞') {
            kept.push('\n');
            continue;
        }
        if is_forward_marker(bare) {
            break;
        }
        kept.push_str(line);
    }
    // A fence in the middle of a line.
    match kept.find("```") {
        Some(_) => kept.split("```").step_by(2).collect::<Vec<_>>().join("\n"),
        None => kept,
    }
}

fn is_forward_marker(line: &str) -> bool {
    let folded = line.to_lowercase();
    let dashed = folded.starts_with("---") || folded.starts_with("___");
    (dashed
        && [
            "original message",
            "forwarded message",
            "ursprüngliche nachricht",
            "weitergeleitete nachricht",
            "message d'origine",
            "message transféré",
            "mensaje original",
            "mensaje reenviado",
            "原始邮件",
            "转发",
        ]
        .iter()
        .any(|marker| folded.contains(marker)))
        || folded.starts_with("begin forwarded message")
        || (folded.starts_with("from:") && folded.contains('@'))
        || (folded.starts_with("on ") && folded.ends_with("wrote:"))
}

impl OwnerMessage {
    pub(crate) fn read(text: &str, vocabulary: &Vocabulary) -> Self {
        let text = Text::read(&typed_parts(text), vocabulary);
        let pieces = pieces(&text, vocabulary);
        let words = text
            .lexemes
            .iter()
            .filter(|lexeme| lexeme.kind == Kind::Word && lexeme.quote.is_none())
            .map(|lexeme| lexeme.folded.as_str());
        let languages = vocabulary.languages_of(words);
        let mut sentences = sentences(&text, vocabulary);
        let parser = Parser {
            lexemes: &text.lexemes,
            pieces: &pieces,
            vocabulary,
            languages: &languages,
        };
        for sentence in &mut sentences {
            sentence.refers = parser.refers(sentence);
        }
        let mut licences = Vec::new();
        for (index, sentence) in sentences.iter().enumerate() {
            licences.extend(parser.licences(index, sentence));
        }
        licences.truncate(MOST_LICENCES);
        let mut message = Self {
            text,
            pieces,
            sentences,
            licences,
        };
        message.refer_objects(vocabulary);
        message
    }

    /// A clause that names no object is about those of the text it refers to.
    fn refer_objects(&mut self, vocabulary: &Vocabulary) {
        let words = self
            .text
            .lexemes
            .iter()
            .filter(|lexeme| lexeme.kind == Kind::Word && lexeme.quote.is_none())
            .map(|lexeme| lexeme.folded.as_str());
        let languages = vocabulary.languages_of(words);
        let parser = Parser {
            lexemes: &self.text.lexemes,
            pieces: &self.pieces,
            vocabulary,
            languages: &languages,
        };
        let objects: Vec<Option<Vec<usize>>> = self
            .licences
            .iter()
            .map(|licence| {
                let refers = (licence.first..licence.last).any(|index| parser.is(index, List::Refers));
                if !licence.objects.is_empty() || !refers {
                    return None;
                }
                let reach = self.reach(licence);
                reach.levels().find_map(|ranges| {
                    let objects: Vec<usize> = ranges
                        .iter()
                        .flat_map(|(first, last)| parser.objects(*first, *last))
                        .collect();
                    (!objects.is_empty()).then_some(objects)
                })
            })
            .collect();
        for (licence, objects) in self.licences.iter_mut().zip(objects) {
            if let Some(objects) = objects {
                licence.objects = objects;
            }
        }
    }

    /// Where a licence may take its dates, amounts and literals from.
    pub(crate) fn reach(&self, licence: &Licence) -> Reach {
        let own = licence.sentence;
        let mut linked = Vec::new();
        // Backwards, as long as each points at the one before.
        let mut index = own;
        while let Some(sentence) = self.sentences.get(index).filter(|sentence| sentence.refers) {
            let Some(before) = index.checked_sub(1) else { break };
            let Some(previous) = self.sentences.get(before).filter(|previous| !previous.numbering) else {
                break;
            };
            if sentence.numbering || own - before > 4 {
                break;
            }
            linked.push((previous.first, previous.last));
            index = before;
        }
        // Forwards, as long as each points back.
        let mut index = own + 1;
        while let Some(sentence) = self
            .sentences
            .get(index)
            .filter(|sentence| sentence.refers && !sentence.numbering)
        {
            if index - own > 4 {
                break;
            }
            linked.push((sentence.first, sentence.last));
            index += 1;
        }
        let sentence = self
            .sentences
            .get(own)
            .map(|sentence| (sentence.first, sentence.last))
            .into_iter()
            .collect();
        Reach {
            levels: vec![vec![(licence.first, licence.last)], sentence, linked],
        }
    }

    /// The sentence's typed pieces that `wanted` picks, from the nearest level that has one.
    pub(crate) fn nearest<T>(&self, reach: &Reach, wanted: impl Fn(&Shape) -> Option<T>) -> Vec<T> {
        reach
            .levels()
            .map(|ranges| {
                self.pieces
                    .iter()
                    .filter(|piece| within(ranges, piece.first))
                    .filter_map(|piece| wanted(&piece.shape))
                    .collect::<Vec<T>>()
            })
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// The owner's words from one lexeme to another.
    pub(crate) fn words(&self, first: usize, last: usize) -> (usize, usize, &str) {
        let start = self.text.lexemes.get(first).map_or(0, |lexeme| lexeme.start);
        let end = last
            .checked_sub(1)
            .and_then(|last| self.text.lexemes.get(last))
            .map_or(start, |lexeme| lexeme.end);
        (start, end, self.text.normal.get(start..end).unwrap_or_default())
    }
}

/// How many words a clause is looked through for what bears on a verb: the work stays linear in the text.
const WINDOW: usize = 60;

/// Most licences read from one text.
const MOST_LICENCES: usize = 256;

const ABBREVIATIONS: [&str; 18] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "nr", "no", "bzw", "z.b", "e.g", "i.e", "vs", "approx", "inc",
    "co", "ltd", "sr",
];

fn sentences(text: &Text, vocabulary: &Vocabulary) -> Vec<Sentence> {
    let lexemes = &text.lexemes;
    let mut found = Vec::new();
    let mut first = 0;
    let mut close = |first: usize, last: usize| {
        let Some(range) = lexemes.get(first..last) else {
            return;
        };
        let words: Vec<&Lexeme> = range.iter().filter(|lexeme| lexeme.is_word()).collect();
        if words.is_empty() {
            return;
        }
        let numbering = words.len() == 1
            && words
                .first()
                .is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit()) && word.text.len() <= 2);
        found.push(Sentence {
            first,
            last,
            refers: false,
            numbering,
        });
    };
    for (index, lexeme) in lexemes.iter().enumerate() {
        let Kind::Mark(mark) = lexeme.kind else { continue };
        if lexeme.quote.is_some() {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| lexemes.get(before));
        let after = lexemes.get(index + 1);
        let ends = match mark {
            '!' | '?' | '。' | '！' | '？' | ';' | '；' => true,
            '.' => {
                let dated = before.is_some_and(|before| before.text.chars().all(|c| c.is_ascii_digit()))
                    && after.is_some_and(|after| vocabulary.months.contains_key(&after.folded));
                let abbreviated = before
                    .is_some_and(|before| ABBREVIATIONS.contains(&before.folded.as_str()))
                    && after.is_some_and(Lexeme::is_word);
                !dated && !abbreviated
            }
            '\n' => {
                let goes_on = after.is_some_and(|after| {
                    after.is_word()
                        && after.quote.is_none()
                        && after.text.chars().next().is_some_and(char::is_lowercase)
                }) && before.is_some_and(Lexeme::is_word);
                !goes_on
            }
            _ => false,
        };
        if ends {
            close(first, index + 1);
            first = index + 1;
        }
    }
    close(first, lexemes.len());
    found
}

struct Parser<'t> {
    lexemes: &'t [Lexeme],
    pieces: &'t [Piece],
    vocabulary: &'t Vocabulary,
    languages: &'t [&'t Language],
}

/// An action word in a sentence.
struct Action {
    at: usize,
    families: Vec<usize>,
}

impl<'t> Parser<'t> {
    fn word(&self, index: usize) -> Option<&'t Lexeme> {
        self.lexemes
            .get(index)
            .filter(|lexeme| lexeme.kind == Kind::Word && lexeme.quote.is_none())
    }

    fn is(&self, index: usize, list: List) -> bool {
        self.word(index).is_some_and(|lexeme| {
            self.languages
                .iter()
                .any(|language| language.is(&lexeme.folded, list))
        })
    }

    fn refers(&self, sentence: &Sentence) -> bool {
        (sentence.first..sentence.last).any(|index| self.is(index, List::Refers))
            || (sentence.first..sentence.last)
                .find(|index| self.lexemes.get(*index).is_some_and(Lexeme::is_word))
                .is_some_and(|first| self.is(first, List::Conditions) || self.is(first, List::Joins))
    }

    fn objects(&self, first: usize, last: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for lexeme in (first..last).filter_map(|index| self.word(index)) {
            for language in self.languages {
                for object in language.objects.get(&lexeme.folded).into_iter().flatten() {
                    if !found.contains(object) {
                        found.push(*object);
                    }
                }
            }
        }
        found
    }

    fn senses(&self, index: usize, last: usize) -> Vec<&'t Sense> {
        let Some(lexeme) = self.word(index) else {
            return Vec::new();
        };
        let folded = lexeme.folded.as_str();
        // `envoie-lui` is `envoie` with a pronoun.
        let stem = folded.split_once('-').map_or(folded, |(stem, _)| stem);
        let follows = |particle: &str| {
            (index + 1..last.min(index + WINDOW))
                .any(|later| self.word(later).is_some_and(|word| word.folded == particle))
        };
        self.languages
            .iter()
            .flat_map(|language| {
                language
                    .verbs
                    .get(folded)
                    .or_else(|| folded.contains('-').then(|| language.verbs.get(stem)).flatten())
                    .into_iter()
                    .flatten()
            })
            .filter(|sense| sense.particle.as_deref().is_none_or(follows))
            .collect()
    }

    fn licences(&self, index: usize, sentence: &Sentence) -> Vec<Licence> {
        if self.depends_on_content(sentence) {
            return Vec::new();
        }
        let mut actions: Vec<Action> = Vec::new();
        let mut negated_before: Option<usize> = None;
        for at in sentence.first..sentence.last {
            let senses = self.senses(at, sentence.last);
            if senses.is_empty() {
                continue;
            }
            if self.is_negated(at, sentence)
                || negated_before.is_some_and(|before| self.is_joined(before, at))
            {
                negated_before = Some(at);
                continue;
            }
            let families: Vec<usize> = senses
                .iter()
                .filter(|sense| self.stands_as_verb(at, sentence, sense.ambiguous))
                .map(|sense| sense.family)
                .collect();
            if families.is_empty() || self.is_asked_about(at, sentence) || self.is_reported(at, sentence) {
                continue;
            }
            let to_me = self.is(at + 1, List::Mine)
                && self.word(at).is_some_and(|word| {
                    matches!(
                        word.folded.as_str(),
                        "tell"
                            | "give"
                            | "inform"
                            | "write"
                            | "gib"
                            | "schreib"
                            | "donne"
                            | "dame"
                            | "da"
                            | "get"
                            | "make"
                    )
                });
            if !to_me {
                actions.push(Action { at, families });
            }
        }
        let cuts: Vec<usize> = actions
            .windows(2)
            .map(|pair| match pair {
                [one, two] => (one.at + 1..two.at)
                    .rev()
                    .find(|index| self.parts(*index))
                    .unwrap_or(two.at),
                _ => sentence.last,
            })
            .collect();
        let mut first = sentence.first;
        let mut licences = Vec::new();
        for (position, action) in actions.into_iter().enumerate() {
            let last = cuts.get(position).copied().unwrap_or(sentence.last);
            let verb = self
                .word(action.at)
                .map(|word| word.folded.clone())
                .unwrap_or_default();
            licences.push(Licence {
                sentence: index,
                first,
                last,
                families: action.families,
                verb,
                objects: self.objects(first, last),
                count: self.count(action.at, first, last),
            });
            first = last;
        }
        licences
    }

    /// Whether a clause may end here.
    fn parts(&self, index: usize) -> bool {
        self.is(index, List::Joins)
            || self.lexemes.get(index).is_some_and(|lexeme| {
                matches!(
                    lexeme.kind,
                    Kind::Mark(',' | ':' | '，' | '、' | '\n' | '(' | '-')
                )
            })
    }

    fn is_joined(&self, before: usize, at: usize) -> bool {
        at - before <= 8
            && (before + 1..at).any(|index| self.is(index, List::Joins))
            && !(before + 1..at).any(|index| {
                self.lexemes
                    .get(index)
                    .is_some_and(|lexeme| matches!(lexeme.kind, Kind::Mark(_)))
                    || self.word(index).is_some_and(|word| {
                        matches!(
                            word.folded.as_str(),
                            "but"
                                | "instead"
                                | "aber"
                                | "sondern"
                                | "mais"
                                | "pero"
                                | "sino"
                                | "then"
                                | "但"
                                | "而是"
                        )
                    })
            })
    }

    /// `if the mail says so`, `do what it asks`, `as requested`: what is done would be decided by content.
    fn depends_on_content(&self, sentence: &Sentence) -> bool {
        let mut condition: Option<usize> = None;
        for index in sentence.first..sentence.last {
            let pronoun = self.word(index).is_some_and(|word| {
                matches!(word.folded.as_str(), "what" | "whatever" | "was" | "lo" | "什么")
            });
            if self.is(index, List::Conditions) || pronoun {
                condition = Some(index);
            } else if let Some(start) = condition {
                let own = (start..index).any(|between| {
                    self.word(between).is_some_and(|word| {
                        matches!(
                            word.folded.as_str(),
                            "i" | "we" | "you" | "ich" | "wir" | "je" | "yo" | "我"
                        )
                    })
                });
                if index - start <= 12 && self.is(index, List::Reports) && !own {
                    return true;
                }
            }
        }
        false
    }

    /// `the mail says you should delete it`.
    fn is_reported(&self, at: usize, sentence: &Sentence) -> bool {
        for index in (at.saturating_sub(WINDOW).max(sentence.first)..at).rev() {
            if self.is(index, List::Reports) {
                return true;
            }
            let parts = self.is(index, List::Joins)
                || self
                    .lexemes
                    .get(index)
                    .is_some_and(|lexeme| matches!(lexeme.kind, Kind::Mark(',' | '，')))
                || self.is(index, List::Wishes);
            if parts {
                return false;
            }
        }
        false
    }

    /// `how do I delete it?`, `did you send it?`: asked about, not asked for.
    fn is_asked_about(&self, at: usize, sentence: &Sentence) -> bool {
        let first = (sentence.first..sentence.last).find(|index| self.word(*index).is_some());
        let Some(first) = first.filter(|first| self.is(*first, List::Questions)) else {
            return false;
        };
        if first == at {
            return false;
        }
        // The parts of a sentence after its first clause may ask for something.
        let addressed =
            (at.saturating_sub(4).max(first + 1)..at).any(|index| self.is(index, List::Addressed));
        let parted = (first.max(at.saturating_sub(WINDOW))..at).any(|index| self.parts(index));
        let past = self.word(first).is_some_and(|word| {
            matches!(
                word.folded.as_str(),
                "did"
                    | "have"
                    | "has"
                    | "had"
                    | "was"
                    | "were"
                    | "hat"
                    | "habe"
                    | "how"
                    | "why"
                    | "wie"
                    | "warum"
                    | "comment"
                    | "pourquoi"
                    | "cómo"
                    | "怎么"
                    | "如何"
                    | "为什么"
            )
        });
        if past && !parted {
            return true;
        }
        !(addressed || parted)
    }

    fn is_negated(&self, at: usize, sentence: &Sentence) -> bool {
        let mut seen = 0;
        for index in (sentence.first..at).rev() {
            let Some(lexeme) = self.lexemes.get(index) else {
                break;
            };
            if lexeme.quote.is_some() || lexeme.kind != Kind::Word {
                break;
            }
            if self.is(index, List::Keeps) {
                return false;
            }
            if self.is(index, List::Negations) {
                return true;
            }
            if self.is(index, List::Joins) && !matches!(lexeme.folded.as_str(), "or" | "oder" | "ou" | "also")
            {
                break;
            }
            seen += 1;
            if seen > 5 {
                break;
            }
        }
        // `send no mail`, `lösche die Datei nicht`, `n'envoie pas`.
        let imperative_last = |word: &str| {
            matches!(
                word,
                "nicht"
                    | "nie"
                    | "niemals"
                    | "keine"
                    | "keinen"
                    | "kein"
                    | "pas"
                    | "jamais"
                    | "nothing"
                    | "none"
                    | "nobody"
            )
        };
        for index in at + 1..sentence.last.min(at + 12) {
            let Some(lexeme) = self.lexemes.get(index) else {
                break;
            };
            if matches!(lexeme.kind, Kind::Mark(_)) || self.is(index, List::Joins) {
                break;
            }
            if lexeme.quote.is_some() {
                continue;
            }
            if index == at + 1 && self.is(index, List::Negations) {
                return true;
            }
            if imperative_last(&lexeme.folded) {
                // `vergiss nicht, … zu schicken` and the like keep what follows.
                return !(index + 1..sentence.last.min(index + 3)).any(|later| self.is(later, List::Keeps));
            }
        }
        false
    }

    /// Whether the word stands where a request's verb does.
    fn stands_as_verb(&self, at: usize, sentence: &Sentence, ambiguous: bool) -> bool {
        let Some(own) = self.word(at) else { return false };
        if self.is_bound_to_another(at, sentence) {
            return false;
        }
        let infinitive = ["er", "ir", "re", "en", "ern", "ar"]
            .iter()
            .any(|ending| own.folded.ends_with(ending));
        let Some(previous) = at.checked_sub(1).filter(|previous| *previous >= sentence.first) else {
            return true;
        };
        let Some(before) = self.lexemes.get(previous) else {
            return true;
        };
        if matches!(before.kind, Kind::Mark(_)) {
            return true;
        }
        if before.quote.is_some() || before.kind != Kind::Word {
            return !ambiguous;
        }
        if before.text.chars().all(|c| c.is_ascii_digit())
            && at.checked_sub(2).is_none_or(|two| two < sentence.first)
        {
            return true;
        }
        // Capitalised in the middle of a sentence, it is a name or a German noun.
        if own.is_capitalised() && !self.is(previous, List::Addressed) && !self.is(previous, List::Joins) {
            return false;
        }
        match before.folded.as_str() {
            "to" => return self.is_wished(previous, sentence),
            "zu" => return true,
            "de" | "d" | "a" | "à" | "que" | "le" | "la" | "les" | "lui" | "leur" | "me" | "das" | "die"
            | "den" | "es" | "sie" | "ihn" | "ihm" | "uns"
                if infinitive || before.folded == "me" =>
            {
                return true;
            }
            _ => {}
        }
        if self.is(previous, List::Others) {
            return false;
        }
        let inviting = self.is(previous, List::Addressed)
            || self.is(previous, List::Joins)
            || self.is(previous, List::Wishes)
            || self.is(previous, List::Mine)
            || self.is(previous, List::Keeps)
            || matches!(
                before.folded.as_str(),
                "just"
                    | "now"
                    | "so"
                    | "ahead"
                    | "go"
                    | "directly"
                    | "immediately"
                    | "nicht"
                    | "pas"
                    | "first"
            );
        if inviting {
            return true;
        }
        if self.is(previous, List::Modals) {
            return previous
                .checked_sub(1)
                .filter(|two| *two >= sentence.first)
                .is_some_and(|two| self.is(two, List::Addressed));
        }
        !(ambiguous || self.is(previous, List::Determiners) || self.is(previous, List::Prepositions))
    }

    /// `want to`, `you to`, `not forget to`, `and to`: what follows is asked for.
    fn is_wished(&self, to: usize, sentence: &Sentence) -> bool {
        let Some(before) = to.checked_sub(1).filter(|before| *before >= sentence.first) else {
            return false;
        };
        let word = self
            .word(before)
            .map(|word| word.folded.as_str())
            .unwrap_or_default();
        let asks = self.is(before, List::Wishes)
            || self.is(before, List::Keeps)
            || matches!(word, "you" | "sure" | "ahead" | "have" | "please" | "also");
        if !asks {
            // `don't forget to invite Mark and to set the place`.
            return self.is(before, List::Joins)
                && (sentence.first..before).any(|index| {
                    self.word(index).is_some_and(|word| word.folded == "to")
                        && self.is_wished(index, sentence)
                });
        }
        let third = (before.saturating_sub(3).max(sentence.first)..before).any(|index| {
            self.word(index).is_some_and(|word| {
                matches!(
                    word.folded.as_str(),
                    "he" | "she" | "they" | "who" | "might" | "would've"
                )
            })
        });
        let asked_whether = word == "have"
            && self.is(before.saturating_sub(1), List::Others)
            && self
                .word(before.saturating_sub(1))
                .is_some_and(|word| word.folded != "you");
        !third && !asked_whether
    }

    /// `I'll book it`, `Bob will send it`, `ich werde es schicken`: somebody else's deed.
    fn is_bound_to_another(&self, at: usize, sentence: &Sentence) -> bool {
        let mut bound = false;
        for index in at.saturating_sub(WINDOW).max(sentence.first)..at {
            let Some(lexeme) = self.lexemes.get(index) else {
                break;
            };
            if matches!(
                lexeme.kind,
                Kind::Mark(',' | ':' | '，' | '\n' | '(' | '-' | '—' | '–')
            ) {
                bound = false;
                continue;
            }
            let Some(word) = self.word(index) else { continue };
            let contracted = word.folded.contains("'ll") || word.folded.contains("'ve");
            let subject_before = index.checked_sub(1).is_some_and(|before| {
                before >= sentence.first
                    && (self.is(before, List::Others)
                        || self.word(before).is_some_and(|before| {
                            before.is_capitalised() && !self.vocabulary.is_common(&before.folded)
                        }))
            });
            let subject_after = self.is(index + 1, List::Others);
            if contracted && !word.folded.starts_with("you") {
                bound = true;
            } else if self.is(index, List::Modals)
                && !self.is(index, List::Wishes)
                && (subject_before || subject_after)
            {
                bound = true;
            } else if self.is(index, List::Addressed) || self.is(index, List::Wishes) {
                bound = false;
            }
        }
        bound
    }

    /// How many calls a clause asks for.
    fn count(&self, verb: usize, first: usize, last: usize) -> Option<u32> {
        if (first..last).any(|index| self.is(index, List::Many)) {
            return None;
        }
        for index in verb + 1..last {
            let Some(word) = self.word(index) else { continue };
            let is_object = self
                .languages
                .iter()
                .any(|language| language.objects.contains_key(&word.folded));
            if !is_object {
                continue;
            }
            let number = (verb + 1..index).rev().take(3).find_map(|before| {
                let before = self.word(before)?;
                before
                    .folded
                    .parse::<u32>()
                    .ok()
                    .filter(|number| *number <= 100)
                    .or_else(|| {
                        self.languages
                            .iter()
                            .find_map(|language| language.numbers.get(&before.folded).copied())
                    })
            });
            let plural = is_plural(&word.folded);
            if let Some(number) = number.filter(|number| {
                *number > 1 && (plural || word.folded.chars().all(super::words::is_unspaced))
            }) {
                return Some(number);
            }
            if plural && index - verb <= 4 {
                return None;
            }
        }
        let addresses = (first..last)
            .filter(|index| {
                self.lexemes
                    .get(*index)
                    .is_some_and(|lexeme| lexeme.kind == Kind::Address)
            })
            .count();
        let accounts = self
            .pieces
            .iter()
            .filter(|piece| (first..last).contains(&piece.first) && matches!(piece.shape, Shape::Account(_)))
            .count();
        let names = self.enumerated_names(verb + 1, last);
        u32::try_from(addresses.max(accounts).max(names).max(1)).ok()
    }

    /// The longest enumeration of names: `Alice, Bob and Carol` is three.
    fn enumerated_names(&self, first: usize, last: usize) -> usize {
        let is_name = |index: usize| {
            self.lexemes.get(index).is_some_and(|lexeme| {
                lexeme.is_word() && lexeme.is_capitalised() && !self.vocabulary.is_common(&lexeme.folded)
            })
        };
        let (mut longest, mut run) = (0, 0);
        let mut separated = true;
        for index in first..last {
            if is_name(index) {
                if separated {
                    run += 1;
                }
                separated = false;
            } else if self.parts(index) && run > 0 {
                separated = true;
            } else {
                longest = longest.max(run);
                run = 0;
                separated = true;
            }
        }
        longest.max(run)
    }
}

fn is_plural(word: &str) -> bool {
    let ends = |ending: &str| word.ends_with(ending);
    (ends("s")
        && !ends("ss")
        && !ends("us")
        && !ends("is")
        && !matches!(
            word,
            "rendez-vous" | "address" | "settings" | "details" | "notes" | "mes" | "paramètres"
        ))
        || (ends("ungen")
            || ends("eien")
            || ends("ichten")
            || matches!(
                word,
                "termine" | "dokumente" | "flüge" | "gäste" | "kanäle" | "notizen" | "aufgaben"
            ))
}
