//! Up to which level the owner let a session rise, while the calls of one message run.

use std::collections::BTreeSet;
use tidegate_policy::Classification;

/// What the owner let the session become: before the message, and by calls of it.
///
/// A grant for one call counts for another call of the same message at exactly that level. Were it to count for lower
/// levels too, whether the owner is asked about those would tell of the higher one, to whom may not see it.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    before: Classification,
    beside: BTreeSet<Classification>,
}

impl Acknowledged {
    pub(crate) fn new(before: Classification) -> Self {
        Self {
            before,
            beside: BTreeSet::new(),
        }
    }

    /// Up to where a call need not be asked about that would make the session `level`.
    pub(crate) fn for_level(&self, level: Classification) -> Classification {
        let beside = self.beside.contains(&level).then_some(level);
        beside.map_or(self.before, |level| level.max(self.before))
    }

    /// What was granted before the message.
    pub(crate) fn before(&self) -> Classification {
        self.before
    }

    /// The owner let a call make the session `level`.
    pub(crate) fn grant(&mut self, level: Classification) {
        self.beside.insert(level);
    }

    /// What counts for the messages after this one.
    pub(crate) fn after(&self) -> Classification {
        let beside = self.beside.last().copied();
        beside.map_or(self.before, |level| level.max(self.before))
    }
}
