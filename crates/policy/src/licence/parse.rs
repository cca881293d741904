//! Owner text by clauses: which deeds it asks for.

use super::clause::Parser;
use super::mention::SetAside;
use super::shape::{Piece, Shape, pieces};
use super::text::{Kind, Lexeme, Text};
use super::words::{List, Vocabulary};

/// One thing the owner asked for.
#[derive(Clone, Debug)]
pub(crate) struct Licence {
    /// The sentence it stands in.
    pub(crate) sentence: usize,
    /// Its clause: the first lexeme.
    pub(crate) first: usize,
    /// One past its last lexeme.
    pub(crate) last: usize,
    /// Where its action word stands.
    pub(crate) at: usize,
    /// Families of its action word.
    pub(crate) families: Vec<usize>,
    /// The action word, in lower case.
    pub(crate) verb: String,
    /// Classes of objects named in the clause, or in what it refers to.
    pub(crate) objects: Vec<usize>,
    /// How many calls it allows, where it says so.
    pub(crate) count: u32,
    /// Whether it says so by a number, and not by an enumeration.
    pub(crate) stated: bool,
    /// Whether it speaks of each or all.
    pub(crate) all: bool,
    /// Plural nouns of its object, in the singular: for tools about these it speaks of more than one.
    pub(crate) plurals: Vec<String>,
    /// Classes of these.
    pub(crate) plural_classes: Vec<usize>,
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
        // What a deed is kept away from gives it no date, amount or account.
        let kept: Vec<Piece> = message
            .pieces
            .iter()
            .filter(|piece| message.set_aside(piece.first, vocabulary) != SetAside::Excluded)
            .cloned()
            .collect();
        message.pieces = kept;
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

/// Most licences read from one text.
pub(super) const MOST_LICENCES: usize = 256;

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
