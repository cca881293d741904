//! What is known of a row of entries without looking at all of them again.

use super::rules;
use crate::Entry;
use std::sync::Arc;
use tidegate_policy::Label;

/// Follows from the entries alone, so that equal rows have equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overview {
    /// The join of all labels.
    pub(super) label: Label,
    /// The highest number of an entry that one with a lower number follows; 0 while numbers ascend.
    pub(super) overtaken: u64,
    /// The highest number.
    highest: u64,
    /// Whether a call has an id of another form than [`Transcript::push_reply`](super::Transcript::push_reply) gives:
    /// such an id could meet a new one.
    pub(super) foreign_calls: bool,
}

impl Default for Overview {
    fn default() -> Self {
        Self {
            label: Label::BOTTOM,
            overtaken: 0,
            highest: 0,
            foreign_calls: false,
        }
    }
}

impl Overview {
    pub(super) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut overview = Self::default();
        for entry in entries {
            overview.add(entry);
        }
        overview
    }

    /// Takes in an entry that stands at the end.
    pub(super) fn add(&mut self, entry: &Entry) {
        self.label = self.label.join(entry.label);
        let seq = entry.seq.0;
        if seq < self.highest {
            self.overtaken = self.highest;
        }
        self.highest = self.highest.max(seq);
        self.foreign_calls |= rules::calls_of(entry)
            .enumerate()
            .any(|(index, call)| call.id.as_str() != rules::call_id(entry.seq, index));
    }
}
