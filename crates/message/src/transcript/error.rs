//! What is wrong with a sequence.

use crate::EntrySeq;
use std::fmt;
use tidegate_policy::CallId;

/// A sequence that no provider would accept, or an operation that would have made one.
///
/// `seq` is the number of the entry at fault: its own, or the one it would have got.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    /// The first entry is no user message.
    #[error("entry {seq} cannot be the first: a transcript begins with a user message, also after a cut")]
    Beginning {
        /// The entry.
        seq: EntrySeq,
    },
    /// Two model messages in a row.
    #[error(
        "entry {seq} is a model message right after model message {after}; a user message or results have to \
         stand between them"
    )]
    TwoReplies {
        /// The second of them.
        seq: EntrySeq,
        /// The first.
        after: EntrySeq,
    },
    /// Something else than results while calls are open.
    #[error(
        "entry {seq} cannot follow entry {of} before its calls have results: {}; push their results first, or \
         hand in a user message as steering",
        List(calls)
    )]
    CallsOpen {
        /// The entry.
        seq: EntrySeq,
        /// The model message with the calls.
        of: EntrySeq,
        /// The calls.
        calls: Vec<CallId>,
    },
    /// Results where no calls are open.
    #[error("entry {seq} holds results, but no calls stand right before it")]
    NoCallsOpen {
        /// The results.
        seq: EntrySeq,
    },
    /// Results that are not those of the open calls.
    #[error("entry {seq} does not answer the calls of entry {of}: {mismatch}")]
    WrongResults {
        /// The results.
        seq: EntrySeq,
        /// The model message with the calls.
        of: EntrySeq,
        /// In what they differ.
        mismatch: ResultsMismatch,
    },
    /// Stored results in another order than their calls.
    #[error(
        "entry {seq} has the result of {found} in the place of that of {expected}; results stand in call order"
    )]
    ResultsOutOfOrder {
        /// The results.
        seq: EntrySeq,
        /// The call whose result belongs there.
        expected: CallId,
        /// The call whose result is there.
        found: CallId,
    },
    /// A result under another tool name or provider id than its call.
    #[error(
        "entry {seq} answers call {call} of {expected} as {found}; a result repeats its call's tool and provider id"
    )]
    ForeignResult {
        /// The results.
        seq: EntrySeq,
        /// The call.
        call: CallId,
        /// Tool and provider id of the call.
        expected: String,
        /// Tool and provider id of the result.
        found: String,
    },
    /// A call id that another call has.
    #[error("entry {seq} has a call {call}, and so has another one; call ids are unique in a transcript")]
    DuplicateCall {
        /// The later entry.
        seq: EntrySeq,
        /// The id.
        call: CallId,
    },
    /// Two entries of one number.
    #[error("there are two entries {seq}; numbers are unique in a transcript")]
    DuplicateSeq {
        /// The number.
        seq: EntrySeq,
    },
    /// A number outside the range.
    #[error("{seq} is no number of an entry; they go from 1 to {}", i64::MAX)]
    InvalidSeq {
        /// The number.
        seq: EntrySeq,
    },
    /// A user message that says nothing.
    #[error(
        "entry {seq} is a user message that says nothing; it needs at least one part that is not empty text"
    )]
    EmptyMessage {
        /// The message.
        seq: EntrySeq,
    },
    /// Units that are not there.
    #[error("there are no units {start} to {end} (end excluded): the transcript has {count}, counted from 0")]
    NoSuchUnits {
        /// The first.
        start: usize,
        /// One past the last.
        end: usize,
        /// How many there are.
        count: usize,
    },
    /// A replacement of nothing.
    #[error("units {start} to {end} (end excluded) are none: name at least one to replace")]
    EmptyRange {
        /// The first.
        start: usize,
        /// One past the last.
        end: usize,
    },
    /// A sidecar for a message that is not there, or is no user message.
    #[error("there is no user message {seq} in the transcript; a sidecar is set on one that is")]
    NoSuchMessage {
        /// The number given.
        seq: EntrySeq,
    },
    /// A second sidecar.
    #[error("user message {seq} has a sidecar already; it is set once, since models may have been sent it")]
    SidecarSet {
        /// The message.
        seq: EntrySeq,
    },
    /// Rewrites that are not in order, or of the same unit twice.
    #[error(
        "unit {unit} is rewritten after one that follows it, or twice; give rewrites in order, one a unit"
    )]
    RewritesOutOfOrder {
        /// The unit, counted from 0.
        unit: usize,
    },
    /// New results for a unit that has none.
    #[error("unit {unit} has no results to rewrite; name a unit of calls with their results")]
    NoResults {
        /// The unit, counted from 0.
        unit: usize,
    },
    /// A cut that would take the open unit away.
    #[error("the calls of entry {of} are open: their unit can be cut or replaced once they have results")]
    OpenUnit {
        /// The model message with the calls.
        of: EntrySeq,
    },
}

/// In what results differ from the calls they should answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultsMismatch {
    /// Calls without a result.
    pub missing: Vec<CallId>,
    /// Results without a call.
    pub unknown: Vec<CallId>,
    /// Results after the first of their call.
    pub duplicate: Vec<CallId>,
}

impl ResultsMismatch {
    /// Whether they do not differ.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unknown.is_empty() && self.duplicate.is_empty()
    }
}

/// `no result for a, b; more than one result for c; no such open call: d`
impl fmt::Display for ResultsMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("no result for", &self.missing),
            ("more than one result for", &self.duplicate),
            ("no such open call:", &self.unknown),
        ];
        let mut separator = "";
        for (what, calls) in kinds.into_iter().filter(|(_, calls)| !calls.is_empty()) {
            write!(f, "{separator}{what} {}", List(calls))?;
            separator = "; ";
        }
        Ok(())
    }
}

struct List<'a>(&'a [CallId]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, call) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{call}")?;
        }
        Ok(())
    }
}
