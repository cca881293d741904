//! What compaction made.

use super::Progress;
use std::sync::Arc;
use tidegate_message::{Entry, Transcript};
use tidegate_policy::Label;

/// Who wrote the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryOrigin {
    /// The auxiliary model.
    Model,
    /// Nobody: it was put together without a model.
    Plain {
        /// Why there was none.
        reason: String,
    },
}

/// A transcript that was compacted: the next segment of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOutcome {
    /// The new transcript.
    pub transcript: Transcript,
    /// Entries that are no longer in it, in their order: kept in the store, marked as compacted.
    pub removed: Vec<Arc<Entry>>,
    /// Entries that are new in it, in their order: summaries and shortened results. Their numbers are higher than those of
    /// entries that follow them.
    pub added: Vec<Arc<Entry>>,
    /// Size before and after, with system prompt and tools.
    pub progress: Progress,
    /// How many passes it took.
    pub passes: u32,
    /// How many tool results became stubs.
    pub stubs: usize,
    /// Who wrote the summary, if there is one.
    pub summary: Option<SummaryOrigin>,
    /// Whether the threshold is no longer reached. If it still is, the next turn compacts again.
    pub below_threshold: bool,
    /// The join of the labels of what is new.
    pub label: Label,
}
