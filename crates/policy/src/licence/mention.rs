//! In which role the owner mentions a value: as what the deed is about, as where something comes from, or as what it
//! must not touch.

use super::parse::OwnerMessage;
use super::text::{Kind, Lexeme};
use super::words::{List, Vocabulary};

/// Whether the owner keeps a deed away from what they mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetAside {
    /// Nothing is said against it.
    No,
    /// A statement denies something of it: `I do not know bob@house.example`. It is no recipient by that.
    Denied,
    /// `not to`, `never …`, `except`, `instead of`, `but keep`: no value of a call.
    Excluded,
}

/// How many lexemes before a mention are looked at.
const WINDOW: usize = 14;

impl OwnerMessage {
    /// What is said against the mention that starts at the lexeme `index`.
    pub(crate) fn set_aside(&self, index: usize, vocabulary: &Vocabulary) -> SetAside {
        let lexemes = &self.text.lexemes;
        let quote = lexemes.get(index).and_then(|lexeme| lexeme.quote);
        let mut distance = 0;
        let mut next = index;
        for at in (index.saturating_sub(WINDOW)..index).rev() {
            let Some(lexeme) = lexemes.get(at) else { break };
            if lexeme.quote.is_some() {
                if lexeme.quote != quote {
                    next = at;
                }
                continue;
            }
            let folded = lexeme.folded.as_str();
            if vocabulary.in_list(folded, List::Exceptions) && lexeme.kind == Kind::Word {
                return SetAside::Excluded;
            }
            if vocabulary.in_list(folded, List::Retains) && distance < 3 {
                return SetAside::Excluded;
            }
            if is_instead_of(lexemes, at) || self.is_all_but(at, vocabulary) {
                return SetAside::Excluded;
            }
            if matches!(lexeme.kind, Kind::Mark(_)) || vocabulary.in_list(folded, List::Joins) {
                if !self.enumerates(at, next) {
                    return SetAside::No;
                }
                next = at;
                continue;
            }
            if self.is_verb_of_licence(at) || vocabulary.in_list(folded, List::Keeps) {
                return SetAside::No;
            }
            next = at;
            distance += 1;
            if vocabulary.in_list(folded, List::Negations) {
                return self.negated(at, index, distance, vocabulary);
            }
        }
        SetAside::No
    }

    fn negated(&self, at: usize, index: usize, distance: usize, vocabulary: &Vocabulary) -> SetAside {
        let word = |at: usize| {
            self.text
                .lexemes
                .get(at)
                .filter(|lexeme| lexeme.quote.is_none())
                .map(|lexeme| lexeme.folded.as_str())
        };
        let is = |at: usize, list: List| word(at).is_some_and(|word| vocabulary.in_list(word, list));
        let near_only = word(at).is_some_and(|word| {
            matches!(
                word,
                "without" | "no" | "ohne" | "sans" | "sin" | "kein" | "keine" | "keinen"
            )
        });
        if (near_only && distance > 3) || (at..(at + 4).min(index)).any(|near| is(near, List::Keeps)) {
            return SetAside::No;
        }
        // `I no longer need a.txt` is no order to leave it; `I do not want you to delete a.txt` is.
        let wish = (at..index).find(|between| is(*between, List::Wishes));
        if wish
            .is_some_and(|wish| !matches!(word(wish + 1), Some("you" | "to" | "anything" | "dass" | "que")))
        {
            return SetAside::Denied;
        }
        let states = wish.is_none()
            && (at.saturating_sub(4)..at).any(|before| is(before, List::Others))
            && !is(at + 1, List::Addressed);
        if states {
            SetAside::Denied
        } else {
            SetAside::Excluded
        }
    }

    /// Whether a comma or join stands between two of a kind: `a@b.example or c@d.example`.
    fn enumerates(&self, mark: usize, next: usize) -> bool {
        let lexemes = &self.text.lexemes;
        let (Some(before), Some(after)) = (
            mark.checked_sub(1).and_then(|before| lexemes.get(before)),
            lexemes.get(next),
        ) else {
            return false;
        };
        let like = |lexeme: &Lexeme| (lexeme.kind, lexeme.text.contains('.'), lexeme.is_capitalised());
        next == mark + 1
            && match before.kind {
                Kind::Mark(',') => true,
                Kind::Word => {
                    like(before) == like(after) && (before.text.contains('.') || before.is_capitalised())
                }
                Kind::Address | Kind::Url => before.kind == after.kind,
                Kind::Mark(_) => false,
            }
    }

    /// `everyone but`, `nothing but` is no exception, `all files but` is.
    fn is_all_but(&self, at: usize, vocabulary: &Vocabulary) -> bool {
        let word = |at: usize| self.text.lexemes.get(at).map(|lexeme| lexeme.folded.as_str());
        matches!(word(at), Some("but"))
            && (at.saturating_sub(2)..at).any(|before| {
                word(before).is_some_and(|word| {
                    word == "anyone" || word == "anybody" || vocabulary.in_list(word, List::Many)
                })
            })
    }

    fn is_verb_of_licence(&self, at: usize) -> bool {
        self.licences
            .iter()
            .any(|licence| licence.at == at && !licence.families.is_empty())
    }

    /// Whether the mention from lexeme `first` to before `last` says where something comes from, whose it is or what
    /// it is about, and not whom it goes to.
    pub(crate) fn is_source(&self, first: usize, last: usize, vocabulary: &Vocabulary) -> bool {
        let lexemes = &self.text.lexemes;
        let word = |at: usize| {
            lexemes
                .get(at)
                .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())
        };
        let is = |at: usize, list: List| word(at).is_some_and(|word| vocabulary.in_list(&word.folded, list));
        let preposition = self.preposition(first, vocabulary);
        // `each of Ann, Bob and Carol` are all of them meant.
        let of_many = |at: usize| at.checked_sub(1).is_some_and(|before| is(before, List::Many));
        if preposition.is_some_and(|at| is(at, List::Sources) && !of_many(at)) {
            return true;
        }
        // `a summary of the article at www.site.example`.
        let is_page = |at: usize| {
            word(at).is_some_and(|word| {
                let kinds = vocabulary.tool_object_classes("page");
                vocabulary
                    .word_objects(&word.folded)
                    .iter()
                    .any(|kind| kinds.contains(kind))
            })
        };
        let described = preposition.is_some_and(|at| {
            at.checked_sub(1).is_some_and(is_page)
                && self
                    .preposition(at - 1, vocabulary)
                    .is_some_and(|before| is(before, List::Sources))
        });
        if described {
            return true;
        }
        let owns = last
            .checked_sub(1)
            .and_then(word)
            .is_some_and(|own| own.folded.ends_with("'s"))
            || word(last).is_some_and(|next| next.folded == "的");
        let place = word(last).is_some_and(|next| {
            matches!(
                next.folded.as_str(),
                "inbox" | "address" | "email" | "e-mail" | "mail" | "account" | "dm" | "number" | "iban"
            )
        });
        if owns && !(place && preposition.is_some_and(|at| at + 1 == first)) {
            return true;
        }
        // `the article that Ann wrote`, within what the clause is about.
        is(last, List::Authors)
            && self
                .licences
                .iter()
                .any(|licence| licence.at < first && (licence.first..licence.last).contains(&first))
    }

    /// Whether the mention at the lexeme `first` only says what something is about.
    pub(crate) fn is_topic(&self, first: usize, vocabulary: &Vocabulary) -> bool {
        self.preposition(first, vocabulary)
            .and_then(|at| self.text.lexemes.get(at))
            .is_some_and(|lexeme| {
                matches!(
                    lexeme.folded.as_str(),
                    "about" | "regarding" | "concerning" | "über" | "sobre" | "关于"
                )
            })
    }

    /// The nearest preposition before a mention, a few words away.
    fn preposition(&self, first: usize, vocabulary: &Vocabulary) -> Option<usize> {
        for at in (first.saturating_sub(3)..first).rev() {
            let lexeme = self
                .text
                .lexemes
                .get(at)
                .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())?;
            if self.is_verb_of_licence(at) || vocabulary.in_list(&lexeme.folded, List::Joins) {
                return None;
            }
            if vocabulary.in_list(&lexeme.folded, List::Prepositions)
                || vocabulary.in_list(&lexeme.folded, List::Sources)
                || matches!(
                    lexeme.folded.as_str(),
                    "to" | "an" | "à" | "au" | "a" | "al" | "给" | "发给" | "向"
                )
            {
                return Some(at);
            }
        }
        None
    }

    /// The sentence a lexeme stands in.
    pub(crate) fn sentence_of(&self, index: usize) -> Option<(usize, usize)> {
        self.sentences
            .iter()
            .map(|sentence| (sentence.first, sentence.last))
            .find(|(first, last)| (*first..*last).contains(&index))
    }
}

/// `instead of`, `rather than`, `au lieu de`, `en vez de`.
fn is_instead_of(lexemes: &[Lexeme], at: usize) -> bool {
    let word = |at: usize| {
        lexemes
            .get(at)
            .filter(|lexeme| lexeme.quote.is_none())
            .map(|lexeme| lexeme.folded.as_str())
    };
    matches!(
        (at.checked_sub(1).and_then(word), word(at), word(at + 1)),
        (_, Some("instead"), Some("of"))
            | (_, Some("rather" | "other"), Some("than"))
            | (Some("au"), Some("lieu"), Some("de"))
            | (Some("en"), Some("vez" | "lugar"), Some("de"))
    )
}
