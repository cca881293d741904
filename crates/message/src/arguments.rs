//! Reading the arguments of a call.

use crate::ToolCall;
use serde_json::{Map, Value};

/// How many bytes of the arguments are shown on either side of the place where reading stopped.
const EXCERPT_BYTES: usize = 24;

/// Arguments that are no JSON object, told so that a model can mend them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsProblem {
    /// They are not JSON: cut off, say, or with a comma too many.
    #[error(
        "the arguments are not valid JSON: {reason} (line {line}, column {column}, near {excerpt:?}); \
         write them again as one JSON object"
    )]
    NotJson {
        /// What the parser said.
        reason: String,
        /// The line where it stopped, from 1.
        line: usize,
        /// The column where it stopped, in bytes, from 1; 0 before the first.
        column: usize,
        /// The text around that place, cut at character boundaries.
        excerpt: String,
    },
    /// They are JSON, but no object.
    #[error("the arguments have to be one JSON object, not {found}; write them as {{\"name\": value, ...}}")]
    NotAnObject {
        /// What they are.
        found: &'static str,
    },
}

impl ToolCall {
    /// The arguments as a JSON object. Empty text and white space mean no arguments, `{}`.
    ///
    /// Nesting deeper than 128 levels is refused, so that no call can exhaust the stack. Of equal keys the
    /// last counts.
    ///
    /// ```
    /// # use tidegate_message::ToolCall;
    /// let mut call = ToolCall {
    ///     id: "call_2_0".into(),
    ///     provider_id: "x".into(),
    ///     name: "read_file".into(),
    ///     arguments: r#"{"path": "a.txt"}"#.into(),
    /// };
    /// assert_eq!(call.parse_arguments()?.get("path"), Some(&"a.txt".into()));
    ///
    /// call.arguments = "".into();
    /// assert!(call.parse_arguments()?.is_empty());
    ///
    /// call.arguments = r#"{"path": "a.t"#.into();
    /// assert_eq!(
    ///     call.parse_arguments().unwrap_err().to_string(),
    ///     "the arguments are not valid JSON: EOF while parsing a string (line 1, column 13, \
    ///      near \"{\\\"path\\\": \\\"a.t\"); write them again as one JSON object",
    /// );
    /// # Ok::<(), tidegate_message::ArgumentsProblem>(())
    /// ```
    ///
    /// # Errors
    /// An [`ArgumentsProblem`]: the call must not be run, and its message is what the model is told.
    pub fn parse_arguments(&self) -> Result<Map<String, Value>, ArgumentsProblem> {
        parse_arguments(&self.arguments)
    }
}

/// The same as [`ToolCall::parse_arguments`] for arguments without their call.
///
/// # Errors
/// As there.
pub fn parse_arguments(arguments: &str) -> Result<Map<String, Value>, ArgumentsProblem> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Err(ArgumentsProblem::NotAnObject { found: "null" }),
        Ok(Value::Bool(_)) => Err(ArgumentsProblem::NotAnObject { found: "a boolean" }),
        Ok(Value::Number(_)) => Err(ArgumentsProblem::NotAnObject { found: "a number" }),
        Ok(Value::String(_)) => Err(ArgumentsProblem::NotAnObject { found: "a string" }),
        Ok(Value::Array(_)) => Err(ArgumentsProblem::NotAnObject { found: "an array" }),
        Err(error) => Err(not_json(arguments, &error)),
    }
}

fn not_json(arguments: &str, error: &serde_json::Error) -> ArgumentsProblem {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let position = format!(" at line {line} column {column}");
    let before_line: usize = arguments
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let place = before_line.saturating_add(column).min(arguments.len());
    let start = arguments.ceil_char_boundary(place.saturating_sub(EXCERPT_BYTES));
    let end = arguments.floor_char_boundary(place.saturating_add(EXCERPT_BYTES));
    ArgumentsProblem::NotJson {
        reason: message.strip_suffix(&position).unwrap_or(&message).to_owned(),
        line,
        column,
        excerpt: arguments.get(start..end).unwrap_or_default().to_owned(),
    }
}
