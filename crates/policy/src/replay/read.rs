//! Reading tools and traces. Fields that are not known are tolerated: recorders add their own.

use super::ReplayError;
use crate::{
    ActionClass, Classification, Integrity, Label, Role, RowFields, ToolIntegrity, ToolName, ToolPolicy,
    TrustedFields,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The tools of recorded suites.
#[derive(Clone, Debug, Default)]
pub struct ReplayTools {
    pub(super) suites: BTreeMap<String, BTreeMap<String, ReplayTool>>,
}

/// A tool, and which of its arguments it insists on.
#[derive(Clone, Debug)]
pub(super) struct ReplayTool {
    pub(super) policy: ToolPolicy,
    pub(super) required: Vec<String>,
}

/// What the engine sees of a recorded trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its name.
    pub id: String,
    /// The suite, which names its tools.
    pub suite: String,
    /// What the owner wrote.
    pub prompt: String,
    /// The calls.
    pub steps: Vec<TraceStep>,
}

/// One call of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStep {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// What came back when it was recorded.
    pub result: Option<String>,
}

/// What kind of trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceKind {
    /// Every step should run.
    Benign,
    /// A harmful step should not.
    Attack,
    /// The same with the attacker's values encoded in the data.
    Encoded,
    /// A recipient in the data was exchanged.
    Swapped,
}

impl TraceKind {
    /// Its name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Benign => "benign",
            Self::Attack => "attack",
            Self::Encoded => "encoded",
            Self::Swapped => "swapped",
        }
    }
}

/// What is expected of a trace. The engine never sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Its kind.
    pub kind: TraceKind,
    /// For each step, whether it is harmful.
    pub harmful: Vec<bool>,
}

/// A trace and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTrace {
    /// The trace.
    pub trace: Trace,
    /// What is expected.
    pub expectation: Expectation,
}

impl ReplayTools {
    /// Reads a list of tools; `file` is its name in errors.
    ///
    /// # Errors
    /// If it is no JSON, or an entry lacks a field or has a wrong one. The line in the error is the entry's number.
    pub fn read(file: &str, text: &str) -> Result<Self, ReplayError> {
        let value: Value = serde_json::from_str(text).map_err(|cause| ReplayError::NotJson {
            file: file.to_owned(),
            line: cause.line(),
            cause,
        })?;
        let mut tools = Self::default();
        let Value::Array(entries) = value else {
            return Err(ReplayError::Field {
                file: file.to_owned(),
                line: 1,
                field: "(the whole)".to_owned(),
                problem: "is no list".to_owned(),
                valid: "a list of tools".to_owned(),
            });
        };
        for (number, entry) in (1..).zip(&entries) {
            let fields = Fields::of(file, number, "", entry)?;
            let suite = fields.text("suite")?;
            let name = fields.text("name")?;
            let tool = fields.tool(&name)?;
            tools.suites.entry(suite).or_default().insert(name, tool);
        }
        Ok(tools)
    }

    /// The names of the suites.
    pub fn suites(&self) -> impl Iterator<Item = &str> {
        self.suites.keys().map(String::as_str)
    }

    /// What the gate knows about a tool.
    pub fn policy(&self, suite: &str, tool: &str) -> Option<&ToolPolicy> {
        self.suites.get(suite)?.get(tool).map(|tool| &tool.policy)
    }

    /// The same tools with other declarations, as a configuration may give them.
    pub fn declare(&mut self, suite: &str, tool: &str, change: impl FnOnce(&mut ToolPolicy)) {
        if let Some(tool) = self.suites.get_mut(suite).and_then(|tools| tools.get_mut(tool)) {
            change(&mut tool.policy);
        }
    }
}

/// Reads traces, one a line; empty lines are left out. `file` is its name in errors.
///
/// # Errors
/// If a line is no JSON, lacks a field or has a wrong one, or is of a suite that `tools` has nothing for.
pub fn read_traces(file: &str, text: &str, tools: &ReplayTools) -> Result<Vec<RecordedTrace>, ReplayError> {
    let mut traces = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        let value: Value = serde_json::from_str(content).map_err(|cause| ReplayError::NotJson {
            file: file.to_owned(),
            line,
            cause,
        })?;
        let fields = Fields::of(file, line, "", &value)?;
        let suite = fields.text("suite")?;
        if !tools.suites.contains_key(&suite) {
            return Err(ReplayError::UnknownSuite {
                file: file.to_owned(),
                line,
                suite,
                known: tools.suites().collect::<Vec<_>>().join(", "),
            });
        }
        let kind = match fields.text("kind")?.as_str() {
            "benign" => TraceKind::Benign,
            "attack" => TraceKind::Attack,
            "encoded" => TraceKind::Encoded,
            "swapped" => TraceKind::Swapped,
            other => {
                return Err(fields.wrong(
                    "kind",
                    format!("is {other:?}"),
                    "benign, attack, encoded or swapped",
                ));
            }
        };
        let Some(Value::Array(entries)) = fields.map.get("steps") else {
            return Err(fields.wrong("steps", fields.problem("steps"), "a list of steps"));
        };
        let mut steps = Vec::new();
        let mut harmful = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let step = Fields::of(file, line, &format!("steps[{number}]"), entry)?;
            let arguments = match step.map.get("args") {
                None => Value::Object(Map::new()),
                Some(arguments @ Value::Object(_)) => arguments.clone(),
                Some(_) => return Err(step.wrong("args", step.problem("args"), "an object")),
            };
            let result = match step.map.get("result") {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => Some(other.to_string()),
            };
            harmful.push(match step.map.get("harmful") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(harmful)) => *harmful,
                Some(_) => return Err(step.wrong("harmful", step.problem("harmful"), "true or false")),
            });
            steps.push(TraceStep {
                tool: step.text("tool")?,
                arguments,
                result,
            });
        }
        traces.push(RecordedTrace {
            trace: Trace {
                id: fields.text("id")?,
                suite,
                prompt: fields.text("prompt")?,
                steps,
            },
            expectation: Expectation { kind, harmful },
        });
    }
    Ok(traces)
}

/// The fields of one object, with its place for errors.
struct Fields<'v> {
    file: &'v str,
    line: usize,
    at: String,
    map: &'v Map<String, Value>,
}

impl<'v> Fields<'v> {
    fn of(file: &'v str, line: usize, at: &str, value: &'v Value) -> Result<Self, ReplayError> {
        match value {
            Value::Object(map) => Ok(Self {
                file,
                line,
                at: at.to_owned(),
                map,
            }),
            other => Err(ReplayError::Field {
                file: file.to_owned(),
                line,
                field: if at.is_empty() {
                    "(the whole)".to_owned()
                } else {
                    at.to_owned()
                },
                problem: format!("is {}", kind_of(other)),
                valid: "an object".to_owned(),
            }),
        }
    }

    fn wrong(&self, field: &str, problem: String, valid: &str) -> ReplayError {
        let field = if self.at.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.at)
        };
        ReplayError::Field {
            file: self.file.to_owned(),
            line: self.line,
            field,
            problem,
            valid: valid.to_owned(),
        }
    }

    fn problem(&self, field: &str) -> String {
        self.map.get(field).map_or_else(
            || "is missing".to_owned(),
            |value| format!("is {}", kind_of(value)),
        )
    }

    fn text(&self, field: &str) -> Result<String, ReplayError> {
        match self.map.get(field) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(self.wrong(field, self.problem(field), "a text")),
        }
    }

    fn flag(&self, field: &str) -> Result<bool, ReplayError> {
        match self.map.get(field) {
            Some(Value::Bool(flag)) => Ok(*flag),
            None => Ok(false),
            Some(_) => Err(self.wrong(field, self.problem(field), "true or false")),
        }
    }

    fn names(&self, field: &str) -> Result<Vec<String>, ReplayError> {
        let names = match self.map.get(field) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>(),
            Some(_) => None,
        };
        names.ok_or_else(|| self.wrong(field, self.problem(field), "a list of names"))
    }

    fn tool(&self, name: &str) -> Result<ReplayTool, ReplayError> {
        let source = match self.map.get("source") {
            Some(source @ Value::Object(_)) => Self::of(self.file, self.line, "source", source)?,
            _ => {
                return Err(self.wrong(
                    "source",
                    self.problem("source"),
                    "an object with level and integrity",
                ));
            }
        };
        let level = source.text("level")?;
        let level: Classification = level.parse().map_err(|_| {
            source.wrong(
                "level",
                format!("is {level:?}"),
                "PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED",
            )
        })?;
        let integrity = source.text("integrity")?;
        let integrity: Integrity = integrity
            .parse()
            .map_err(|_| source.wrong("integrity", format!("is {integrity:?}"), "TRUSTED or UNTRUSTED"))?;
        let action = match self.map.get("action").and_then(Value::as_str) {
            Some("none") => ActionClass::None,
            Some("egress") => ActionClass::Egress,
            Some("destructive") => ActionClass::Destructive,
            Some("financial") => ActionClass::Financial,
            Some("local_write") => ActionClass::LocalWrite,
            Some(other) => {
                return Err(self.wrong(
                    "action",
                    format!("is {other:?}"),
                    "none, egress, destructive, financial or local_write",
                ));
            }
            None => {
                return Err(self.wrong(
                    "action",
                    self.problem("action"),
                    "none, egress, destructive, financial or local_write",
                ));
            }
        };
        let required = match self.map.get("params") {
            Some(Value::Object(parameters)) => parameters
                .iter()
                .filter(|(_, parameter)| parameter.get("required").and_then(Value::as_bool) == Some(true))
                .map(|(name, _)| name.clone())
                .collect(),
            _ => Vec::new(),
        };
        let trusted = integrity == Integrity::Trusted;
        Ok(ReplayTool {
            policy: ToolPolicy {
                name: ToolName::new(name),
                role: Role::User,
                consequential: self.flag("consequential")?,
                source: Label::new(level, integrity),
                floor: Classification::Public,
                control_arguments: self.names("control_args")?,
                approval: false,
                integrity: ToolIntegrity {
                    action,
                    egress: self.flag("egress")?,
                    recipient_arguments: self.names("recipient_args")?,
                    content_arguments: self.names("content_args")?,
                    trusted_fields: if trusted {
                        TrustedFields::All
                    } else {
                        TrustedFields::None
                    },
                    rows: RowFields::default(),
                },
            },
            required,
        })
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
