//! What a fetch tells while it runs.

use std::fmt;
use std::sync::Arc;

/// How far a fetch is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A package or file is being fetched.
    Started {
        /// Which.
        what: String,
        /// How large it is, where that is known.
        bytes: Option<u64>,
    },
    /// Some of it has arrived. Told often.
    Bytes {
        /// Which.
        what: String,
        /// How much is there, with what was there before.
        done: u64,
        /// How much it is, where that is known.
        total: Option<u64>,
    },
    /// The connection broke; it goes on where it was.
    Again {
        /// Which.
        what: String,
        /// Why, as a clause.
        problem: String,
    },
    /// It has arrived and is compared with its checksum.
    Checking {
        /// Which.
        what: String,
    },
    /// A model or library is in place.
    Installed {
        /// Its name.
        what: String,
    },
}

/// Who listens.
#[derive(Clone)]
pub(super) struct Listener(Arc<dyn Fn(Progress) + Send + Sync>);

impl Listener {
    pub(super) fn new(listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(super) fn tell(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl Default for Listener {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
