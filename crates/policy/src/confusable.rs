//! Names that look like others.

use crate::escape::quoted;
use std::fmt;
use unicode_security::MixedScript as _;

/// A word that may be read as another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusable {
    /// The word.
    pub word: String,
    /// The plain ASCII word it looks like, if it does.
    pub looks_like: Option<String>,
}

/// Says it with every character that is not ASCII spelled out.
impl fmt::Display for Confusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = quoted(&self.word);
        match &self.looks_like {
            Some(plain) => write!(f, "{word} only looks like {}: it is ", quoted(plain))?,
            None => write!(f, "{word} mixes scripts: it is ")?,
        }
        for character in self.word.chars() {
            if character.is_ascii() {
                write!(f, "{character}")?;
            } else {
                write!(f, "{}", character.escape_unicode())?;
            }
        }
        Ok(())
    }
}

/// The words of `value` that may be read as others: such as mix scripts, and such as look like plain ASCII and are
/// not. Words end at everything but letters, digits, marks, `-` and invisible characters.
pub fn confusables(value: &str) -> Vec<Confusable> {
    let inside = |character: char| {
        character.is_alphanumeric()
            || character == '-'
            || (!character.is_ascii() && !character.is_whitespace())
    };
    value
        .split(|character| !inside(character))
        .filter(|word| !word.is_ascii())
        .filter_map(|word| {
            let skeleton: String = unicode_security::skeleton(word).collect();
            let looks_like = skeleton.is_ascii().then_some(skeleton);
            let mixed = !word.is_single_script();
            (looks_like.is_some() || mixed).then(|| Confusable {
                word: word.to_owned(),
                looks_like,
            })
        })
        .collect()
}
