//! What may follow what.

use super::{ResultsMismatch, TranscriptError, says_something};
use crate::{Body, Entry, EntrySeq, ToolCall, ToolResult};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_policy::CallId;

/// The highest number a store can hold: an integer of SQLite.
const HIGHEST_SEQ: u64 = i64::MAX as u64;

/// The calls of an entry; none unless it is a model message.
pub(super) fn calls_of(entry: &Entry) -> impl Iterator<Item = &ToolCall> {
    let message = match &entry.body {
        Body::Assistant(message) => Some(message),
        Body::User(_) | Body::Results(_) => None,
    };
    message.into_iter().flat_map(|message| message.calls())
}

/// The id of a new call: the number of its entry and its place among the entry's calls, from 0.
pub(super) fn call_id(seq: EntrySeq, index: usize) -> String {
    format!("call_{seq}_{index}")
}

/// Whether a whole row of entries is valid; its last unit may be open.
pub(super) fn check(entries: &[Arc<Entry>]) -> Result<(), TranscriptError> {
    let mut numbers = BTreeSet::new();
    let mut calls = BTreeSet::new();
    let mut previous = None;
    for entry in entries {
        let seq = entry.seq;
        if seq.0 == 0 || seq.0 > HIGHEST_SEQ {
            return Err(TranscriptError::InvalidSeq { seq });
        }
        if !numbers.insert(seq) {
            return Err(TranscriptError::DuplicateSeq { seq });
        }
        if let Some(call) = calls_of(entry).find(|call| !calls.insert(&call.id)) {
            return Err(TranscriptError::DuplicateCall {
                seq,
                call: call.id.clone(),
            });
        }
        admit(previous, entry)?;
        previous = Some(entry.as_ref());
    }
    Ok(())
}

/// Whether `entry` may stand right after `previous`.
pub(super) fn admit(previous: Option<&Entry>, entry: &Entry) -> Result<(), TranscriptError> {
    let seq = entry.seq;
    let open: Vec<&ToolCall> = previous.into_iter().flat_map(calls_of).collect();
    match (previous, &entry.body) {
        (Some(previous), Body::User(_) | Body::Assistant(_)) if !open.is_empty() => {
            Err(TranscriptError::CallsOpen {
                seq,
                of: previous.seq,
                calls: open.into_iter().map(|call| call.id.clone()).collect(),
            })
        }
        (_, Body::User(message)) if !message.content.iter().any(says_something) => {
            Err(TranscriptError::EmptyMessage { seq })
        }
        (_, Body::User(_)) => Ok(()),
        (None, Body::Assistant(_) | Body::Results(_)) => Err(TranscriptError::Beginning { seq }),
        (Some(previous), Body::Assistant(_)) => match previous.body {
            Body::User(_) | Body::Results(_) => Ok(()),
            Body::Assistant(_) => Err(TranscriptError::TwoReplies {
                seq,
                after: previous.seq,
            }),
        },
        (Some(_), Body::Results(_)) if open.is_empty() => Err(TranscriptError::NoCallsOpen { seq }),
        (Some(previous), Body::Results(results)) => answers(seq, previous.seq, &open, &results.results),
    }
}

/// Whether `results` answer exactly `calls`, in their order.
fn answers(
    seq: EntrySeq,
    of: EntrySeq,
    calls: &[&ToolCall],
    results: &[ToolResult],
) -> Result<(), TranscriptError> {
    let called: BTreeSet<&CallId> = calls.iter().map(|call| &call.id).collect();
    let mut answered = BTreeSet::new();
    let mut mismatch = ResultsMismatch::default();
    for result in results {
        if !called.contains(&result.call) {
            mismatch.unknown.push(result.call.clone());
        } else if !answered.insert(&result.call) {
            mismatch.duplicate.push(result.call.clone());
        }
    }
    mismatch.missing = called.difference(&answered).map(|id| (*id).clone()).collect();
    if !mismatch.is_empty() {
        return Err(TranscriptError::WrongResults { seq, of, mismatch });
    }
    for (call, result) in calls.iter().zip(results) {
        if call.id != result.call {
            return Err(TranscriptError::ResultsOutOfOrder {
                seq,
                expected: call.id.clone(),
                found: result.call.clone(),
            });
        }
        if call.name != result.name || call.provider_id != result.provider_id {
            return Err(TranscriptError::ForeignResult {
                seq,
                call: call.id.clone(),
                expected: format!("{} ({})", call.name, call.provider_id),
                found: format!("{} ({})", result.name, result.provider_id),
            });
        }
    }
    Ok(())
}
