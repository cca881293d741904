//! The transcript: the only way entries come to stand in a row.

mod error;
mod overview;
mod rewrite;
mod rules;

pub use error::{ResultsMismatch, TranscriptError};
pub use rewrite::Rewrite;

use self::overview::Overview;
use crate::{
    AssistantMessage, AssistantPart, Body, Content, Entry, EntrySeq, Reply, ReplyPart, ToolCall, ToolResult,
    ToolResults, UserMessage,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tidegate_policy::{CallId, Label, TurnId};

/// What was said in a session, always a valid sequence or a valid sequence with one open unit at its end.
///
/// A *unit* is a user message, a model message without calls, or a model message with calls together with
/// their results. Every operation works on whole units, and an operation that gives an error has changed
/// nothing.
///
/// The rules, which every provider's own rules follow from:
/// - The first entry is a user message, also after a cut.
/// - A model message follows a user message or results, never another model message.
/// - After a model message with calls come its results: each call answered once, in call order, alone.
///   Nothing else comes in between; what a person says meanwhile waits ([`steer`](Self::steer)).
/// - [`EntrySeq`]s are unique and never used twice, not even after the entry is gone. They ascend, except
///   that a summary stands where the entries stood that it replaced ([`replace_units`](Self::replace_units)).
/// - [`CallId`]s are unique.
///
/// ```
/// use tidegate_message::*;
/// use tidegate_policy::{Label, TurnId};
///
/// let (turn, label) = (TurnId::from_bits(1), Label::BOTTOM);
/// let mut transcript = Transcript::default();
/// transcript.push_user(turn, label, UserMessage::person("What is in a.txt?"))?;
/// transcript.push_reply(turn, label, Reply {
///     model: "local:small".parse()?,
///     parts: vec![ReplyPart::Call {
///         provider_id: "x1".into(),
///         name: "read_file".into(),
///         arguments: r#"{"path": "a.txt"}"#.into(),
///     }],
///     verbatim: None,
///     usage: Usage::default(),
///     finish: FinishReason::ToolCalls,
/// })?;
///
/// // While the call is open, a user message is refused, and steering waits.
/// assert!(transcript.push_user(turn, label, UserMessage::person("Quick!")).is_err());
/// assert!(transcript.steer(turn, label, UserMessage::person("Quick!"))?.is_none());
///
/// let results = transcript
///     .open_calls()
///     .map(|call| ToolResult::text(call, ResultStatus::Ok, label, "nothing"))
///     .collect();
/// let appended = transcript.push_results(turn, results)?;
/// assert_eq!(appended.len(), 2); // the results, then what waited for them
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Shared with requests while they are on their way; changed in place where nobody else has them.
    entries: Arc<Vec<Arc<Entry>>>,
    /// The highest number ever given, also to entries that are gone.
    highest: u64,
    /// Kept with the entries, so that a turn need not look at all of them.
    overview: Overview,
    /// Not empty only while a unit is open.
    waiting: Vec<WaitingMessage>,
}

/// A user message that waits for the results of open calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingMessage {
    /// The turn it belongs to.
    pub turn: TurnId,
    /// Its label.
    pub label: Label,
    /// What it says.
    pub message: UserMessage,
}

/// What [`Transcript::replace_units`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The new entry.
    pub entry: Arc<Entry>,
    /// What it stands for, in order.
    pub removed: Vec<Arc<Entry>>,
}

impl Transcript {
    /// Rebuilds a transcript from stored entries. The last unit may be open.
    ///
    /// Numbers that were given to entries that are gone have to be told with
    /// [`reserve_through`](Self::reserve_through), if the highest is among them.
    ///
    /// # Errors
    /// The first entry that breaks a rule, by its number, and what is wrong with it.
    pub fn from_entries(entries: Vec<Arc<Entry>>) -> Result<Self, TranscriptError> {
        rules::check(&entries)?;
        let highest = entries.iter().map(|entry| entry.seq.0).max().unwrap_or(0);
        Ok(Self {
            overview: Overview::of(&entries),
            entries: Arc::new(entries),
            highest,
            waiting: Vec::new(),
        })
    }

    /// Sees to it that no number up to and including `seq` is given to a new entry.
    pub fn reserve_through(&mut self, seq: EntrySeq) {
        self.highest = self.highest.max(seq.0);
    }

    /// The entries so far.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The same, to be kept: nothing is copied, and what comes later is not in it.
    pub fn history(&self) -> Arc<Vec<Arc<Entry>>> {
        Arc::clone(&self.entries)
    }

    /// The join of the labels of all entries. It is kept up to date: asking looks at none.
    pub fn label(&self) -> Label {
        self.overview.label
    }

    /// Whether something before the entry at `index` was rewritten after it was made: an entry that stands before it has
    /// a higher number. Entries are looked at only where numbers do not ascend.
    pub fn is_rewritten_before(&self, index: usize) -> bool {
        let Some(entry) = self.entries.get(index) else {
            return false;
        };
        // Whatever stands before it with a higher number was overtaken by it.
        self.overview.overtaken > entry.seq.0
            && self
                .entries
                .iter()
                .take(index)
                .any(|earlier| earlier.seq > entry.seq)
    }

    /// The number the next entry gets: one more than was ever given here.
    pub fn next_seq(&self) -> EntrySeq {
        EntrySeq(self.highest.saturating_add(1))
    }

    /// The units in order, each as its entries: one, or two for calls with their results.
    ///
    /// Their positions in this row are what [`cut_before`](Self::cut_before) and
    /// [`replace_units`](Self::replace_units) take.
    pub fn units(&self) -> impl Iterator<Item = &[Arc<Entry>]> {
        self.entries
            .chunk_by(|_, after| matches!(after.body, Body::Results(_)))
    }

    /// The calls of the open unit, in order; empty if none is open.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.entries
            .last()
            .into_iter()
            .flat_map(|entry| rules::calls_of(entry))
    }

    /// Whether calls wait for their results.
    pub fn is_open(&self) -> bool {
        self.open_calls().next().is_some()
    }

    /// The user messages that wait for the results of the open calls, oldest first.
    ///
    /// They are no entries yet: whoever stores entries stores these beside them, and gives them back with
    /// [`restore_waiting`](Self::restore_waiting).
    pub fn waiting(&self) -> &[WaitingMessage] {
        &self.waiting
    }

    /// The last model message and its entry.
    pub fn last_assistant(&self) -> Option<(&Arc<Entry>, &AssistantMessage)> {
        self.entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Assistant(message) => Some((entry, message)),
            Body::User(_) | Body::Results(_) => None,
        })
    }

    /// The text of the last model message of `turn` that has more to it than white space.
    pub fn last_text(&self, turn: TurnId) -> Option<String> {
        self.entries
            .iter()
            .rev()
            .filter(|entry| entry.turn == turn)
            .find_map(|entry| match &entry.body {
                Body::Assistant(message) => Some(message.text()).filter(|text| !text.trim().is_empty()),
                Body::User(_) | Body::Results(_) => None,
            })
    }

    /// Appends a user message. Its empty text parts are left out.
    ///
    /// # Errors
    /// While calls are open (use [`steer`](Self::steer)), and for a message that says nothing.
    pub fn push_user(
        &mut self,
        turn: TurnId,
        label: Label,
        message: UserMessage,
    ) -> Result<Arc<Entry>, TranscriptError> {
        self.append(turn, label, Body::User(without_empty_texts(message)))
    }

    /// Appends a user message now, or, while calls are open, as soon as their results are in: then `None`.
    ///
    /// # Errors
    /// For a message that says nothing.
    pub fn steer(
        &mut self,
        turn: TurnId,
        label: Label,
        message: UserMessage,
    ) -> Result<Option<Arc<Entry>>, TranscriptError> {
        if !self.is_open() {
            return self.push_user(turn, label, message).map(Some);
        }
        let message = without_empty_texts(message);
        if message.content.is_empty() {
            return Err(TranscriptError::EmptyMessage { seq: self.next_seq() });
        }
        self.waiting.push(WaitingMessage { turn, label, message });
        Ok(None)
    }

    /// Puts messages that waited when the transcript was stored back in line, before any that wait by now.
    /// If no call is open any more they are appended, and returned.
    ///
    /// # Errors
    /// For a message that says nothing; then none is taken.
    pub fn restore_waiting(
        &mut self,
        messages: Vec<WaitingMessage>,
    ) -> Result<Vec<Arc<Entry>>, TranscriptError> {
        let mut messages: Vec<WaitingMessage> = messages
            .into_iter()
            .map(|waiting| WaitingMessage {
                message: without_empty_texts(waiting.message),
                ..waiting
            })
            .collect();
        if messages.iter().any(|waiting| waiting.message.content.is_empty()) {
            return Err(TranscriptError::EmptyMessage { seq: self.next_seq() });
        }
        messages.append(&mut self.waiting);
        self.waiting = messages;
        if self.is_open() {
            Ok(Vec::new())
        } else {
            self.release_waiting()
        }
    }

    /// Appends a model's reply and gives its calls their ids: `call_SEQ_INDEX`, the number of the entry and
    /// the place of the call among the entry's calls, from 0.
    ///
    /// Empty text parts are left out; reasoning without text is kept, for it may carry a signature. A reply
    /// without any part is kept as a message without parts: that the model said nothing is a fact, too, and
    /// the wires know how to write it.
    ///
    /// # Errors
    /// If no user message or results stand before it.
    pub fn push_reply(
        &mut self,
        turn: TurnId,
        label: Label,
        reply: Reply,
    ) -> Result<Arc<Entry>, TranscriptError> {
        let seq = self.next_seq();
        let mut calls = 0_usize;
        let mut parts = Vec::with_capacity(reply.parts.len());
        for part in reply.parts {
            match part {
                ReplyPart::Text(text) if text.is_empty() => {}
                ReplyPart::Text(text) => parts.push(AssistantPart::Text { text }),
                ReplyPart::Reasoning(text) => parts.push(AssistantPart::Reasoning { text }),
                ReplyPart::Call {
                    provider_id,
                    name,
                    arguments,
                } => {
                    let id = CallId::new(rules::call_id(seq, calls));
                    calls = calls.saturating_add(1);
                    parts.push(AssistantPart::Call(ToolCall {
                        id,
                        provider_id,
                        name,
                        arguments,
                    }));
                }
            }
        }
        let message = AssistantMessage {
            model: reply.model,
            parts,
            verbatim: reply.verbatim,
            usage: reply.usage,
            finish: reply.finish,
        };
        // Stored entries may carry ids of another form; a new one must still not meet them. Those of its own form have
        // the number of their entry in them.
        let is_known = |call: &&ToolCall| self.overview.foreign_calls && self.has_call(&call.id);
        if let Some(call) = message.calls().find(is_known) {
            return Err(TranscriptError::DuplicateCall {
                seq,
                call: call.id.clone(),
            });
        }
        self.append(turn, label, Body::Assistant(message))
    }

    /// Closes the open unit. `results` may come in any order but must be complete; they are stored in call
    /// order, under the join of their labels. Returns the results entry and after it the user messages that
    /// waited for it. A result without content stays so; the wires write "(empty result)".
    ///
    /// # Errors
    /// If no call is open, or if a call has no result, or two, or a result has no call: all of them are named.
    pub fn push_results(
        &mut self,
        turn: TurnId,
        results: Vec<ToolResult>,
    ) -> Result<Vec<Arc<Entry>>, TranscriptError> {
        let seq = self.next_seq();
        let Some(open) = self
            .entries
            .last()
            .filter(|entry| rules::calls_of(entry).next().is_some())
        else {
            return Err(TranscriptError::NoCallsOpen { seq });
        };
        let mut mismatch = ResultsMismatch::default();
        let mut given = BTreeMap::new();
        for result in results {
            if given.contains_key(&result.call) {
                mismatch.duplicate.push(result.call);
            } else {
                given.insert(result.call.clone(), result);
            }
        }
        let mut ordered = Vec::with_capacity(given.len());
        for call in rules::calls_of(open) {
            match given.remove(&call.id) {
                Some(result) => ordered.push(result),
                None => mismatch.missing.push(call.id.clone()),
            }
        }
        mismatch.unknown.extend(given.into_keys());
        if !mismatch.is_empty() {
            return Err(TranscriptError::WrongResults {
                seq,
                of: open.seq,
                mismatch,
            });
        }
        let label = Label::join_all(ordered.iter().map(|result| result.label));
        let mut appended = vec![self.append(turn, label, Body::Results(ToolResults { results: ordered }))?];
        appended.extend(self.release_waiting()?);
        Ok(appended)
    }

    /// Closes an open unit by answering each call with `result`; nothing if none is open, so that repairing
    /// twice is repairing once. Returns the results entry and the user messages that waited for it.
    ///
    /// Whichever call `result` says it answers, it is stored as the answer to the call it was made for.
    pub fn repair(
        &mut self,
        turn: TurnId,
        mut result: impl FnMut(&ToolCall) -> ToolResult,
    ) -> Vec<Arc<Entry>> {
        let results: Vec<ToolResult> = self
            .open_calls()
            .map(|call| ToolResult {
                call: call.id.clone(),
                provider_id: call.provider_id.clone(),
                name: call.name.clone(),
                ..result(call)
            })
            .collect();
        // Results made for exactly the open calls cannot be refused, and for none there is nothing to do.
        self.push_results(turn, results).unwrap_or_default()
    }

    /// Takes back the last entry if it has this number: a message, say, that was appended and then could not be stored.
    /// It must have been neither stored nor sent; its number is free again. Whether it was there.
    pub fn take_back(&mut self, seq: EntrySeq) -> bool {
        if self.entries.last().is_none_or(|last| last.seq != seq) {
            return false;
        }
        Arc::make_mut(&mut self.entries).pop();
        self.overview = Overview::of(&self.entries);
        if self.highest == seq.0 {
            self.highest = seq.0.saturating_sub(1);
        }
        true
    }

    /// Removes the first `unit` units and returns their entries. Removing all is allowed.
    ///
    /// # Errors
    /// If there are fewer units, or if the first one kept is no user message; nothing is removed then.
    pub fn cut_before(&mut self, unit: usize) -> Result<Vec<Arc<Entry>>, TranscriptError> {
        let removed = self.entry_range(0..unit)?;
        if let Some(first) = self.entries.get(removed.end) {
            rules::admit(None, first)?;
        } else if let Some(open) = self.entries.last().filter(|_| self.is_open()) {
            return Err(TranscriptError::OpenUnit { of: open.seq });
        }
        let removed = Arc::make_mut(&mut self.entries).drain(removed).collect();
        self.overview = Overview::of(&self.entries);
        Ok(removed)
    }

    /// Puts one user message in the place of a run of closed units: a summary, say.
    ///
    /// The new entry has the next free number although older ones may follow it, and its label is the join
    /// of `label` and those of all it replaces, since it speaks of them. Since a user message may stand
    /// anywhere between units, what comes out is always valid.
    ///
    /// # Errors
    /// If the run is empty, reaches past the end or into the open unit, or the summary says nothing.
    pub fn replace_units(
        &mut self,
        units: Range<usize>,
        turn: TurnId,
        label: Label,
        summary: UserMessage,
    ) -> Result<Replacement, TranscriptError> {
        let (start, end) = (units.start, units.end);
        let rewrite = Rewrite::Summary {
            units,
            turn,
            label,
            summary,
        };
        // One rewrite is answered by one replacement.
        let replacement = self.rewrite(vec![rewrite])?.pop();
        replacement.ok_or(TranscriptError::EmptyRange { start, end })
    }

    /// The entries of a run of units.
    fn entry_range(&self, units: Range<usize>) -> Result<Range<usize>, TranscriptError> {
        let ends = self.unit_ends();
        match (ends.get(units.start), ends.get(units.end)) {
            (Some(&start), Some(&end)) if start <= end => Ok(start..end),
            _ => Err(TranscriptError::NoSuchUnits {
                start: units.start,
                end: units.end,
                count: ends.len().saturating_sub(1),
            }),
        }
    }

    fn has_call(&self, id: &CallId) -> bool {
        self.entries
            .iter()
            .flat_map(|entry| rules::calls_of(entry))
            .any(|call| call.id == *id)
    }

    fn append(&mut self, turn: TurnId, label: Label, body: Body) -> Result<Arc<Entry>, TranscriptError> {
        let entry = Arc::new(Entry::new(self.next_seq(), turn, label, body));
        rules::admit(self.entries.last().map(Arc::as_ref), &entry)?;
        self.highest = entry.seq.0;
        self.overview.add(&entry);
        Arc::make_mut(&mut self.entries).push(Arc::clone(&entry));
        Ok(entry)
    }

    fn release_waiting(&mut self) -> Result<Vec<Arc<Entry>>, TranscriptError> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting
            .into_iter()
            .map(|waiting| self.append(waiting.turn, waiting.label, Body::User(waiting.message)))
            .collect()
    }
}

/// Providers refuse empty text blocks.
fn without_empty_texts(mut message: UserMessage) -> UserMessage {
    message.content.retain(|part| part.as_text() != Some(""));
    message
}

/// Whether a part says anything.
fn says_something(part: &Content) -> bool {
    part.as_text() != Some("")
}
