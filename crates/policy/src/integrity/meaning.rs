//! Whether the owner mentions a value in the role that it has in a call.

use super::given::Given;
use super::scope::Scope;
use super::trust::Trust;
use crate::licence::{Kind, OwnerMessage, SetAside, is_file_name};

/// How words for replying begin.
pub(super) const REPLIES: [&str; 13] = [
    "reply",
    "replies",
    "respon",
    "answer",
    "antwort",
    "beantwort",
    "répon",
    "respónd",
    "contest",
    "contést",
    "回复",
    "回信",
    "答复",
];

impl Trust<'_> {
    /// Whether the owner mentions a value, at these lexemes of a message, in the role that it has in the call.
    pub(super) fn is_meant(&self, given: &Given, message: &OwnerMessage, first: usize, last: usize) -> bool {
        let vocabulary = &self.ledger.vocabulary;
        match message.set_aside(first, vocabulary) {
            SetAside::Excluded => return false,
            SetAside::Denied if given.is_recipient => return false,
            SetAside::Denied | SetAside::No => {}
        }
        if !given.is_recipient {
            let is_place = given.text.contains('/') || is_file_name(&given.text);
            return !(is_place && !given.in_content && message.is_topic(first, vocabulary));
        }
        let Some(scope) = self.scope else { return true };
        if message.is_source(first, last, vocabulary) && !self.goes_back(scope) {
            return false;
        }
        // Elsewhere the owner may say who somebody is. Where this clause names a person, that has to be them.
        let here = std::ptr::eq(message, scope.message);
        if here && scope.is_near(first) {
            return true;
        }
        let linked = here && scope.holds(first);
        let named = |from: usize, to: usize, message: &OwnerMessage| -> Vec<String> {
            (from..to)
                .filter_map(|index| message.text.lexemes.get(index))
                .filter(|lexeme| {
                    lexeme.kind == Kind::Word
                        && lexeme.quote.is_none()
                        && lexeme.is_capitalised()
                        && !vocabulary.is_common(&lexeme.folded)
                        && !vocabulary.months.contains_key(&lexeme.folded)
                        && !vocabulary.weekdays.contains_key(&lexeme.folded)
                })
                .map(|lexeme| lexeme.folded.trim_end_matches("'s").to_owned())
                .collect()
        };
        let wanted = named(scope.near.0, scope.near.1, scope.message);
        let there = message
            .sentence_of(first)
            .map(|(from, to)| named(from, to, message))
            .unwrap_or_default();
        wanted.is_empty() || (linked && there.is_empty()) || wanted.iter().any(|name| there.contains(name))
    }

    /// Whether the clause sends something back to where it came from: a reply, or `send him …`.
    fn goes_back(&self, scope: &Scope<'_>) -> bool {
        let Some(licence) = scope.licence else { return true };
        let verb = licence.verb.as_str();
        (licence.first..licence.last)
            .filter_map(|index| scope.message.text.lexemes.get(index))
            .filter(|lexeme| lexeme.kind == Kind::Word && lexeme.quote.is_none())
            .any(|lexeme| {
                let word = lexeme.folded.as_str();
                REPLIES.iter().any(|stem| word.starts_with(stem))
                    || matches!(
                        word,
                        "him"
                            | "her"
                            | "them"
                            | "back"
                            | "ihm"
                            | "ihr"
                            | "ihnen"
                            | "zurück"
                            | "lui"
                            | "leur"
                            | "他"
                            | "她"
                            | "他们"
                            | "她们"
                    )
            })
            || ["-lui", "-leur", "ale", "ales", "íale", "ele", "eles"]
                .iter()
                .any(|ending| verb.ends_with(ending))
    }
}
