//! Why an index is not used.

use crate::IndexError;

/// Why an index is not used; reads go on from the records meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexTrouble {
    /// Another process has it. It is caught up when that one is done.
    InUse,
    /// What it keeps on the disk cannot be read. [`Memory::reindex`](crate::Memory::reindex) makes it anew.
    Damaged,
    /// It cannot be reached, or fails. It is tried again.
    Away,
}

impl IndexTrouble {
    pub(super) fn of(error: &IndexError) -> Self {
        match error {
            IndexError::InUse { .. } => Self::InUse,
            IndexError::Damaged { .. } => Self::Damaged,
            _ => Self::Away,
        }
    }
}
