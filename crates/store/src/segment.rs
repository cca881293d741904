//! What a conversation goes on with after it was compacted.

use tidegate_message::EntrySeq;
use tidegate_policy::TurnId;

/// A segment to be: what the session's transcript consists of from now on. The entries themselves stay stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSegment {
    /// The turn in which it was compacted.
    pub turn: TurnId,
    /// The entries it begins with, in their order. All of them are stored, some with the same commit.
    pub entries: Vec<EntrySeq>,
    /// How large it was, and is.
    pub sizes: SegmentSizes,
}

/// How large a conversation was before and after it was compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SegmentSizes {
    /// Messages before.
    pub messages_before: u64,
    /// Messages after.
    pub messages_after: u64,
    /// Tokens of the whole request before, about.
    pub tokens_before: u64,
    /// Tokens of the whole request after, about.
    pub tokens_after: u64,
}

/// A stored segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 2: the first segment is the conversation as it was said.
    pub number: u64,
    /// The number of the session's last entry when it began: later ones follow, in their order.
    pub through: EntrySeq,
    /// When it began: milliseconds since 1970-01-01 UTC.
    pub at_ms: i64,
    /// What it was made with.
    pub made: NewSegment,
}

/// Failures of compaction in a row: it rests for a while after each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionRest {
    /// How many since the last success.
    pub failures: u32,
    /// When the last one was: milliseconds since 1970-01-01 UTC.
    pub failed_at_ms: i64,
}
