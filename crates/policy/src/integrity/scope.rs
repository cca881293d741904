//! Where in the owner's words a licence may take its values from.

use crate::licence::{Kind, Licence, List, OwnerMessage, Reach, Shape, Vocabulary};

/// A licence's surroundings, or a whole message where there is none.
pub(super) struct Scope<'l> {
    pub(super) message: &'l OwnerMessage,
    pub(super) licence: Option<&'l Licence>,
    reach: Option<Reach>,
    /// Clause and sentence.
    pub(super) near: (usize, usize),
}

impl<'l> Scope<'l> {
    pub(super) fn of_licence(message: &'l OwnerMessage, licence: &'l Licence) -> Self {
        let near = message
            .sentences
            .get(licence.sentence)
            .map_or((licence.first, licence.last), |sentence| {
                (sentence.first, sentence.last)
            });
        Self {
            reach: Some(message.reach(licence)),
            message,
            licence: Some(licence),
            near,
        }
    }

    pub(super) fn of_message(message: &'l OwnerMessage) -> Self {
        Self {
            reach: None,
            licence: None,
            near: (0, message.text.lexemes.len()),
            message,
        }
    }

    /// The typed pieces that `wanted` picks, from the nearest place that has one.
    pub(super) fn nearest<T>(&self, wanted: impl Fn(&Shape) -> Option<T>) -> Vec<T> {
        match &self.reach {
            Some(reach) => self.message.nearest(reach, wanted),
            None => self
                .message
                .pieces
                .iter()
                .filter_map(|piece| wanted(&piece.shape))
                .collect(),
        }
    }

    /// Whether the lexeme is in the clause, its sentence or what they are linked with.
    pub(super) fn holds(&self, lexeme: usize) -> bool {
        self.reach.as_ref().is_none_or(|reach| reach.holds(lexeme))
    }

    /// Whether the lexeme is in the clause or its sentence.
    pub(super) fn is_near(&self, lexeme: usize) -> bool {
        (self.near.0..self.near.1).contains(&lexeme)
    }

    /// Texts the owner fixed for this licence: quotations that a word like `titled` or `subject` stands before, in its
    /// clause or in sentences that only add to it; and all with holes.
    pub(super) fn literals(
        &self,
        message: &OwnerMessage,
        licence: &Licence,
        vocabulary: &Vocabulary,
    ) -> Vec<String> {
        let lexemes = &message.text.lexemes;
        let added: Vec<(usize, usize)> = message
            .sentences
            .iter()
            .enumerate()
            .filter(|(index, sentence)| {
                *index > licence.sentence
                    && self.holds(sentence.first)
                    && !message.licences.iter().any(|other| other.sentence == *index)
                    && !message
                        .licences
                        .iter()
                        .any(|other| (licence.sentence + 1..*index).contains(&other.sentence))
            })
            .map(|(_, sentence)| (sentence.first, sentence.last))
            .collect();
        let mut found: Vec<String> = Vec::new();
        for (first, last) in std::iter::once((licence.first, licence.last)).chain(added) {
            let mut index = first;
            while index < last {
                let Some(quote) = lexemes.get(index).and_then(|lexeme| lexeme.quote) else {
                    index += 1;
                    continue;
                };
                let text = message
                    .text
                    .quotes
                    .get(quote)
                    .map(|quote| quote.text.clone())
                    .unwrap_or_default();
                let role = (index.saturating_sub(6).max(first)..index)
                    .rev()
                    .map_while(|before| {
                        let lexeme = lexemes.get(before)?;
                        let stops = lexeme.quote.is_some()
                            || matches!(lexeme.kind, Kind::Mark(',' | ';' | '，' | '\n'));
                        (!stops).then_some(lexeme)
                    });
                let has_role = role
                    .into_iter()
                    .any(|lexeme| vocabulary.in_list(&lexeme.folded, List::Roles));
                let has_hole = text.contains('{') && text.contains('}');
                if (has_role || has_hole) && !text.trim().is_empty() {
                    found.push(text);
                }
                while lexemes
                    .get(index)
                    .is_some_and(|lexeme| lexeme.quote == Some(quote))
                {
                    index += 1;
                }
            }
        }
        found
    }
}
