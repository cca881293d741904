//! The handle, which any number of tasks share.

use super::commit::{apply, state_at};
use super::session::Session;
use crate::clock::now_ms;
use crate::words;
use crate::{
    ApprovalFilter, ApprovalRecord, BoxFuture, CallRecord, Checkpoint, Committed, CompactionRest,
    EventFilter, FileLabel, FileLabelRange, PendingWrites, Segment, SessionList, SessionRecord,
    SessionSummary, SourceText, Store, StoreError, StoredEvent, StoredNote, Write,
};
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_message::{Entry, Event};
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};

/// A store in memory. Clones share it.
///
/// **Everything is lost at the end of the process**: it is for tests, and for embedders who want no file. It keeps
/// the whole contract of [`Store`] but for that: commits happen whole or not at all, and what is written is read
/// from then on. Nothing is encoded and no thread is involved, so a commit costs about what its values cost to
/// move; erasing is immediate.
///
/// A session that is interrupted and opened again while the process lives goes on as with any other store. All
/// events are kept until the last clone is dropped: for sessions without end use [`SqliteStore`](crate::SqliteStore).
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

/// What is kept.
#[derive(Default)]
pub(super) struct State {
    pub(super) sessions: BTreeMap<SessionId, Session>,
    /// Of all sessions, in the order of recording: the event at place n has position n + 1.
    pub(super) events: Vec<Arc<Event>>,
    /// In the order in which they were asked.
    pub(super) approvals: IndexMap<ApprovalId, ApprovalRecord>,
    pub(super) file_labels: BTreeMap<String, FileLabel>,
    pub(super) pending_writes: BTreeMap<String, PendingWrites>,
    /// With which erased content is hashed; none until it is needed.
    pub(super) hash_key: Option<[u8; 32]>,
    /// The position of the last note that was left.
    pub(super) notes: u64,
}

impl State {
    /// The event at a place, with its position.
    fn at(&self, place: usize) -> Option<(&Arc<Event>, u64)> {
        let position = u64::try_from(place).ok()?.saturating_add(1);
        Some((self.events.get(place)?, position))
    }

    /// Whose name it is.
    pub(super) fn owner(&self, name: &SessionName) -> Option<SessionId> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| session.row.name.as_ref() == Some(name));
        found.map(|(id, _)| *id)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// What `look` finds.
    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(ready(Ok(look(&state))))
    }

    /// What `look` finds in a session; the default if there is none.
    fn read_session<T: Default + Send + 'static>(
        &self,
        id: SessionId,
        look: impl FnOnce(&Session) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        self.read(|state| state.sessions.get(&id).map(look).unwrap_or_default())
    }
}

impl Store for MemoryStore {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        // Nothing happens before it is polled.
        Box::pin(async move {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            apply(&mut state, writes, now_ms())
        })
    }

    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>> {
        self.read_session(id, |session| Some(session.row.record()))
    }

    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.read(|state| {
            let session = state.sessions.get(&state.owner(name)?)?;
            Some(session.row.record())
        })
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>> {
        self.read_session(id, |session| Some(session.row.summary()))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>> {
        self.read(|state| {
            let mut sessions: Vec<SessionSummary> = state
                .sessions
                .values()
                .map(|session| session.row.summary())
                .collect();
            // They come by id, and the sort keeps that where the time is the same.
            sessions.sort_by_key(|summary| Reverse(summary.record.changed_ms));
            SessionList {
                sessions,
                damaged: Vec::new(),
            }
        })
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>> {
        self.read_session(session, |session| session.content.entries.clone())
    }

    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>> {
        self.read_session(session, |session| session.content.checkpoint.clone())
    }

    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.read_session(session, |session| {
            let calls = session.content.calls.values();
            let of_turn = calls.filter(|(of, _)| *of == turn);
            of_turn.map(|(_, record)| record.clone()).collect()
        })
    }

    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>> {
        let now_ms = now_ms();
        self.read(|state| state.approvals.get(&id).map(|known| at(known, now_ms)))
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        let now_ms = now_ms();
        self.read(|state| {
            let found = state.approvals.values().filter(|known| {
                filter.session.is_none_or(|session| known.session == session)
                    && filter
                        .state
                        .is_none_or(|wanted| state_at(known, now_ms) == wanted)
            });
            found.map(|known| at(known, now_ms)).collect()
        })
    }

    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>> {
        self.read_session(session, |session| session.content.sources.get(id).cloned())
    }

    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>> {
        self.read_session(session, |session| {
            session.content.sources.values().cloned().collect()
        })
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.read(|state| {
            // The event at place n has position n + 1: those after a position begin at that place.
            let after = usize::try_from(filter.after).unwrap_or(usize::MAX);
            let limit = filter.limit.unwrap_or(usize::MAX);
            let kind = filter.kind.as_deref();
            match filter.session {
                None => {
                    let later = (after..state.events.len()).filter_map(|place| state.at(place));
                    let passing = later.filter(|(event, _)| is_of_kind(event, kind));
                    passing.take(limit).map(stored).collect()
                }
                Some(id) => {
                    let places = state.sessions.get(&id).map(|session| session.events.as_slice());
                    let places = places.unwrap_or_default();
                    let first = places.partition_point(|place| *place < after);
                    let later = places.get(first..).unwrap_or_default().iter();
                    let events = later.filter_map(|place| state.at(*place));
                    let passing = events.filter(|(event, _)| is_of_kind(event, kind));
                    passing.take(limit).map(stored).collect()
                }
            }
        })
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>> {
        self.read(|state| {
            let index = usize::try_from(id.sequence.checked_sub(1)?).ok()?;
            let place = state.sessions.get(&id.session)?.events.get(index)?;
            state.at(*place).map(stored)
        })
    }

    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>> {
        self.read(|state| state.file_labels.get(path).copied())
    }

    fn file_labels(
        &self,
        range: FileLabelRange,
    ) -> BoxFuture<'_, Result<Vec<(String, FileLabel)>, StoreError>> {
        self.read(move |state| {
            // A range of a map panics if it ends before it begins.
            let from = state.file_labels.range(range.from.clone()..);
            from.take_while(|(path, _)| range.contains(path))
                .filter(|(_, known)| !known.label.is_within(range.not_within))
                .take(range.limit)
                .map(|(path, known)| (path.clone(), *known))
                .collect()
        })
    }

    fn pending_writes(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, StoreError>> {
        self.read(|state| state.pending_writes.values().cloned().collect())
    }

    fn notes(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredNote>, StoreError>> {
        self.read_session(session, |session| session.content.notes.clone())
    }

    fn segments(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Segment>, StoreError>> {
        self.read_session(session, |session| session.content.segments.clone())
    }

    fn compaction_rest(&self, session: SessionId) -> BoxFuture<'_, Result<CompactionRest, StoreError>> {
        self.read_session(session, |session| session.content.rest)
    }

    fn search<'a>(
        &'a self,
        session: SessionId,
        text: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<Entry>>, StoreError>> {
        let rows = words::rows(text);
        self.read_session(session, |session| {
            let entries = session.content.entries.iter();
            let found = entries.filter(|entry| {
                !rows.is_empty() && words::found(&words::words(&words::text_of(entry)), &rows)
            });
            found.cloned().collect()
        })
    }
}

/// An event with its position.
fn stored((event, position): (&Arc<Event>, u64)) -> StoredEvent {
    let event = Event::clone(event);
    StoredEvent { position, event }
}

/// Whether an event is of this kind, or of one below it.
fn is_of_kind(event: &Event, kind: Option<&str>) -> bool {
    let Some(kind) = kind else { return true };
    let rest = event.kind.name().strip_prefix(kind);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The request as it is at a time.
fn at(known: &ApprovalRecord, now_ms: i64) -> ApprovalRecord {
    ApprovalRecord {
        state: state_at(known, now_ms),
        ..known.clone()
    }
}
