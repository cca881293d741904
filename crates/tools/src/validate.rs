//! Placeholder.
/// Arguments that cannot be used, told so that a model can mend them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// They are not JSON, or not a JSON object.
    #[error("{0}")]
    Unparsable(String),
    /// They do not fit the schema.
    #[error("{0}")]
    Unfit(String),
}
