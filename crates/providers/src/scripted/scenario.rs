//! Scenario files.

use super::table::{File, Table};
use super::{Place, ScriptedCall, ScriptedError, ScriptedReply};
use crate::ErrorClass;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::{FinishReason, Usage};
use toml::de::DeTable;

/// A scenario file that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario file {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// It is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where reading stopped.
        place: Place,
        /// What the parser said.
        message: String,
    },
    /// A key nobody knows.
    #[error("{place}: {table} has no key {key:?}{hint}")]
    UnknownKey {
        /// Where it stands.
        place: Place,
        /// The key.
        key: String,
        /// Its table.
        table: &'static str,
        /// The rest of the message: a key that is written nearly so, and all keys of the table.
        hint: String,
    },
    /// A value of the wrong type.
    #[error("{place}: {key:?} has to be {expected}, not {found}")]
    WrongType {
        /// Where it stands.
        place: Place,
        /// Its key.
        key: String,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A text that is none of the choices.
    #[error("{place}: {key:?} cannot be {given:?}{hint}")]
    UnknownChoice {
        /// Where it stands.
        place: Place,
        /// Its key.
        key: String,
        /// What was written.
        given: String,
        /// The rest of the message: a choice that is written nearly so, and all choices.
        hint: String,
    },
    /// A key that has to be there.
    #[error("{place}: {table} needs the key {key:?}")]
    MissingKey {
        /// The table's place.
        place: Place,
        /// The key.
        key: &'static str,
        /// The table.
        table: &'static str,
    },
    /// Two keys of which only one can hold.
    #[error("{place}: a call has either \"arguments\" or \"raw_arguments\", not both")]
    TwoArguments {
        /// Where the second one stands.
        place: Place,
    },
    /// A reply that says nothing.
    #[error(
        "{place}: [[reply]] has nothing to play; give it \"text\", \"reasoning\", \"calls\" or \"errors\""
    )]
    EmptyReply {
        /// The reply's place.
        place: Place,
    },
    /// No reply at all.
    #[error("{file}: the scenario has no [[reply]]")]
    NoReply {
        /// The file.
        file: Arc<str>,
    },
}

const FILE_KEYS: &[&str] = &["scenario", "reply"];
const SCENARIO_KEYS: &[&str] = &["description"];
const REPLY_KEYS: &[&str] = &[
    "text",
    "reasoning",
    "calls",
    "expect",
    "expect_not",
    "usage",
    "finish",
    "chunk_chars",
    "thinking_ms",
    "errors",
];
const CALL_KEYS: &[&str] = &["tool", "arguments", "raw_arguments"];
const USAGE_KEYS: &[&str] = &["uncached", "cache_read", "cache_write", "output"];
const ERROR_KEYS: &[&str] = &["class", "message", "retry_after_s", "after_chars"];

const FINISHES: &[(&str, FinishReason)] = &[
    ("stop", FinishReason::Stop),
    ("tool_calls", FinishReason::ToolCalls),
    ("length", FinishReason::Length),
    ("content_filter", FinishReason::ContentFilter),
];

/// The replies of the scenario `text`; messages call it `name`.
pub(super) fn read(name: &Arc<str>, text: &str) -> Result<Vec<ScriptedReply>, ScenarioError> {
    let file = File { name, text };
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let message = match text
            .get(span.clone())
            .map(str::trim)
            .filter(|near| !near.is_empty())
        {
            Some(near) => format!("{} at {:?}", error.message(), crate::printable(near, 40)),
            None => error.message().to_owned(),
        };
        ScenarioError::Syntax {
            place: file.place(span.start),
            message,
        }
    })?;
    let document = file.checked("a scenario", document.get_ref(), 0, FILE_KEYS)?;
    if let Some(scenario) = document.table("scenario", "[scenario]", SCENARIO_KEYS)? {
        // For people; but if it is there, it has to be text.
        scenario.text("description")?;
    }
    let replies: Vec<ScriptedReply> = document
        .tables("reply", "[[reply]]", REPLY_KEYS)?
        .iter()
        .map(reply)
        .collect::<Result<_, _>>()?;
    if replies.is_empty() {
        return Err(ScenarioError::NoReply {
            file: Arc::clone(name),
        });
    }
    Ok(replies)
}

fn reply(table: &Table<'_>) -> Result<ScriptedReply, ScenarioError> {
    let usage = table.table("usage", "usage", USAGE_KEYS)?;
    let reply = ScriptedReply {
        reasoning: table.text("reasoning")?.unwrap_or_default(),
        text: table.text("text")?.unwrap_or_default(),
        calls: table
            .tables("calls", "a call", CALL_KEYS)?
            .iter()
            .map(call)
            .collect::<Result<_, _>>()?,
        expect: table.texts("expect")?,
        expect_not: table.texts("expect_not")?,
        usage: usage.as_ref().map(self::usage).transpose()?.unwrap_or_default(),
        finish: table.choice("finish", FINISHES)?,
        chunk_chars: table.number("chunk_chars", 1)?.map(to_usize),
        thinking: Duration::from_millis(table.number("thinking_ms", 0)?.unwrap_or_default()),
        errors: table
            .tables("errors", "an error", ERROR_KEYS)?
            .iter()
            .map(error)
            .collect::<Result<_, _>>()?,
        place: Some(table.place()),
    };
    // A model may really say nothing: then `text = ""` says so.
    let says_something = ["text", "reasoning", "calls", "errors"]
        .iter()
        .any(|key| table.get(key).is_some());
    if !says_something {
        return Err(ScenarioError::EmptyReply { place: table.place() });
    }
    Ok(reply)
}

fn call(table: &Table<'_>) -> Result<ScriptedCall, ScenarioError> {
    let tool = table
        .text("tool")?
        .filter(|tool| !tool.is_empty())
        .ok_or_else(|| table.missing("tool"))?;
    let arguments = match (table.json("arguments")?, table.text("raw_arguments")?) {
        (Some(_), Some(_)) => {
            return Err(ScenarioError::TwoArguments {
                place: table.place_of("raw_arguments"),
            });
        }
        (Some(arguments), None) => arguments.to_string(),
        (None, Some(raw)) => raw,
        (None, None) => String::new(),
    };
    Ok(ScriptedCall { tool, arguments })
}

fn usage(table: &Table<'_>) -> Result<Usage, ScenarioError> {
    let tokens = |key| table.number(key, 0).map(Option::unwrap_or_default);
    Ok(Usage {
        uncached: tokens("uncached")?,
        cache_read: tokens("cache_read")?,
        cache_write: tokens("cache_write")?,
        output: tokens("output")?,
    })
}

fn error(table: &Table<'_>) -> Result<ScriptedError, ScenarioError> {
    let classes: Vec<(&'static str, ErrorClass)> = ErrorClass::ALL
        .into_iter()
        .map(|class| (class.as_str(), class))
        .collect();
    let class = table
        .choice("class", &classes)?
        .ok_or_else(|| table.missing("class"))?;
    let error = ScriptedError::new(class);
    Ok(ScriptedError {
        message: table.text("message")?.unwrap_or(error.message),
        retry_after: table.number("retry_after_s", 0)?.map(Duration::from_secs),
        after_chars: table.number("after_chars", 0)?.map_or(0, to_usize),
        class,
    })
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
