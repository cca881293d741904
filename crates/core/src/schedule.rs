//! In which order, and which of them together, the calls of one model message are run.

use serde::{Deserialize, Serialize};
use tidegate_message::ToolCall;
use tidegate_policy::ToolName;

/// What a run has to know about tools.
pub trait ToolFacts {
    /// Whether a call of this tool changes something outside the conversation. Of a name nobody knows:
    /// false, since such a call is answered and never run.
    fn is_consequential(&self, name: &ToolName) -> bool;
}

/// How the calls of one model message are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Neighbouring read-only calls together, consequential ones alone, all in the order asked for: what is
    /// read after a change sees the change, and what is read before it does not.
    ReadOnlyTogether,
    /// Strictly one after another.
    OneByOne,
    /// All together.
    AllTogether,
}

impl Schedule {
    /// The calls in batches: one batch after another, the calls of a batch together.
    pub(crate) fn batches(self, calls: Vec<ToolCall>, facts: &dyn ToolFacts) -> Vec<Vec<ToolCall>> {
        let alone = |call: &ToolCall| match self {
            Self::ReadOnlyTogether => facts.is_consequential(&call.name),
            Self::OneByOne => true,
            Self::AllTogether => false,
        };
        let mut batches: Vec<Vec<ToolCall>> = Vec::new();
        let mut may_join = false;
        for call in calls {
            let alone = alone(&call);
            match batches.last_mut() {
                Some(batch) if may_join && !alone => batch.push(call),
                _ => batches.push(vec![call]),
            }
            may_join = !alone;
        }
        batches
    }
}
