//! What can be wrong with recorded traces.

/// A file of tools or traces that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A line that is no JSON.
    #[error("{file}:{line}: it is no JSON: {cause}")]
    NotJson {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What the parser says.
        #[source]
        cause: serde_json::Error,
    },
    /// A field that is missing or of the wrong kind.
    #[error("{file}:{line}: the field `{field}` {problem}; valid is {valid}")]
    Field {
        /// The file.
        file: String,
        /// The line, counted from 1; the entry's number in a list of tools.
        line: usize,
        /// The field as a path: `steps[2].tool`.
        field: String,
        /// What is wrong.
        problem: String,
        /// What is valid.
        valid: String,
    },
    /// A trace of a suite without tools.
    #[error("{file}:{line}: no tools are known for the suite {suite:?}; the file of tools has {known}")]
    UnknownSuite {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The suite.
        suite: String,
        /// The suites there are.
        known: String,
    },
}
