//! What the owner is shown.

use super::asking::Subject;
use super::origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_message::Transcript;
use tidegate_policy::{
    ApprovalId, CallId, Classification, Evaluation, IntegrityVerdict, Resource, ResourceKind, RuleId,
    SessionId, SinkLevel, ToolName, TurnId, escaped,
};
use tidegate_store::ApprovalRecord;

/// A call that waits for the owner: everything it would do, from the runtime and not from the model.
///
/// It is stored as JSON with the request and erased with its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Its id, as `tidegate approvals grant` takes it.
    pub id: ApprovalId,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The rule that asks: `integrity-by-value`, `bumper`, `tool-approval`, or a custom one.
    pub rule: RuleId,
    /// What the call wants to do and why that is asked: a line, then indented lines. Every name in it is escaped, it
    /// can be shown as it is.
    pub why: String,
    /// Whether the call changes something outside the conversation.
    pub consequential: bool,
    /// The level of what the call would carry to its sinks.
    pub carries: Classification,
    /// The arguments that decide what the call does, in full.
    pub control: Vec<ControlValue>,
    /// What it writes or sends to, in full.
    pub sinks: Vec<TouchedSink>,
    /// What it reads or sends along, in full.
    pub sources: Vec<TouchedSource>,
    /// The whole arguments, content included, exactly as the call would run with them. Nothing in here is escaped.
    pub arguments: Map<String, Value>,
}

/// A value that decides what a call does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlValue {
    /// Which argument it is, or is in: `path`, `to[0]`, `where.id`. Escaped.
    pub argument: String,
    /// The value, whole and escaped: texts without quotes, all else as JSON.
    pub value: String,
    /// The characters in it that are not ASCII, each once with its code point (`а U+0430`): among them are those
    /// that look like others.
    pub unusual: Vec<String>,
    /// Where the same text stood before, as far as that is known.
    pub origin: ValueOrigin,
    /// How integrity by value judged it; none where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedValue>,
}

/// What integrity by value (check 7) says of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedValue {
    /// Whether it is the owner's, or comes from what the owner trusts.
    pub trusted: bool,
    /// Why: a sentence without a final stop, escaped.
    pub why: String,
}

/// Where a value was seen before. An occurrence, not a proof: it tells what is known now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ValueOrigin {
    /// A person wrote it in this session.
    Person {
        /// In which entry, the latest.
        entry: u64,
    },
    /// It stood in a result, and nobody had written it.
    Result {
        /// Of which tool; escaped.
        tool: String,
        /// In which entry, the latest.
        entry: u64,
    },
    /// The model wrote it: it stood nowhere before.
    Model,
    /// Too short to tell.
    Unclear,
}

/// Something a call writes or sends to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedSink {
    /// What kind of thing.
    pub kind: ResourceKind,
    /// Its name, whole and escaped.
    pub name: String,
    /// The highest level that may go there; none for a file of the program's own, which is refused.
    pub level: Option<Classification>,
}

/// Something a call reads or sends along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedSource {
    /// What kind of thing.
    pub kind: ResourceKind,
    /// Its name, whole and escaped.
    pub name: String,
    /// Its level.
    pub level: Classification,
}

impl ApprovalRequest {
    /// The request that is stored in `record`.
    ///
    /// # Errors
    /// If what was shown is erased, or was written by another version in a form that is not known here.
    pub fn read(record: &ApprovalRecord) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&record.shown)
    }

    pub(super) fn of(
        id: ApprovalId,
        session: SessionId,
        turn: TurnId,
        subject: &Subject<'_>,
        evaluation: &Evaluation,
        verdict: Option<&IntegrityVerdict>,
        transcript: &Transcript,
    ) -> Self {
        let policy = &subject.definition.policy;
        let declared = &policy.control_arguments;
        // An argument nobody declared decides what a consequential call does, for all that is known.
        let all = policy.consequential && declared.is_empty();
        let receives = &policy.integrity.recipient_arguments;
        let mut control = Vec::new();
        for (name, value) in subject.arguments.as_object().into_iter().flatten() {
            if all || declared.contains(name) || receives.contains(name) {
                leaves(&escaped(name), value, &mut |argument, text| {
                    control.push(ControlValue {
                        argument: argument.to_owned(),
                        value: escaped(text).into_owned(),
                        unusual: unusual(text),
                        origin: origin::of(text, transcript),
                        judged: judged(verdict, argument),
                    });
                });
            }
        }
        let (mut sinks, mut sources) = (Vec::new(), Vec::new());
        for resource in subject.resources {
            match resource {
                Resource::Sink { what, level } => sinks.push(TouchedSink {
                    kind: what.kind,
                    name: escaped(&what.name).into_owned(),
                    level: match level {
                        SinkLevel::Level(level) => Some(*level),
                        SinkLevel::OwnFile => None,
                    },
                }),
                Resource::Source { what, label } | Resource::Payload { what, label } => {
                    sources.push(TouchedSource {
                        kind: what.kind,
                        name: escaped(&what.name).into_owned(),
                        level: label.classification,
                    });
                }
            }
        }
        Self {
            id,
            session,
            turn,
            call: subject.call.id.clone(),
            tool: policy.name.clone(),
            rule: rule_of(evaluation),
            why: evaluation.explanation.clone().unwrap_or_default(),
            consequential: policy.consequential,
            carries: evaluation.label.classification,
            control,
            sinks,
            sources,
            arguments: subject.arguments.as_object().cloned().unwrap_or_default(),
        }
    }
}

/// What was said of the value at this place.
fn judged(verdict: Option<&IntegrityVerdict>, argument: &str) -> Option<JudgedValue> {
    let value = verdict?
        .values
        .iter()
        .find(|value| escaped(&value.argument) == argument)?;
    Some(JudgedValue {
        trusted: value.trusted,
        why: value.why.clone(),
    })
}

/// The rule that asks.
pub(super) fn rule_of(evaluation: &Evaluation) -> RuleId {
    evaluation.rule.clone().unwrap_or_else(|| RuleId::new(""))
}

/// Gives each value that holds no others, with its place.
fn leaves(place: &str, value: &Value, give: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => give(place, text),
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(&format!("{place}[{index}]"), item, give);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                leaves(&format!("{place}.{}", escaped(name)), field, give);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            give(place, &value.to_string());
        }
    }
}

fn unusual(text: &str) -> Vec<String> {
    let mut seen: Vec<char> = Vec::new();
    for character in text.chars().filter(|character| !character.is_ascii()) {
        if !seen.contains(&character) {
            seen.push(character);
        }
    }
    seen.into_iter()
        .map(|character| {
            let shown = escaped(character.encode_utf8(&mut [0; 4])).into_owned();
            format!("{shown} U+{:04X}", u32::from(character))
        })
        .collect()
}
