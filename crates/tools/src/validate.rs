//! Checking arguments, and saying what is wrong with them so that a model can mend them.

use crate::signature::{for_quotes, shown, signature};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Map, Value};
use std::fmt;
use tidegate_message::ArgumentsProblem;
use tidegate_policy::{ToolName, escaped};

/// How many problems are told.
const PROBLEMS: usize = 5;

/// How many problems are looked at; of more it is only said that there are more.
const LOOKED_AT: usize = 100;

/// Arguments that cannot be used, told so that a model can mend them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// There is no tool of that name.
    #[error("there is no tool {}; {}", quoted(.name), there_are(.nearest.as_ref(), .available))]
    UnknownTool {
        /// The name that was asked for.
        name: ToolName,
        /// The most similar name there is.
        nearest: Option<ToolName>,
        /// All names there are, in order.
        available: Vec<ToolName>,
    },
    /// They are not JSON, or not a JSON object.
    #[error("arguments of {tool}: {cause}")]
    Unparsable {
        /// The tool.
        tool: ToolName,
        /// What is wrong.
        cause: ArgumentsProblem,
    },
    /// They do not fit the schema.
    #[error("arguments of {tool}: {problems}; expected {expected}")]
    Unfit {
        /// The tool.
        tool: ToolName,
        /// What is wrong, where.
        problems: Problems,
        /// The signature: what is valid.
        expected: String,
    },
}

/// What does not fit, at most five things, and how many more were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// Each names its place: an argument by its name, a place deeper inside by its JSON pointer.
    pub told: Vec<String>,
    /// How many more were found.
    pub more: usize,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told.join("; "))?;
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}

fn quoted(name: &ToolName) -> String {
    shown(&Value::from(name.as_str()))
}

fn there_are(nearest: Option<&ToolName>, available: &[ToolName]) -> String {
    let names: Vec<&str> = available.iter().map(ToolName::as_str).collect();
    let list = if names.is_empty() {
        "no tools are offered".into()
    } else {
        format!("there are: {}", names.join(", "))
    };
    match nearest {
        Some(nearest) => format!("did you mean {nearest}? {list}"),
        None => list,
    }
}

/// Checks `arguments` against `validator`, made of `schema`.
pub(crate) fn check(
    tool: &ToolName,
    arguments: Map<String, Value>,
    validator: &Validator,
    schema: &Value,
) -> Result<Map<String, Value>, ArgumentsError> {
    let arguments = Value::Object(arguments);
    let mut found: Vec<(String, String)> = Vec::new();
    for error in validator.iter_errors(&arguments).take(LOOKED_AT) {
        for problem in problems(&error, schema) {
            if !found.contains(&problem) {
                found.push(problem);
            }
        }
    }
    match arguments {
        Value::Object(arguments) if found.is_empty() => Ok(arguments),
        _ => {
            // By place, so that the order does not depend on how the validator walks the schema.
            found.sort();
            let mut told: Vec<String> = found.into_iter().map(|(_, problem)| problem).collect();
            let more = told.len().saturating_sub(PROBLEMS);
            told.truncate(PROBLEMS);
            let expected = signature(schema, schema);
            Err(ArgumentsError::Unfit {
                tool: tool.clone(),
                problems: Problems { told, more },
                expected,
            })
        }
    }
}

/// What one error of the validator says: place and text.
fn problems(error: &ValidationError<'_>, root: &Value) -> Vec<(String, String)> {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => {
            // The branch that was meant is one whose outer type and tag fit: what it complains of says more
            // than that no branch fits.
            let meant = context
                .iter()
                .filter(|branch| !branch.is_empty())
                .filter(|branch| !branch.iter().any(|inner| is_wrong_kind(inner, at)))
                .min_by_key(|branch| branch.len());
            match meant {
                Some(branch) => branch.iter().flat_map(|inner| problems(inner, root)).collect(),
                None => vec![problem(at, wrong_alternative(error, root))],
            }
        }
        ValidationErrorKind::Required { property } => {
            let missing = shown(property);
            let text = if at.is_empty() {
                format!("{missing} is missing")
            } else {
                format!("{missing} is missing in {}", place(at))
            };
            vec![(at.to_owned(), text)]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = property_names(error, root);
            unexpected
                .iter()
                .map(|name| (at.to_owned(), unknown_property(at, name, &known)))
                .collect()
        }
        _ => vec![problem(at, told(error))],
    }
}

/// `"path" must be a string, not 12`.
fn problem(at: &str, complaint: String) -> (String, String) {
    (at.to_owned(), format!("{} {complaint}", place(at)))
}

fn is_wrong_kind(error: &ValidationError<'_>, at: &str) -> bool {
    match error.kind() {
        ValidationErrorKind::Type { .. } => error.instance_path().as_str() == at,
        ValidationErrorKind::Constant { .. } => true,
        _ => false,
    }
}

fn wrong_alternative(error: &ValidationError<'_>, root: &Value) -> String {
    let parent = parent_schema(error, root);
    let valid = parent.map_or_else(
        || "one of the alternatives".into(),
        |schema| signature(schema, root),
    );
    format!("must be {valid}, not {}", shown(error.instance()))
}

/// The rest of the sentence that begins with the place.
fn told(error: &ValidationError<'_>) -> String {
    let given = shown(error.instance());
    match error.kind() {
        ValidationErrorKind::Type { kind } => format!("must be {}, not {given}", type_names(kind)),
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be {}, not {given}", shown(expected_value))
        }
        ValidationErrorKind::Enum { options } => not_listed(options, error.instance()),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}, not {given}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}, not {given}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("must be more than {limit}, not {given}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("must be less than {limit}, not {given}"),
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, not {given}")
        }
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {}", count(*limit, "character"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("must have at most {}", count(*limit, "character"))
        }
        ValidationErrorKind::MinItems { limit } => format!("must have at least {}", count(*limit, "item")),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {}", count(*limit, "item")),
        ValidationErrorKind::UniqueItems => "must not have the same item twice".into(),
        ValidationErrorKind::Pattern { pattern } => {
            format!("must match the pattern {pattern}, unlike {given}")
        }
        ValidationErrorKind::Format { format } => format!("must be written as {format}, unlike {given}"),
        ValidationErrorKind::FalseSchema => "must not be there".into(),
        _ => format!("does not fit: {}", error.masked_with(given.as_str())),
    }
}

fn count(limit: u64, what: &str) -> String {
    if limit == 1 {
        format!("1 {what}")
    } else {
        format!("{limit} {what}s")
    }
}

fn not_listed(options: &Value, given: &Value) -> String {
    let Value::Array(options) = options else {
        return format!("must be {}, not {}", shown(options), shown(given));
    };
    let listed: Vec<String> = options.iter().map(shown).collect();
    let near = given
        .as_str()
        .and_then(|given| nearest_name(given, options.iter().filter_map(Value::as_str)))
        .map(|name| format!("; did you mean {}?", shown(&Value::from(name))))
        .unwrap_or_default();
    match listed.as_slice() {
        [only] => format!("must be {only}, not {}{near}", shown(given)),
        _ => format!("must be one of {}, not {}{near}", listed.join(", "), shown(given)),
    }
}

fn unknown_property(at: &str, name: &str, known: &[&str]) -> String {
    let inside = if at.is_empty() {
        String::new()
    } else {
        format!(" in {}", place(at))
    };
    let name_shown = shown(&Value::from(name));
    match nearest_name(name, known.iter().copied()) {
        Some(near) => format!(
            "{name_shown} is not an argument{inside}; did you mean {}?",
            shown(&Value::from(near))
        ),
        None => format!("{name_shown} is not an argument{inside}"),
    }
}

/// The names the schema of the failing object knows.
fn property_names<'a>(error: &ValidationError<'_>, root: &'a Value) -> Vec<&'a str> {
    parent_schema(error, root)
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// The schema whose keyword failed.
fn parent_schema<'a>(error: &ValidationError<'_>, root: &'a Value) -> Option<&'a Value> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    root.pointer(parent)
}

/// An argument by its name, a place inside it by its JSON pointer.
fn place(at: &str) -> String {
    match at.strip_prefix('/') {
        None => "the whole".into(),
        Some(name) if !name.contains('/') => {
            format!("\"{}\"", for_quotes(&name.replace("~1", "/").replace("~0", "~")))
        }
        Some(_) => escaped(at).into_owned(),
    }
}

fn type_names(kind: &TypeKind) -> String {
    let name = |kind: JsonType| match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    };
    match kind {
        TypeKind::Single(kind) => name(*kind).into(),
        TypeKind::Multiple(kinds) => {
            // "or null" would only tell a model that it may leave the argument out.
            let names: Vec<&str> = kinds
                .iter()
                .filter(|kind| !matches!(kind, JsonType::Null))
                .map(name)
                .collect();
            names.join(" or ")
        }
    }
}

/// The most similar of `names` to what was `wanted`, if it is similar enough to be what was meant; of equally
/// similar ones the first. Case does not count.
pub fn nearest_name<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name nobody would type is not worth comparing.
    const LONGEST: usize = 128;
    if wanted.len() > LONGEST {
        return None;
    }
    let wanted = wanted.to_lowercase();
    names
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(&wanted, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(similarity, _)| *similarity >= 0.6)
        .fold(None, |best: Option<(f64, &str)>, (similarity, name)| match best {
            Some((top, _)) if top >= similarity => best,
            _ => Some((similarity, name)),
        })
        .map(|(_, name)| name)
}
