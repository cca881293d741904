//! What the owner's words allow, read without a model.
//!
//! A text is cut into words, quotations and typed pieces ([`text`], [`shape`]), then into sentences and clauses, of
//! which those that ask for a deed are licences ([`parse`]). [`ActionWords`] holds the vocabulary by language.

mod clause;
mod mention;
mod numeral;
mod parse;
mod shape;
mod text;
mod words;

pub(crate) use mention::SetAside;
pub(crate) use numeral::canonical_number;
pub(crate) use parse::{Licence, OwnerMessage, Reach};
pub(crate) use shape::{Date, Minutes, Shape, pieces};
pub(crate) use text::{
    Kind, Lexeme, Text, folded, is_file_name, is_mail_address, is_web_address, normalised,
};
pub use words::{ActionFamily, ActionWords, ActionWordsError, NumberRole, ObjectClass};
pub(crate) use words::{List, Vocabulary, is_unspaced};

use std::collections::BTreeSet;

/// The typed pieces of a short text.
pub(crate) fn pieces_of(text: &str, vocabulary: &Vocabulary) -> Vec<Shape> {
    let text = Text::read(text, vocabulary);
    pieces(&text, vocabulary)
        .into_iter()
        .map(|piece| piece.shape)
        .collect()
}

/// The web addresses in a text, whole.
pub(crate) fn web_addresses(text: &str, vocabulary: &Vocabulary) -> BTreeSet<String> {
    Text::read(text, vocabulary)
        .lexemes
        .into_iter()
        .filter(|lexeme| lexeme.kind == Kind::Url)
        .map(|lexeme| lexeme.text)
        .collect()
}
