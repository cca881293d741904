//! The writes of one commit.
//!
//! They are applied where the values are, and each leaves behind how it is taken back: after an error all that
//! happened is undone, last first. So a commit costs what it changes, however much is kept.

use super::session::{Content, Session};
use super::store::State;
use crate::content_hash::{ContentHash, random};
use crate::{
    ApprovalRecord, ApprovalState, CallRecord, CallState, Checkpoint, Committed, NewApproval, NewEvent,
    NewNote, NewSegment, NewSession, PendingWrites, Segment, SessionState, SourceText, StoreError,
    StoredNote, Write,
};
use std::sync::Arc;
use tidegate_message::{Entry, EntrySeq, Event, ToolResult};
use tidegate_policy::{ApprovalId, CallId, SessionId, ToolName, TurnId};

/// Applies `writes` in order: all, or none.
pub(super) fn apply(state: &mut State, writes: Vec<Write>, clock_ms: i64) -> Result<Committed, StoreError> {
    let mut commit = Commit {
        state,
        clock_ms,
        touched: Vec::new(),
        told: Vec::new(),
        undo: Vec::new(),
    };
    for write in writes {
        if let Err(error) = commit.write(write) {
            commit.take_back();
            return Err(error);
        }
    }
    Ok(Committed { events: commit.told })
}

/// Takes one change back.
type Undo = Box<dyn FnOnce(&mut State)>;

struct Commit<'a> {
    state: &'a mut State,
    clock_ms: i64,
    /// The sessions whose rows from before are kept.
    touched: Vec<SessionId>,
    told: Vec<Arc<Event>>,
    undo: Vec<Undo>,
}

impl Commit<'_> {
    fn take_back(self) {
        for undo in self.undo.into_iter().rev() {
            undo(self.state);
        }
    }

    fn undo(&mut self, undo: impl FnOnce(&mut State) + 'static) {
        self.undo.push(Box::new(undo));
    }

    /// How a change to a session is taken back.
    fn undo_in(&mut self, id: SessionId, undo: impl FnOnce(&mut Session) + 'static) {
        self.undo(move |state| {
            if let Some(session) = state.sessions.get_mut(&id) {
                undo(session);
            }
        });
    }

    fn write(&mut self, write: Write) -> Result<(), StoreError> {
        match write {
            Write::CreateSession(new) => self.create(*new),
            Write::PatchSession(id, patch) => self.session(id)?.row.patch(patch),
            Write::MoveName { from, to } => self.move_name(from, to),
            Write::Append(id, entries) => self.append(id, entries),
            Write::Checkpoint(id, checkpoint) => self.checkpoint(id, checkpoint),
            Write::CallStarted {
                session,
                turn,
                call,
                tool,
            } => self.call_started(session, turn, call, tool),
            Write::CallFinished {
                session,
                turn,
                result,
            } => self.call_finished(session, turn, result),
            Write::AskApproval(new) => self.ask(*new),
            Write::DecideApproval { approval, grant } => {
                let wanted = if grant {
                    ApprovalState::Granted
                } else {
                    ApprovalState::Refused
                };
                self.settle(approval, wanted)
            }
            Write::UseApproval { approval } => self.settle(approval, ApprovalState::Used),
            Write::ExpireApproval { approval } => self.settle(approval, ApprovalState::Expired),
            Write::Source(id, text) => self.source(id, text),
            Write::Events(id, events) => self.events(id, events),
            Write::FileLabel(path, label) => {
                let before = self.state.file_labels.insert(path.clone(), label);
                self.undo(move |state| {
                    match before {
                        Some(before) => state.file_labels.insert(path, before),
                        None => state.file_labels.remove(&path),
                    };
                });
                Ok(())
            }
            Write::PendingWrites(pending) => {
                let id = pending.id.clone();
                let before = self.state.pending_writes.insert(id.clone(), pending);
                self.undo_pending(id, before);
                Ok(())
            }
            Write::WritesSettled(id) => {
                let before = self.state.pending_writes.remove(&id);
                self.undo_pending(id, before);
                Ok(())
            }
            Write::LeaveNote(id, note) => self.leave_note(id, note),
            Write::TakeNotes(id, positions) => self.take_notes(id, &positions),
            Write::BeginSegment(id, segment) => self.begin_segment(id, *segment),
            Write::CompactionRest(id, rest) => {
                let before = std::mem::replace(&mut self.session(id)?.content.rest, rest);
                self.undo_in(id, move |session| session.content.rest = before);
                Ok(())
            }
            Write::Spent(id, usage) => {
                self.session(id)?.row.spend(usage);
                Ok(())
            }
            // Everything is looked at; and nothing is saved here to be searched.
            Write::IndexMessages(_) | Write::PurgeContext(_) => Ok(()),
            Write::EraseSession(id) => self.erase(id),
        }
    }

    fn leave_note(&mut self, id: SessionId, note: NewNote) -> Result<(), StoreError> {
        let left_ms = self.session(id)?.row.changed_ms;
        // Positions are not given twice, even if this is taken back.
        self.state.notes = self.state.notes.saturating_add(1);
        let position = self.state.notes;
        let left = StoredNote {
            position,
            left_ms,
            note,
        };
        self.session(id)?.content.notes.push(left);
        self.undo_in(id, |session| {
            session.content.notes.pop();
        });
        Ok(())
    }

    fn take_notes(&mut self, id: SessionId, positions: &[u64]) -> Result<(), StoreError> {
        let notes = &mut self.session(id)?.content.notes;
        let before = notes.clone();
        for position in positions {
            let Some(index) = notes.iter().position(|known| known.position == *position) else {
                let position = *position;
                *notes = before;
                return Err(StoreError::NoteTaken {
                    session: id,
                    position,
                });
            };
            notes.remove(index);
        }
        self.undo_in(id, move |session| session.content.notes = before);
        Ok(())
    }

    fn begin_segment(&mut self, id: SessionId, made: NewSegment) -> Result<(), StoreError> {
        let session = self.session(id)?;
        let last = session.row.entries();
        if let Some(unknown) = made.entries.iter().find(|seq| seq.0 == 0 || seq.0 > last) {
            return Err(StoreError::UnknownEntry {
                session: id,
                entry: unknown.0,
            });
        }
        let at_ms = session.row.changed_ms;
        let segments = &mut session.content.segments;
        segments.push(Segment {
            number: count(segments.len()).saturating_add(2),
            through: EntrySeq(last),
            at_ms,
            made,
        });
        self.undo_in(id, |session| {
            session.content.segments.pop();
        });
        Ok(())
    }

    /// How a change to what may be writing files is taken back.
    fn undo_pending(&mut self, id: String, before: Option<PendingWrites>) {
        self.undo(move |state| {
            match before {
                Some(before) => state.pending_writes.insert(id, before),
                None => state.pending_writes.remove(&id),
            };
        });
    }

    /// The session, its time moved on, erased or not. Its row from before is kept the first time.
    fn any_session(&mut self, id: SessionId) -> Result<&mut Session, StoreError> {
        let session = self.state.sessions.get_mut(&id);
        let session = session.ok_or(StoreError::UnknownSession { session: id })?;
        if !self.touched.contains(&id) {
            self.touched.push(id);
            let before = session.row.clone();
            self.undo.push(Box::new(move |state| {
                if let Some(session) = state.sessions.get_mut(&id) {
                    session.row = before;
                }
            }));
        }
        // Times of a session never go back, whatever the clock does.
        session.row.changed_ms = session.row.changed_ms.max(self.clock_ms);
        Ok(session)
    }

    /// A session that can be added to.
    fn session(&mut self, id: SessionId) -> Result<&mut Session, StoreError> {
        let session = self.any_session(id)?;
        match session.row.state {
            SessionState::Erased => Err(StoreError::Erased { session: id }),
            SessionState::Idle | SessionState::InTurn(_) => Ok(session),
        }
    }

    fn create(&mut self, new: NewSession) -> Result<(), StoreError> {
        let id = new.id;
        if self.state.sessions.contains_key(&id) {
            return Err(StoreError::SessionExists { session: id });
        }
        if let Some(name) = &new.name
            && let Some(by) = self.state.owner(name)
        {
            return Err(StoreError::NameTaken {
                name: name.clone(),
                by,
            });
        }
        self.state.sessions.insert(id, Session::new(new, self.clock_ms));
        self.undo(move |state| {
            state.sessions.remove(&id);
        });
        Ok(())
    }

    fn move_name(&mut self, from: SessionId, to: SessionId) -> Result<(), StoreError> {
        self.session(from)?;
        self.session(to)?;
        if let Some(name) = self.session(from)?.row.name.take() {
            self.session(to)?.row.name = Some(name);
        }
        Ok(())
    }

    fn append(&mut self, id: SessionId, entries: Vec<Arc<Entry>>) -> Result<(), StoreError> {
        let kept = self.session(id)?.content.entries.len();
        self.undo_in(id, move |session| session.content.entries.truncate(kept));
        let session = self.session(id)?;
        for entry in entries {
            session.row.count(&entry)?;
            session.content.entries.push(entry);
        }
        Ok(())
    }

    fn checkpoint(&mut self, id: SessionId, checkpoint: Checkpoint) -> Result<(), StoreError> {
        let before = self.session(id)?.content.checkpoint.replace(checkpoint);
        self.undo_in(id, move |session| session.content.checkpoint = before);
        Ok(())
    }

    fn call_started(
        &mut self,
        id: SessionId,
        turn: TurnId,
        call: CallId,
        tool: ToolName,
    ) -> Result<(), StoreError> {
        let known = self.session(id)?.content.calls.get(&call);
        let (turn, record) = match known {
            None => (
                turn,
                CallRecord {
                    call,
                    tool,
                    attempts: 1,
                    state: CallState::Started,
                },
            ),
            Some((_, record)) if record.state != CallState::Started => {
                return Err(StoreError::CallFinished { session: id, call });
            }
            Some((turn, record)) => (
                *turn,
                CallRecord {
                    attempts: record.attempts.saturating_add(1),
                    ..record.clone()
                },
            ),
        };
        self.journal(id, turn, record)
    }

    fn call_finished(
        &mut self,
        id: SessionId,
        turn: TurnId,
        result: Box<ToolResult>,
    ) -> Result<(), StoreError> {
        let known = self.session(id)?.content.calls.get(&result.call);
        let (turn, call, tool, attempts) = match known {
            None => (turn, result.call.clone(), result.name.clone(), 0),
            Some((turn, record)) => (*turn, record.call.clone(), record.tool.clone(), record.attempts),
        };
        let state = CallState::Finished(result);
        self.journal(
            id,
            turn,
            CallRecord {
                call,
                tool,
                attempts,
                state,
            },
        )
    }

    /// Writes a row of the journal; a new one goes to its end.
    fn journal(&mut self, id: SessionId, turn: TurnId, record: CallRecord) -> Result<(), StoreError> {
        let call = record.call.clone();
        let calls = &mut self.session(id)?.content.calls;
        let before = calls.insert(call.clone(), (turn, record));
        self.undo_in(id, move |session| {
            match before {
                Some(before) => session.content.calls.insert(call, before),
                None => session.content.calls.pop().map(|(_, row)| row),
            };
        });
        Ok(())
    }

    fn ask(&mut self, new: NewApproval) -> Result<(), StoreError> {
        let created_ms = self.session(new.session)?.row.changed_ms;
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
        let approvals = &mut self.state.approvals;
        let is_same =
            |known: &ApprovalRecord| (known.session, &known.call, &known.digest) == (session, &call, &digest);
        if approvals.values().any(is_same) {
            return Ok(());
        }
        if approvals.contains_key(&id) {
            return Err(StoreError::ApprovalExists { approval: id });
        }
        let valid_ms = i64::try_from(valid_for.as_millis()).unwrap_or(i64::MAX);
        approvals.insert(
            id,
            ApprovalRecord {
                id,
                session,
                turn,
                call,
                digest,
                label,
                shown,
                state: ApprovalState::Waiting,
                created_ms,
                decided_ms: None,
                expires_ms: created_ms.saturating_add(valid_ms),
            },
        );
        self.undo(|state| {
            state.approvals.pop();
        });
        Ok(())
    }

    /// Moves a request to the state `wanted`, if it may go there.
    fn settle(&mut self, id: ApprovalId, wanted: ApprovalState) -> Result<(), StoreError> {
        let unknown = StoreError::UnknownApproval { approval: id };
        let Some(session) = self.state.approvals.get(&id).map(|known| known.session) else {
            return Err(unknown);
        };
        let now_ms = self.session(session)?.row.changed_ms;
        let Some(known) = self.state.approvals.get_mut(&id) else {
            return Err(unknown);
        };
        let state = state_at(known, now_ms);
        let may = match wanted {
            ApprovalState::Granted | ApprovalState::Refused => state == ApprovalState::Waiting,
            ApprovalState::Used => state == ApprovalState::Granted,
            // What counts as expired by its time is written down; what is settled stays.
            ApprovalState::Expired if matches!(state, ApprovalState::Refused | ApprovalState::Used) => {
                return Ok(());
            }
            ApprovalState::Expired => true,
            ApprovalState::Waiting => false,
        };
        if !may {
            return Err(StoreError::ApprovalSettled {
                approval: id,
                state,
                wanted,
            });
        }
        let before = (known.state, known.decided_ms);
        known.state = wanted;
        // The time is that of the first answer: when a grant was given stays known after it was used.
        known.decided_ms = known.decided_ms.or(Some(now_ms));
        self.undo(move |state| {
            if let Some(known) = state.approvals.get_mut(&id) {
                (known.state, known.decided_ms) = before;
            }
        });
        Ok(())
    }

    fn source(&mut self, id: SessionId, text: SourceText) -> Result<(), StoreError> {
        let sources = &mut self.session(id)?.content.sources;
        match sources.get(&text.id) {
            Some(known) if *known == text => Ok(()),
            Some(_) => Err(StoreError::SourceTaken {
                session: id,
                id: text.id,
            }),
            None => {
                sources.insert(text.id.clone(), text);
                self.undo_in(id, |session| {
                    session.content.sources.pop();
                });
                Ok(())
            }
        }
    }

    fn events(&mut self, id: SessionId, events: Vec<NewEvent>) -> Result<(), StoreError> {
        let at_ms = self.session(id)?.row.changed_ms;
        let Some(session) = self.state.sessions.get_mut(&id) else {
            return Err(StoreError::UnknownSession { session: id });
        };
        let all = &mut self.state.events;
        let (kept, kept_in_all) = (session.events.len(), all.len());
        for NewEvent { turn, label, kind } in events {
            session.events.push(all.len());
            let event = Arc::new(Event {
                session: id,
                sequence: count(session.events.len()),
                at_ms,
                turn,
                label,
                kind,
            });
            self.told.push(Arc::clone(&event));
            all.push(event);
        }
        self.undo(move |state| {
            state.events.truncate(kept_in_all);
            if let Some(session) = state.sessions.get_mut(&id) {
                session.events.truncate(kept);
            }
        });
        Ok(())
    }

    fn erase(&mut self, id: SessionId) -> Result<(), StoreError> {
        let session = self.any_session(id)?;
        if session.row.state == SessionState::Erased {
            return Ok(());
        }
        let names = session
            .row
            .tools()
            .iter()
            .map(|tool| tool.name.as_str().to_owned());
        let tools = names.collect();
        session.row.erase();
        let content: Content = std::mem::take(&mut session.content);
        let places = session.events.clone();
        self.undo_in(id, move |session| session.content = content);
        // The key is made when it is first needed.
        let key = *self.state.hash_key.get_or_insert_with(random);
        let hash = ContentHash::new(key, tools);
        for place in places {
            if let Some(event) = self.state.events.get_mut(place) {
                let kind = hash.without_content(&event.kind)?;
                let erased = Arc::new(Event { kind, ..**event });
                let before = std::mem::replace(event, erased);
                self.undo(move |state| {
                    if let Some(event) = state.events.get_mut(place) {
                        *event = before;
                    }
                });
            }
        }
        let shown = self.state.approvals.values_mut();
        let mut before = Vec::new();
        for known in shown.filter(|known| known.session == id) {
            before.push(known.clone());
            known.shown.clear();
            // A hash of content without a key tells of it.
            known.digest = random();
            if known.state.is_open() {
                known.state = ApprovalState::Expired;
            }
        }
        self.undo(move |state| {
            for known in before {
                state.approvals.insert(known.id, known);
            }
        });
        Ok(())
    }
}

/// The state of a request at a time.
pub(super) fn state_at(known: &ApprovalRecord, now_ms: i64) -> ApprovalState {
    if known.state.is_open() && known.expires_ms <= now_ms {
        ApprovalState::Expired
    } else {
        known.state
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
