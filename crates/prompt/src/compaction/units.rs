//! The units of a transcript and their sizes.

use crate::{Prices, estimate_entry};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{Author, Body, Entry, EntrySeq, Transcript};

/// The estimated tokens of entries, each estimated once.
#[derive(Debug, Default)]
pub(super) struct Sizes(BTreeMap<EntrySeq, u64>);

impl Sizes {
    pub(super) fn learn(&mut self, entries: &[Arc<Entry>], prices: &Prices) {
        for entry in entries {
            self.0
                .entry(entry.seq)
                .or_insert_with(|| estimate_entry(entry, prices));
        }
    }

    pub(super) fn of(&self, entry: &Entry) -> u64 {
        self.0.get(&entry.seq).copied().unwrap_or(0)
    }

    pub(super) fn total(&self, entries: &[Arc<Entry>]) -> u64 {
        entries
            .iter()
            .map(|entry| self.of(entry))
            .fold(0, u64::saturating_add)
    }
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Person,
    Program,
    Summary,
    /// A model's message without calls.
    Reply,
    /// Calls with their results, if they are there.
    Calls,
}

/// A unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<'a> {
    pub(super) entries: &'a [Arc<Entry>],
    pub(super) kind: Kind,
    pub(super) tokens: u64,
}

pub(super) fn units<'a>(transcript: &'a Transcript, sizes: &Sizes) -> Vec<Unit<'a>> {
    let kind = |entries: &[Arc<Entry>]| match entries.first().map(|entry| &entry.body) {
        Some(Body::User(message)) => match message.author {
            Author::Person => Kind::Person,
            Author::Program => Kind::Program,
            Author::Summary => Kind::Summary,
        },
        Some(Body::Assistant(message)) if message.calls().next().is_none() => Kind::Reply,
        Some(Body::Assistant(_) | Body::Results(_)) | None => Kind::Calls,
    };
    transcript
        .units()
        .map(|entries| Unit {
            entries,
            kind: kind(entries),
            tokens: sizes.total(entries),
        })
        .collect()
}
