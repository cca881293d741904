//! Up to which level the owner let a session rise, while the calls of one message run.

use tidegate_policy::Classification;

/// What the owner let the session become: before the message, and by calls of it.
///
/// A grant for one call counts from the next message on, and not for its siblings: they are judged by what was so when the
/// message was made, in whatever order they run, and whether the owner is asked about one of them tells nothing of what
/// another has come upon.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    before: Classification,
    after: Classification,
}

impl Acknowledged {
    pub(crate) fn new(before: Classification) -> Self {
        Self {
            before,
            after: before,
        }
    }

    /// What was granted before the message: what its calls are judged by.
    pub(crate) fn before(&self) -> Classification {
        self.before
    }

    /// The owner let a call make the session `level`.
    pub(crate) fn grant(&mut self, level: Classification) {
        self.after = self.after.max(level);
    }

    /// What counts for the messages after this one.
    pub(crate) fn after(&self) -> Classification {
        self.after
    }
}
