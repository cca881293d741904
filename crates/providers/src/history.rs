//! What every real provider refuses.

use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{Body, Entry, EntrySeq, ToolCall};
use tidegate_policy::CallId;

/// A history that no provider would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// There is nothing to answer.
    #[error("the history is empty; it has to end with a user message or with results")]
    Empty,
    /// The model has had the last word.
    #[error("the history ends with model message {entry}; it has to end with a user message or with results")]
    NothingToAnswer {
        /// The last entry.
        entry: EntrySeq,
    },
    /// A user message says nothing.
    #[error("user message {entry} has no content")]
    EmptyMessage {
        /// The entry.
        entry: EntrySeq,
    },
    /// Two calls of a model message cannot be told apart.
    #[error("model message {entry} has two calls with the id {id:?}")]
    DuplicateCall {
        /// The entry.
        entry: EntrySeq,
        /// The call's id, or the provider's id of it.
        id: String,
    },
    /// Calls were not answered at once.
    #[error("model message {entry} has calls, and no results follow at once; the first is {call}")]
    Unanswered {
        /// The entry with the calls.
        entry: EntrySeq,
        /// The first call.
        call: CallId,
    },
    /// There are results, and no calls before them.
    #[error("results {entry} follow no model message with calls")]
    Unasked {
        /// The entry with the results.
        entry: EntrySeq,
    },
    /// Results and calls are not the same, in the same order.
    #[error("results {entry} answer {given}, but the calls before them are {expected}")]
    Mismatch {
        /// The entry with the results.
        entry: EntrySeq,
        /// The calls that are answered.
        given: String,
        /// The calls that were asked.
        expected: String,
    },
}

/// Checks that `history` is one that a real provider accepts: after a model message with calls come exactly
/// their results, in order, and the model is asked for something.
///
/// # Errors
/// The first entry that breaks a rule.
pub fn validate_history(history: &[Arc<Entry>]) -> Result<(), HistoryError> {
    let mut open: Option<(EntrySeq, Vec<&ToolCall>)> = None;
    for entry in history {
        let seq = entry.seq;
        match (&entry.body, open.take()) {
            (Body::Results(_), None) => return Err(HistoryError::Unasked { entry: seq }),
            (Body::Results(results), Some((_, calls))) => {
                let given = || {
                    results
                        .results
                        .iter()
                        .map(|result| (&result.call, &result.provider_id))
                };
                let expected = || calls.iter().map(|call| (&call.id, &call.provider_id));
                if !given().eq(expected()) {
                    return Err(HistoryError::Mismatch {
                        entry: seq,
                        given: listed(given()),
                        expected: listed(expected()),
                    });
                }
            }
            (Body::User(_) | Body::Assistant(_), Some((entry, calls))) => {
                return Err(unanswered(entry, &calls));
            }
            (Body::User(message), None) => {
                if message.content.is_empty() {
                    return Err(HistoryError::EmptyMessage { entry: seq });
                }
            }
            (Body::Assistant(message), None) => {
                let calls: Vec<&ToolCall> = message.calls().collect();
                check_ids(seq, calls.iter().map(|call| call.id.as_str()))?;
                check_ids(seq, calls.iter().map(|call| call.provider_id.as_str()))?;
                if !calls.is_empty() {
                    open = Some((seq, calls));
                }
            }
        }
    }
    if let Some((entry, calls)) = open {
        return Err(unanswered(entry, &calls));
    }
    match history.last() {
        None => Err(HistoryError::Empty),
        Some(last) if matches!(last.body, Body::Assistant(_)) => {
            Err(HistoryError::NothingToAnswer { entry: last.seq })
        }
        Some(_) => Ok(()),
    }
}

fn unanswered(entry: EntrySeq, calls: &[&ToolCall]) -> HistoryError {
    let call = calls
        .first()
        .map_or_else(|| CallId::new(""), |call| call.id.clone());
    HistoryError::Unanswered { entry, call }
}

fn check_ids<'a>(entry: EntrySeq, ids: impl Iterator<Item = &'a str>) -> Result<(), HistoryError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(HistoryError::DuplicateCall {
                entry,
                id: id.to_owned(),
            });
        }
    }
    Ok(())
}

fn listed<'a>(calls: impl Iterator<Item = (&'a CallId, &'a String)>) -> String {
    let calls: Vec<String> = calls
        .map(|(call, provider_id)| format!("{call} ({provider_id})"))
        .collect();
    calls.join(", ")
}
