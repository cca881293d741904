//! A store of your own: here everything is kept in memory, and a commit works on a copy that takes the place of the
//! old state when all went well. Simple, and slow for long sessions.
//!
//! Run it: `cargo run -p tidegate --example own_store`

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tidegate::message::{Author, Body, Entry, EntrySeq, Event, Usage, joined_text};
use tidegate::policy::{ApprovalId, EventId, SessionId, SourceId, Taint, TurnId};
use tidegate::prelude::*;
use tidegate::store::{
    ApprovalFilter, ApprovalRecord, ApprovalState, BoxFuture, CallRecord, CallState, Checkpoint, Committed,
    CompactionRest, EventFilter, FileLabel, FileLabelRange, NewApproval, NewEvent, PendingWrites, Segment,
    SessionList, SessionPatch, SessionRecord, SessionState, SessionSummary, SourceText, StoreError,
    StoredEvent, StoredNote, Write,
};

/// A store in memory.
#[derive(Default)]
pub(crate) struct Memory(Mutex<State>);

#[derive(Clone, Default)]
struct State {
    sessions: BTreeMap<SessionId, Kept>,
    events: Vec<StoredEvent>,
    approvals: Vec<ApprovalRecord>,
    labels: BTreeMap<String, FileLabel>,
    pending: BTreeMap<String, PendingWrites>,
    /// The position of the last note.
    notes: u64,
}

/// One session.
#[derive(Clone)]
struct Kept {
    record: SessionRecord,
    entries: Vec<Arc<Entry>>,
    checkpoint: Option<Checkpoint>,
    calls: Vec<(TurnId, CallRecord)>,
    sources: Vec<SourceText>,
    events: u64,
    notes: Vec<StoredNote>,
    segments: Vec<Segment>,
    rest: CompactionRest,
    spent: Usage,
}

impl Memory {
    /// What `look` finds in the state.
    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(ready(Ok(look(&state))))
    }

    fn apply(&self, writes: Vec<Write>) -> Result<Committed, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut copy, mut committed) = (state.clone(), Committed::default());
        for write in writes {
            copy.apply(write, &mut committed.events)?;
        }
        *state = copy;
        Ok(committed)
    }
}

impl State {
    fn apply(&mut self, write: Write, told: &mut Vec<Arc<Event>>) -> Result<(), StoreError> {
        match write {
            Write::CreateSession(new) => {
                if let Some(by) = new.name.as_ref().and_then(|name| self.named(name)) {
                    let (name, by) = (by.record.session.name.clone(), by.record.session.id);
                    return Err(name.map_or(StoreError::SessionExists { session: by }, |name| {
                        StoreError::NameTaken { name, by }
                    }));
                }
                if self.sessions.contains_key(&new.id) {
                    return Err(StoreError::SessionExists { session: new.id });
                }
                self.sessions.insert(
                    new.id,
                    Kept::new(SessionRecord {
                        session: *new,
                        state: SessionState::Idle,
                        turns: 0,
                        acknowledged: Classification::Public,
                        created_ms: now_ms(),
                        changed_ms: now_ms(),
                    }),
                );
            }
            Write::PatchSession(id, patch) => self.open(id)?.patch(patch)?,
            Write::MoveName { from, to } => {
                self.open(to)?;
                if let Some(name) = self.open(from)?.record.session.name.take() {
                    self.open(to)?.record.session.name = Some(name);
                }
            }
            Write::Append(id, entries) => {
                let kept = self.open(id)?;
                for entry in entries {
                    let expected = u64::try_from(kept.entries.len())
                        .unwrap_or(u64::MAX)
                        .saturating_add(1);
                    if entry.seq != EntrySeq(expected) {
                        return Err(StoreError::OutOfOrder {
                            session: id,
                            expected,
                            given: entry.seq.0,
                        });
                    }
                    kept.entries.push(entry);
                }
            }
            Write::Checkpoint(id, checkpoint) => self.open(id)?.checkpoint = Some(checkpoint),
            Write::CallStarted {
                session,
                turn,
                call,
                tool,
            } => {
                let calls = &mut self.open(session)?.calls;
                match calls.iter_mut().find(|(_, row)| row.call == call) {
                    None => calls.push((
                        turn,
                        CallRecord {
                            call,
                            tool,
                            attempts: 1,
                            state: CallState::Started,
                        },
                    )),
                    Some((_, row)) if row.state == CallState::Started => row.attempts += 1,
                    Some(_) => return Err(StoreError::CallFinished { session, call }),
                }
            }
            Write::CallFinished {
                session,
                turn,
                result,
            } => {
                let calls = &mut self.open(session)?.calls;
                let (call, tool) = (result.call.clone(), result.name.clone());
                let state = CallState::Finished(result);
                match calls.iter_mut().find(|(_, row)| row.call == call) {
                    Some((_, row)) => row.state = state,
                    None => calls.push((
                        turn,
                        CallRecord {
                            call,
                            tool,
                            attempts: 0,
                            state,
                        },
                    )),
                }
            }
            Write::Source(id, text) => {
                let kept = self.open(id)?;
                match kept.sources.iter().find(|known| known.id == text.id) {
                    None => kept.sources.push(text),
                    Some(known) if *known == text => {}
                    Some(_) => {
                        return Err(StoreError::SourceTaken {
                            session: id,
                            id: text.id,
                        });
                    }
                }
            }
            Write::Events(id, events) => {
                for NewEvent { turn, label, kind } in events {
                    let kept = self.open(id)?;
                    kept.events += 1;
                    let sequence = kept.events;
                    let event = Event {
                        session: id,
                        sequence,
                        at_ms: now_ms(),
                        turn,
                        label,
                        kind,
                    };
                    told.push(Arc::new(event.clone()));
                    let position = u64::try_from(self.events.len())
                        .unwrap_or(u64::MAX)
                        .saturating_add(1);
                    self.events.push(StoredEvent { position, event });
                }
            }
            Write::FileLabel(path, label) => {
                self.labels.insert(path, label);
            }
            Write::PendingWrites(pending) => {
                self.pending.insert(pending.id.clone(), pending);
            }
            Write::WritesSettled(id) => {
                self.pending.remove(&id);
            }
            Write::LeaveNote(id, note) => {
                self.notes += 1;
                let (position, left_ms) = (self.notes, now_ms());
                self.open(id)?.notes.push(StoredNote {
                    position,
                    left_ms,
                    note,
                });
            }
            Write::TakeNotes(id, positions) => {
                let notes = &mut self.open(id)?.notes;
                for position in positions {
                    let before = notes.len();
                    notes.retain(|known| known.position != position);
                    if notes.len() == before {
                        return Err(StoreError::NoteTaken {
                            session: id,
                            position,
                        });
                    }
                }
            }
            Write::BeginSegment(id, made) => {
                let kept = self.open(id)?;
                let through = kept.entries.last().map_or(EntrySeq(0), |entry| entry.seq);
                if let Some(unknown) = made.entries.iter().find(|seq| **seq > through) {
                    return Err(StoreError::UnknownEntry {
                        session: id,
                        entry: unknown.0,
                    });
                }
                kept.segments.push(Segment {
                    number: u64::try_from(kept.segments.len())
                        .unwrap_or(u64::MAX)
                        .saturating_add(2),
                    through,
                    at_ms: now_ms(),
                    made: *made,
                });
            }
            Write::CompactionRest(id, rest) => self.open(id)?.rest = rest,
            Write::Spent(id, usage) => self.open(id)?.spent += usage,
            // Neither search nor memories are kept here.
            Write::IndexMessages(_) | Write::PurgeContext(_) => {}
            Write::EraseSession(id) => {
                let kept = self
                    .sessions
                    .get_mut(&id)
                    .ok_or(StoreError::UnknownSession { session: id })?;
                *kept = kept.erased();
                for known in self.approvals.iter_mut().filter(|known| known.session == id) {
                    known.shown.clear();
                    known.digest = [0; 32];
                }
                // A store that outlives its process also hashes what content its events tell: see `SqliteStore`.
            }
            Write::AskApproval(new) => self.ask(*new)?,
            Write::DecideApproval { approval, grant } => {
                let wanted = if grant {
                    ApprovalState::Granted
                } else {
                    ApprovalState::Refused
                };
                self.settle(approval, ApprovalState::Waiting, wanted)?;
            }
            Write::UseApproval { approval } => {
                self.settle(approval, ApprovalState::Granted, ApprovalState::Used)?;
            }
            Write::ExpireApproval { approval } => {
                let known = self.approval(approval)?;
                if known.state.is_open() {
                    known.state = ApprovalState::Expired;
                    known.decided_ms = known.decided_ms.or(Some(now_ms()));
                }
            }
        }
        Ok(())
    }

    fn named(&self, name: &SessionName) -> Option<&Kept> {
        self.sessions
            .values()
            .find(|kept| kept.record.session.name.as_ref() == Some(name))
    }

    /// A session that can be written to.
    fn open(&mut self, session: SessionId) -> Result<&mut Kept, StoreError> {
        let kept = self
            .sessions
            .get_mut(&session)
            .ok_or(StoreError::UnknownSession { session })?;
        if kept.record.state == SessionState::Erased {
            return Err(StoreError::Erased { session });
        }
        kept.record.changed_ms = now_ms();
        Ok(kept)
    }

    fn ask(&mut self, new: NewApproval) -> Result<(), StoreError> {
        self.open(new.session)?;
        let NewApproval {
            id,
            session,
            turn,
            call,
            digest,
            label,
            shown,
            valid_for,
        } = new;
        if self
            .approvals
            .iter()
            .any(|known| (known.session, &known.call, known.digest) == (session, &call, digest))
        {
            return Ok(());
        }
        if self.approvals.iter().any(|known| known.id == id) {
            return Err(StoreError::ApprovalExists { approval: id });
        }
        let (state, created_ms) = (ApprovalState::Waiting, now_ms());
        let expires_ms = created_ms.saturating_add(i64::try_from(valid_for.as_millis()).unwrap_or(i64::MAX));
        let decided_ms = None;
        self.approvals.push(ApprovalRecord {
            id,
            session,
            turn,
            call,
            digest,
            label,
            shown,
            state,
            created_ms,
            decided_ms,
            expires_ms,
        });
        Ok(())
    }

    fn approval(&mut self, approval: ApprovalId) -> Result<&mut ApprovalRecord, StoreError> {
        let known = self.approvals.iter_mut().find(|known| known.id == approval);
        let known = known.ok_or(StoreError::UnknownApproval { approval })?;
        *known = in_time(known);
        Ok(known)
    }

    fn settle(
        &mut self,
        id: ApprovalId,
        from: ApprovalState,
        wanted: ApprovalState,
    ) -> Result<(), StoreError> {
        let known = self.approval(id)?;
        if known.state != from {
            return Err(StoreError::ApprovalSettled {
                approval: id,
                state: known.state,
                wanted,
            });
        }
        known.state = wanted;
        known.decided_ms = known.decided_ms.or(Some(now_ms()));
        Ok(())
    }
}

impl Kept {
    fn new(record: SessionRecord) -> Self {
        Self {
            record,
            entries: vec![],
            checkpoint: None,
            calls: vec![],
            sources: vec![],
            events: 0,
            notes: vec![],
            segments: vec![],
            rest: CompactionRest::default(),
            spent: Usage::default(),
        }
    }

    fn patch(&mut self, patch: SessionPatch) -> Result<(), StoreError> {
        let SessionRecord {
            session,
            state,
            turns,
            acknowledged,
            ..
        } = &mut self.record;
        match patch.state {
            Some(SessionState::Erased) => return Err(StoreError::ErasedByPatch { session: session.id }),
            Some(new @ SessionState::InTurn(_)) if new != *state => (*state, *turns) = (new, *turns + 1),
            Some(new) => *state = new,
            None => {}
        }
        if let Some(taint) = patch.taint {
            let (stored, given) = (session.taint.label(), taint.label());
            if stored.join(given) != given {
                return Err(StoreError::TaintWouldFall {
                    session: session.id,
                    stored,
                    given,
                });
            }
            session.taint = taint;
        }
        session.model_policy = patch.model_policy.unwrap_or_else(|| session.model_policy.clone());
        session.clearance = patch.clearance.unwrap_or(session.clearance);
        session.tools = patch.tools.unwrap_or_else(|| std::mem::take(&mut session.tools));
        *acknowledged = patch.acknowledged.unwrap_or_default().max(*acknowledged);
        Ok(())
    }

    fn erased(&self) -> Self {
        let mut record = self.record.clone();
        record.state = SessionState::Erased;
        record.session.name = None;
        record.session.taint = Taint::new(record.session.taint.label());
        record.session.workspace.clear();
        record.session.system_prompt = "".into();
        record.session.tools.clear();
        Self {
            events: self.events,
            ..Self::new(record)
        }
    }

    fn summary(&self) -> SessionSummary {
        let (mut usage, mut title) = (self.spent, None);
        for entry in &self.entries {
            match &entry.body {
                Body::Assistant(message) => usage += message.usage,
                Body::User(message) if message.author == Author::Person && title.is_none() => {
                    let text = joined_text(message.content.iter());
                    let words: Vec<&str> = text
                        .split(|c: char| c.is_whitespace() || c.is_control())
                        .filter(|w| !w.is_empty())
                        .collect();
                    title = Some(words.join(" ").chars().take(80).collect());
                }
                Body::User(_) | Body::Results(_) => {}
            }
        }
        SessionSummary {
            record: self.record.clone(),
            entries: u64::try_from(self.entries.len()).unwrap_or(u64::MAX),
            usage,
            title: title.unwrap_or_default(),
        }
    }
}

impl Store for Memory {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(ready(self.apply(writes)))
    }

    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>> {
        self.read(|state| Some(state.sessions.get(&id)?.record.clone()))
    }

    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.read(|state| Some(state.named(name)?.record.clone()))
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>> {
        self.read(|state| Some(state.sessions.get(&id)?.summary()))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>> {
        self.read(|state| {
            let mut sessions: Vec<_> = state.sessions.values().map(Kept::summary).collect();
            sessions.sort_by_key(|summary| std::cmp::Reverse(summary.record.changed_ms));
            SessionList {
                sessions,
                damaged: Vec::new(),
            }
        })
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>> {
        self.read(|state| {
            state
                .sessions
                .get(&session)
                .map(|kept| kept.entries.clone())
                .unwrap_or_default()
        })
    }

    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>> {
        self.read(|state| state.sessions.get(&session)?.checkpoint.clone())
    }

    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.read(|state| {
            let calls = state
                .sessions
                .get(&session)
                .into_iter()
                .flat_map(|kept| &kept.calls);
            calls
                .filter(|(of, _)| *of == turn)
                .map(|(_, row)| row.clone())
                .collect()
        })
    }

    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>> {
        self.read(|state| state.approvals.iter().find(|known| known.id == id).map(in_time))
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        self.read(|state| {
            let all = state.approvals.iter().map(in_time);
            all.filter(|known| {
                filter.session.is_none_or(|session| known.session == session)
                    && filter.state.is_none_or(|state| known.state == state)
            })
            .collect()
        })
    }

    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>> {
        self.read(|state| {
            state
                .sessions
                .get(&session)?
                .sources
                .iter()
                .find(|text| text.id == *id)
                .cloned()
        })
    }

    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>> {
        self.read(|state| {
            state
                .sessions
                .get(&session)
                .map(|kept| kept.sources.clone())
                .unwrap_or_default()
        })
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.read(|state| {
            let is_kind = |name: &str| {
                filter.kind.as_ref().is_none_or(|kind| {
                    name.strip_prefix(kind.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
            };
            let found = state.events.iter().filter(|stored| {
                stored.position > filter.after
                    && filter
                        .session
                        .is_none_or(|session| stored.event.session == session)
                    && is_kind(stored.event.kind.name())
            });
            found.take(filter.limit.unwrap_or(usize::MAX)).cloned().collect()
        })
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>> {
        self.read(|state| {
            let found = state
                .events
                .iter()
                .find(|stored| (stored.event.session, stored.event.sequence) == (id.session, id.sequence));
            found.cloned()
        })
    }

    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>> {
        self.read(|state| state.labels.get(path).copied())
    }

    fn file_labels(
        &self,
        range: FileLabelRange,
    ) -> BoxFuture<'_, Result<Vec<(String, FileLabel)>, StoreError>> {
        self.read(|state| {
            let found = state
                .labels
                .iter()
                .filter(|(path, known)| range.contains(path) && !known.label.is_within(range.not_within));
            found
                .take(range.limit)
                .map(|(path, known)| (path.clone(), *known))
                .collect()
        })
    }

    fn pending_writes(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, StoreError>> {
        self.read(|state| state.pending.values().cloned().collect())
    }

    fn notes(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredNote>, StoreError>> {
        self.read(|state| {
            let kept = state.sessions.get(&session);
            kept.map(|kept| kept.notes.clone()).unwrap_or_default()
        })
    }

    fn segments(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Segment>, StoreError>> {
        self.read(|state| {
            let kept = state.sessions.get(&session);
            kept.map(|kept| kept.segments.clone()).unwrap_or_default()
        })
    }

    fn compaction_rest(&self, session: SessionId) -> BoxFuture<'_, Result<CompactionRest, StoreError>> {
        self.read(|state| {
            let kept = state.sessions.get(&session);
            kept.map(|kept| kept.rest).unwrap_or_default()
        })
    }

    fn search<'a>(
        &'a self,
        session: SessionId,
        text: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<Entry>>, StoreError>> {
        // Good enough here: parts of the entry's JSON.
        let asked: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        self.read(|state| {
            let entries = state
                .sessions
                .get(&session)
                .into_iter()
                .flat_map(|kept| &kept.entries);
            let holds = |entry: &&Arc<Entry>| {
                let json = serde_json::to_string(&entry.body)
                    .unwrap_or_default()
                    .to_lowercase();
                !asked.is_empty() && asked.iter().all(|part| json.contains(part))
            };
            entries.filter(holds).cloned().collect()
        })
    }
}

/// The request as it is now: one whose time is up has expired.
fn in_time(known: &ApprovalRecord) -> ApprovalRecord {
    let mut known = known.clone();
    if known.state.is_open() && now_ms() >= known.expires_ms {
        known.state = ApprovalState::Expired;
    }
    known
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Scripted::new(
        ProviderId::new("script"),
        [ScriptedReply::text("It is kept in memory.")],
    );
    let runtime = Runtime::builder()
        .store(Arc::new(Memory::default()))
        .provider(Arc::new(model), Classification::Restricted, 8)
        .tier(Tier::Lite, vec!["script:any".parse()?])
        .without_file_tools()
        .build()?;
    let mut session = runtime.session(SessionRequest::new(Which::New)).await?;
    println!(
        "{}",
        session
            .run("Where is this kept?", TurnOptions::default())
            .await?
            .answer
    );
    Ok(())
}
