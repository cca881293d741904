//! What can be wrong with a configuration.

use super::TrustError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

impl Location {
    /// The place of byte `offset` of `text`, the content of `file`.
    pub(super) fn of(file: &std::path::Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_path_buf(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {file}{}", match cause.kind() {
        io::ErrorKind::NotFound => ": there is no such file; `tidegate config show` tells which files are looked for",
        _ => "",
    })]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Custom rules are wrong; all that is, each with its line.
    #[error(transparent)]
    Rules(tidegate_policy::RuleErrors),
    /// The file is no TOML, names an unknown key, or gives a value of the wrong type.
    #[error("{at}: {message}{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    File {
        /// Where.
        at: Location,
        /// What.
        message: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// A variable names an unknown key or gives a value of the wrong type.
    #[error("variable {name}: {message}")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong and what is valid.
        message: String,
    },
    /// A value cannot be used, whatever its type.
    #[error("{origin}: {key}: {message}")]
    Value {
        /// Where it came from.
        origin: String,
        /// The dotted key.
        key: String,
        /// What is wrong and what is valid.
        message: String,
    },
    /// A file in the working folder that nobody has trusted.
    #[error(
        "{file} was found in the working folder and is not trusted, so it is not used\n  look at it, then run: tidegate config trust {file}\n  or use another file with --config"
    )]
    Untrusted {
        /// The file.
        file: PathBuf,
    },
    /// A file in the working folder that would raise a clearance.
    #[error(
        "{origin}: {key}: a file found in the working folder may only lower clearances; {given} is above {limit}\n  possible: set it in the user's configuration folder, or pass the file with --config"
    )]
    Raises {
        /// Where it came from.
        origin: String,
        /// The dotted key.
        key: String,
        /// The value there.
        given: tidegate_policy::Classification,
        /// The highest it may be.
        limit: tidegate_policy::Classification,
    },
    /// The list of trusted files cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The layers do not fit together.
    #[error("the configuration cannot be put together: {0}")]
    Layers(String),
}
