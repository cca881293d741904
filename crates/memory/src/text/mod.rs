//! Words: how texts are taken apart for search.

mod difference;
mod language;
mod words;

pub(crate) use difference::{Saying, Stems};
pub(crate) use language::{Language, language_of};
pub(crate) use words::{content_words, fold, frequent_words, hash_of, is_stop_word, is_unspaced, terms};
