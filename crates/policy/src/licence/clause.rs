//! Clauses: which action words ask for a deed, of how many objects, and which do not ask.

use super::parse::{Licence, MOST_LICENCES, Sentence};
use super::shape::{Piece, Shape};
use super::text::{Kind, Lexeme};
use super::words::{Language, List, Sense, Vocabulary};

/// How many words a clause is looked through for what bears on a verb: the work stays linear in the text.
const WINDOW: usize = 60;

pub(super) struct Parser<'t> {
    pub(super) lexemes: &'t [Lexeme],
    pub(super) pieces: &'t [Piece],
    pub(super) vocabulary: &'t Vocabulary,
    pub(super) languages: &'t [&'t Language],
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

    pub(super) fn is(&self, index: usize, list: List) -> bool {
        self.word(index).is_some_and(|lexeme| {
            self.languages
                .iter()
                .any(|language| language.is(&lexeme.folded, list))
        })
    }

    pub(super) fn refers(&self, sentence: &Sentence) -> bool {
        (sentence.first..sentence.last).any(|index| self.is(index, List::Refers))
            || (sentence.first..sentence.last)
                .find(|index| self.lexemes.get(*index).is_some_and(Lexeme::is_word))
                .is_some_and(|first| self.is(first, List::Conditions) || self.is(first, List::Joins))
    }

    pub(super) fn objects(&self, first: usize, last: usize) -> Vec<usize> {
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
        let place = |particle: &str| {
            (index + 1..last.min(index + WINDOW))
                .find(|later| self.word(*later).is_some_and(|word| word.folded == particle))
        };
        let found: Vec<(&Sense, Option<usize>)> = self
            .languages
            .iter()
            .flat_map(|language| {
                language
                    .verbs
                    .get(folded)
                    .or_else(|| folded.contains('-').then(|| language.verbs.get(stem)).flatten())
                    .into_iter()
                    .flatten()
            })
            .filter_map(|sense| match sense.particle.as_deref() {
                None => Some((sense, None)),
                Some(particle) => place(particle).map(|place| (sense, Some(place))),
            })
            .collect();
        // Of several particles the nearest is the verb's: `turn off the lamp on the desk`.
        let nearest = found.iter().filter_map(|(_, place)| *place).min();
        found
            .into_iter()
            .filter(|(_, place)| place.is_none() || *place == nearest)
            .map(|(sense, _)| sense)
            .collect()
    }

    pub(super) fn licences(&self, index: usize, sentence: &Sentence) -> Vec<Licence> {
        if self.depends_on_content(sentence) {
            return Vec::new();
        }
        let mut actions: Vec<Action> = Vec::new();
        let mut negated_before: Option<usize> = None;
        for at in sentence.first..sentence.last {
            if actions.len() >= MOST_LICENCES {
                break;
            }
            let senses = self.senses(at, sentence.last);
            let unknown = senses.is_empty() && self.may_be_a_tools_word(at, sentence);
            if senses.is_empty() && !unknown {
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
            if (families.is_empty() && !unknown)
                || self.is_asked_about(at, sentence)
                || self.is_reported(at, sentence)
                || self.is_rendered(at, sentence)
            {
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
                            | "let"
                            | "ask"
                            | "remind"
                            | "frag"
                            | "erinnere"
                    )
                });
            if !to_me {
                actions.push(Action { at, families });
            }
        }
        // Words that only a tool may know do not end another clause: `send it to Bob, use the title 'X'` is one.
        let (known, unknown): (Vec<Action>, Vec<Action>) = actions
            .into_iter()
            .partition(|action| !action.families.is_empty());
        let mut licences = self.clauses(index, sentence, known);
        licences.extend(self.clauses(index, sentence, unknown));
        licences
    }

    /// A licence for each action, with the part of the sentence that is its own.
    fn clauses(&self, index: usize, sentence: &Sentence, actions: Vec<Action>) -> Vec<Licence> {
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
            let mut licence = Licence {
                sentence: index,
                first,
                last,
                at: action.at,
                families: action.families,
                verb,
                objects: self.objects(first, last),
                count: 1,
                stated: false,
                all: false,
                plurals: Vec::new(),
                plural_classes: Vec::new(),
            };
            self.count(action.at, &mut licence);
            if !self.takes_content(first, last, action.at) {
                licences.push(licence);
            }
            first = last;
        }
        licences
    }

    /// A word no vocabulary has, where a request's verb stands: it licenses tools that have it in their name.
    fn may_be_a_tools_word(&self, at: usize, sentence: &Sentence) -> bool {
        let Some(word) = self.word(at) else { return false };
        if self.vocabulary.is_common(&word.folded) || !word.text.chars().all(char::is_alphabetic) {
            return false;
        }
        let Some(previous) = at.checked_sub(1).filter(|previous| *previous >= sentence.first) else {
            return true;
        };
        let after_mark = self
            .lexemes
            .get(previous)
            .is_some_and(|before| matches!(before.kind, Kind::Mark(_)) && before.quote.is_none());
        !word.is_capitalised()
            && (after_mark || self.is(previous, List::Addressed) || self.is(previous, List::Joins))
            && self.stands_as_verb(at, sentence, true)
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

    /// `send what it asks for`: what the clause is about would be decided by content.
    fn takes_content(&self, first: usize, last: usize, verb: usize) -> bool {
        let mut pronoun: Option<usize> = None;
        (first..last).any(|index| {
            let word = self
                .word(index)
                .map(|word| word.folded.as_str())
                .unwrap_or_default();
            if matches!(word, "what" | "whatever" | "was" | "什么") {
                pronoun = Some(index);
            }

            pronoun.is_some_and(|pronoun| index - pronoun <= 12)
                && self.is(index, List::Reports)
                && !(index..verb).any(|between| self.is(between, List::Joins))
        })
    }

    /// `Translate: send the mail`: what stands behind the colon is a text to work on.
    fn is_rendered(&self, at: usize, sentence: &Sentence) -> bool {
        let colon = (at.saturating_sub(WINDOW).max(sentence.first)..at)
            .find(|index| {
                self.lexemes
                    .get(*index)
                    .is_some_and(|lexeme| lexeme.is_mark(':') || lexeme.is_mark('：'))
            })
            .unwrap_or(sentence.first);
        (sentence.first..colon).any(|index| {
            self.is(index, List::Rendering) && !(index..colon).any(|between| self.is(between, List::Joins))
        })
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
        // `Do you delete it at night?`
        if first.is_some_and(|first| {
            first + 2 == at
                && self.word(first).is_some_and(|word| word.folded == "do")
                && self.word(first + 1).is_some_and(|word| word.folded == "you")
        }) {
            return true;
        }
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
            if lexeme.quote.is_some() {
                continue;
            }
            if matches!(lexeme.kind, Kind::Mark(_)) {
                break;
            }
            if self.is(index, List::Keeps) {
                return false;
            }
            if self.is(index, List::Negations) {
                // `n'oublie pas d'envoyer` asks for it.
                return !(index.saturating_sub(3).max(sentence.first)..at)
                    .any(|near| self.is(near, List::Keeps));
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
            let another = self.is(index, List::Modals)
                && !self.is(index, List::Wishes)
                && (subject_before || subject_after);
            if another || (contracted && !word.folded.starts_with("you")) {
                bound = true;
            } else if self.is(index, List::Addressed) || self.is(index, List::Wishes) {
                bound = false;
            }
        }
        bound
    }

    /// Whether a word belongs to what the clause is about, and not to `of all my mails`.
    fn is_direct(&self, index: usize, first: usize) -> bool {
        !(index.saturating_sub(2).max(first)..index).any(|before| self.is(before, List::Prepositions))
    }

    /// Fills in how many calls a clause asks for.
    fn count(&self, verb: usize, licence: &mut Licence) {
        let (first, last) = (licence.first, licence.last);
        licence.all = (first..last).any(|index| self.is(index, List::Many) && self.is_direct(index, first));
        for index in (first..last).filter(|index| *index != verb && self.is_direct(*index, first)) {
            let Some(word) = self.word(index) else { continue };
            if !is_plural(&word.folded) {
                continue;
            }
            licence
                .plurals
                .push(crate::provenance::singular(&word.folded).to_owned());
            for language in self.languages {
                licence
                    .plural_classes
                    .extend(language.objects.get(&word.folded).into_iter().flatten());
            }
        }
        let numbers = (verb + 1..last.min(verb + 4)).filter_map(|index| {
            let word = self.word(index)?;
            let number = word.folded.parse::<u32>().ok().or_else(|| {
                self.languages
                    .iter()
                    .find_map(|language| language.numbers.get(&word.folded).copied())
            })?;
            // `two mails`, `3 events`, `两封邮件`.
            let counted = (index + 1..last.min(index + 4))
                .filter_map(|next| self.word(next))
                .any(|next| is_plural(&next.folded) || next.folded.chars().all(super::words::is_unspaced));
            (counted && (2..=100).contains(&number)).then_some(number)
        });
        let number = numbers.max();
        if number.is_some() {
            licence.plurals.clear();
            licence.plural_classes.clear();
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
        let quotes = self.enumerated_quotes(verb + 1, last);
        let enumerated = addresses.max(accounts).max(names).max(quotes).clamp(1, 100);
        licence.count = u32::try_from(enumerated).unwrap_or(1).max(number.unwrap_or(1));
        licence.stated = number.is_some();
    }

    /// The longest enumeration of quotations: `'Tax' and 'Photos'` is two.
    fn enumerated_quotes(&self, first: usize, last: usize) -> usize {
        let (mut longest, mut run) = (0, 0);
        let mut before: Option<usize> = None;
        for index in first..last {
            let quote = self.lexemes.get(index).and_then(|lexeme| lexeme.quote);
            if quote.is_some() && quote == before {
                continue;
            }
            match quote {
                Some(_) => run += 1,
                None if self.parts(index) => {}
                None => run = 0,
            }
            longest = longest.max(run);
            before = quote;
        }
        longest
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
