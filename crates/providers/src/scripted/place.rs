//! Places in a file.

use std::fmt;
use std::sync::Arc;

/// A place in a scenario file: `demo.toml:12:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of byte `offset` of `text`.
    pub(super) fn at(file: &Arc<str>, text: &str, offset: usize) -> Self {
        // The offset may lie behind the end, or, in broken input, inside a character.
        let before = String::from_utf8_lossy(text.as_bytes().get(..offset).unwrap_or(text.as_bytes()));
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self {
            file: Arc::clone(file),
            line,
            column,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
