//! What a session has been in touch with, and how it came to it.

use crate::escape::escaped;
use crate::{Classification, Label, SourceId, ToolName};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The label a context has reached, with each step that raised it.
///
/// It only rises: [`raise`](Self::raise) joins, and nothing lowers. The lineage has an entry only where
/// the label really changed, so it is never longer than the lattice is high (four steps), however long
/// the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    label: Label,
    lineage: Vec<Escalation>,
}

/// One step up: when, by what, from where to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The label before.
    pub from: Label,
    /// The label after.
    pub to: Label,
    /// What was read.
    pub origin: Origin,
    /// The session's turn in which it happened, counted from 1.
    pub turn: u32,
}

/// What raised a taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A person wrote it, at a level they chose (`run --level`) or pasted what is not theirs.
    Owner,
    /// A tool's result.
    Tool {
        /// The tool.
        tool: ToolName,
        /// What it read: paths, hosts, named as the tool names them. Empty if it only computed.
        resources: Vec<String>,
        /// The stored full text, where there is one.
        source: Option<SourceId>,
    },
    /// What another session or a creating one handed over.
    Session {
        /// Its id, as text.
        session: String,
    },
}

/// Names are [`escaped`].
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("the owner's text"),
            Self::Tool { tool, resources, .. } if resources.is_empty() => {
                f.write_str(&escaped(tool.as_str()))
            }
            Self::Tool { tool, resources, .. } => {
                write!(
                    f,
                    "{} of {}",
                    escaped(tool.as_str()),
                    escaped(&resources.join(", "))
                )
            }
            Self::Session { session } => write!(f, "session {}", escaped(session)),
        }
    }
}

impl Default for Taint {
    fn default() -> Self {
        Self::new(Label::BOTTOM)
    }
}

impl Taint {
    /// A context that starts with `label` and no history.
    pub fn new(label: Label) -> Self {
        Self {
            label,
            lineage: Vec::new(),
        }
    }

    /// The label reached so far.
    pub fn label(&self) -> Label {
        self.label
    }

    /// Each step up, oldest first.
    pub fn lineage(&self) -> &[Escalation] {
        &self.lineage
    }

    /// Joins `label`; whether that raised the taint.
    pub fn raise(&mut self, label: Label, origin: Origin, turn: u32) -> bool {
        let to = self.label.join(label);
        let raised = to != self.label;
        if raised {
            self.lineage.push(Escalation {
                from: self.label,
                to,
                origin,
                turn,
            });
            self.label = to;
        }
        raised
    }

    /// The step that brought the classification to where it is; none if it started there.
    pub fn cause(&self) -> Option<&Escalation> {
        self.lineage
            .iter()
            .rev()
            .find(|step| step.from.classification != step.to.classification)
    }

    /// The step that first brought the classification to `level` or above; none if it started there or
    /// has not reached it.
    pub fn step_to(&self, level: Classification) -> Option<&Escalation> {
        self.lineage
            .iter()
            .find(|step| step.from.classification < level && level <= step.to.classification)
    }
}
