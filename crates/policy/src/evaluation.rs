//! What the gate answers.

use crate::{FlowKind, Label, RuleId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Whether a flow may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not.
    Block,
    /// It may if the owner grants this one flow; until then it may not.
    RequireApproval,
}

/// Why a rule decided or let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// Its condition was met, or it had nothing to say.
    Passed,
    /// It refused the flow.
    Refused,
    /// It wants the owner to be asked.
    Asked,
    /// A custom rule that matched and ended the custom rules with ALLOW.
    Allowed,
    /// A custom rule that matched and redacts.
    Redacted,
}

/// Why a rule said what it said. A text; those of custom rules are shared, since an evaluation may look at many.
#[derive(Clone, Debug)]
pub struct Why(Text);

#[derive(Clone, Debug)]
enum Text {
    Owned(String),
    Shared(Arc<str>),
}

impl Deref for Why {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Text::Owned(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl PartialEq for Why {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Why {}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self(Text::Owned(text))
    }
}

impl From<&str> for Why {
    fn from(text: &str) -> Self {
        Self(Text::Owned(text.to_owned()))
    }
}

impl From<Arc<str>> for Why {
    fn from(text: Arc<str>) -> Self {
        Self(Text::Shared(text))
    }
}

impl Serialize for Why {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Why {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// One rule that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleTrace {
    /// The rule.
    pub rule: RuleId,
    /// What it said.
    pub outcome: RuleOutcome,
    /// Why, in a sentence without a final stop. Every name in it is escaped. Of a custom rule it names the condition,
    /// so a part of the configuration, and never the value that was compared.
    pub why: Why,
}

/// The gate's answer to one flow: complete enough to be explained later without the session at hand.
///
/// It is stored with its event. A label that cannot be read back is an error of reading, never a default:
/// whoever reads decides, and takes [`Label::UNREADABLE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// What was asked.
    pub flow: FlowKind,
    /// Whether it may happen.
    pub decision: Decision,
    /// The rule that refused, else the first that wants the owner to be asked; none where everything passed.
    pub rule: Option<RuleId>,
    /// Every rule looked at, in order; the last is the deciding one of a refusal. A rule that asks does not end
    /// the list: a refusal after it counts more.
    pub rules: Vec<RuleTrace>,
    /// The session's label before.
    pub taint_before: Label,
    /// The session's label after: raised by a response or context that the built-in rules let in, even if a custom
    /// rule then refuses it (that it did tells of the content); the same for all else and for every other refusal.
    pub taint_after: Label,
    /// The label of the data that moves: of a result, the join it carries from now on.
    pub label: Label,
    /// The custom rules whose patterns have to be redacted before it goes on, in order; none if it is refused. It
    /// keeps its label: see [`Gate::redactor`](crate::Gate::redactor).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<RuleId>,
    /// Unless it is allowed, an explanation for people: a line on what wants to go where, then indented lines on
    /// how it came to that and what is possible. Every name in it is escaped (see [`escaped`](crate::escaped)).
    /// It names things and levels, never the content of arguments.
    pub explanation: Option<String>,
    /// Unless it is allowed, what the model is told; see [`for_model`](Self::for_model).
    pub told: Option<String>,
}

impl Evaluation {
    /// Whether the flow may happen.
    pub fn is_allowed(&self) -> bool {
        self.decision == Decision::Allow
    }

    /// Whether the owner has to be asked. Whoever cannot ask refuses.
    pub fn needs_approval(&self) -> bool {
        self.decision == Decision::RequireApproval
    }

    /// Whether `rule` wants the owner to be asked.
    pub fn is_asked_by(&self, rule: &str) -> bool {
        self.rules
            .iter()
            .any(|trace| trace.outcome == RuleOutcome::Asked && trace.rule.as_str() == rule)
    }

    /// What a model is told of a refusal: a sentence or two on what was wrong and what is valid. Of a flow that
    /// needs approval: why it does; what came of asking is added by whoever asked. Empty for a flow that is
    /// allowed.
    ///
    /// It depends on names and levels alone, never on whether the thing named exists; for a result that
    /// is withheld it is a fixed text.
    pub fn for_model(&self) -> String {
        self.told.clone().unwrap_or_default()
    }
}
