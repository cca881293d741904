//! Changing what stands in a transcript already: sidecars, summaries, shorter results.

use super::overview::Overview;
use super::{Replacement, Transcript, TranscriptError, rules, without_empty_texts};
use crate::{Body, Content, Entry, EntrySeq, ToolResult, ToolResults, UserMessage};
use std::ops::Range;
use std::sync::Arc;
use tidegate_policy::{Label, TurnId};

/// One change of closed units: what compaction and redaction make of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Other results for the calls of one unit: stubs of long ones, say.
    Results {
        /// The unit, counted from 0.
        unit: usize,
        /// A result for each of its calls, in call order.
        results: Vec<ToolResult>,
    },
    /// One user message in the place of a run of units.
    Summary {
        /// The units, counted from 0.
        units: Range<usize>,
        /// The turn that makes the change.
        turn: TurnId,
        /// Joined with the labels of all it replaces.
        label: Label,
        /// The message.
        summary: UserMessage,
    },
}

impl Rewrite {
    fn units(&self) -> Range<usize> {
        match self {
            Self::Results { unit, .. } => *unit..unit.saturating_add(1),
            Self::Summary { units, .. } => units.clone(),
        }
    }
}

impl Transcript {
    /// Gives the user message `seq` its sidecar, and returns it with it. Only for a message that was neither stored
    /// nor sent yet: it keeps its number. Its label is joined with `label`, that of what the sidecar adds.
    ///
    /// # Errors
    /// If there is no such user message, if it has a sidecar, or if the sidecar says nothing.
    pub fn set_sidecar(
        &mut self,
        seq: EntrySeq,
        label: Label,
        sidecar: Vec<Content>,
    ) -> Result<Arc<Entry>, TranscriptError> {
        let found = Arc::make_mut(&mut self.entries)
            .iter_mut()
            .rev()
            .find(|entry| entry.seq == seq);
        let Some(place) = found else {
            return Err(TranscriptError::NoSuchMessage { seq });
        };
        let Body::User(message) = place.body.clone() else {
            return Err(TranscriptError::NoSuchMessage { seq });
        };
        if message.sidecar.is_some() {
            return Err(TranscriptError::SidecarSet { seq });
        }
        let sidecar = without_empty_texts(UserMessage::new(message.author, sidecar)).content;
        if sidecar.is_empty() {
            return Err(TranscriptError::EmptyMessage { seq });
        }
        let message = UserMessage {
            sidecar: Some(sidecar),
            ..message
        };
        let entry = Entry::new(seq, place.turn, place.label.join(label), Body::User(message));
        let entry = Arc::new(entry);
        *place = Arc::clone(&entry);
        self.overview.label = self.overview.label.join(entry.label);
        Ok(entry)
    }

    /// Makes all `rewrites` at once: they come in the order of their units, and no unit is rewritten twice. What is
    /// new has the next free numbers, whatever follows it; labels are joins with those of what is replaced, so
    /// that nothing becomes less secret by being shortened. Returns what was done, in order.
    ///
    /// # Errors
    /// If a rewrite names units that are not there, are open, or come before those of the rewrite before it; if a
    /// summary says nothing or replaces nothing; if results do not answer the unit's calls. Nothing is changed then.
    pub fn rewrite(&mut self, rewrites: Vec<Rewrite>) -> Result<Vec<Replacement>, TranscriptError> {
        let ends = self.unit_ends();
        let count = ends.len().saturating_sub(1);
        let mut entries = Vec::with_capacity(self.entries.len());
        let mut replacements = Vec::with_capacity(rewrites.len());
        let (mut copied, mut next_unit, mut highest) = (0_usize, 0_usize, self.highest);
        for rewrite in rewrites {
            let units = rewrite.units();
            let (start, end) = match (ends.get(units.start), ends.get(units.end)) {
                (Some(&start), Some(&end)) if start <= end => (start, end),
                _ => {
                    return Err(TranscriptError::NoSuchUnits {
                        start: units.start,
                        end: units.end,
                        count,
                    });
                }
            };
            if units.is_empty() {
                return Err(TranscriptError::EmptyRange {
                    start: units.start,
                    end: units.end,
                });
            }
            if units.start < next_unit {
                return Err(TranscriptError::RewritesOutOfOrder { unit: units.start });
            }
            if let Some(open) = self
                .entries
                .last()
                .filter(|_| self.is_open() && end == self.entries.len())
            {
                return Err(TranscriptError::OpenUnit { of: open.seq });
            }
            let replaced = self.entries.get(start..end).unwrap_or_default();
            highest = highest.saturating_add(1);
            entries.extend_from_slice(self.entries.get(copied..start).unwrap_or_default());
            let (entry, removed) = made(EntrySeq(highest), rewrite, replaced)?;
            entries.extend_from_slice(
                replaced
                    .get(..replaced.len().saturating_sub(removed.len()))
                    .unwrap_or_default(),
            );
            entries.push(Arc::clone(&entry));
            replacements.push(Replacement { entry, removed });
            (copied, next_unit) = (end, units.end);
        }
        entries.extend_from_slice(self.entries.get(copied..).unwrap_or_default());
        self.overview = Overview::of(&entries);
        self.entries = Arc::new(entries);
        self.highest = highest;
        Ok(replacements)
    }

    /// Where each unit begins, and after the last one where it ends.
    pub(super) fn unit_ends(&self) -> Vec<usize> {
        let mut ends = Vec::with_capacity(self.entries.len().saturating_add(1));
        let mut end = 0_usize;
        ends.push(end);
        for unit in self.units() {
            end = end.saturating_add(unit.len());
            ends.push(end);
        }
        ends
    }
}

/// The entry that a rewrite makes of the entries of its units, and those of them it stands for.
fn made(
    seq: EntrySeq,
    rewrite: Rewrite,
    replaced: &[Arc<Entry>],
) -> Result<(Arc<Entry>, Vec<Arc<Entry>>), TranscriptError> {
    match rewrite {
        Rewrite::Results { unit, results } => {
            let [calls, old] = replaced else {
                return Err(TranscriptError::NoResults { unit });
            };
            let label = Label::join_all(results.iter().map(|result| result.label)).join(old.label);
            let entry = Entry::new(seq, old.turn, label, Body::Results(ToolResults { results }));
            rules::admit(Some(calls), &entry)?;
            Ok((Arc::new(entry), vec![Arc::clone(old)]))
        }
        Rewrite::Summary {
            turn, label, summary, ..
        } => {
            let label = Label::join_all(replaced.iter().map(|entry| entry.label)).join(label);
            let entry = Entry::new(seq, turn, label, Body::User(without_empty_texts(summary)));
            rules::admit(None, &entry)?;
            Ok((Arc::new(entry), replaced.to_vec()))
        }
    }
}
