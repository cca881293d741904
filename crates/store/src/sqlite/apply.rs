//! The writes of one commit, inside the transaction that the writer opened.

use super::erase::{erase, make_readable, purge_context};
use super::failure::Failure;
use super::rows::{body_columns, source, to_json};
use super::session::OpenSession;
use super::{approvals, notes, search, segments};
use crate::{
    ApprovalState, Checkpoint, Committed, FileLabel, NewEvent, NewSession, PendingWrites, SessionPatch,
    SessionState, SourceText, StoreError, Write,
};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{Entry, Event, ToolResult};
use tidegate_policy::{ApprovalId, CallId, SessionId, ToolName, TurnId};

/// What a commit did.
#[derive(Debug)]
pub(crate) struct Applied {
    /// For the caller.
    pub(crate) committed: Committed,
    /// Whether content was erased whose bytes have to go.
    pub(crate) erased: bool,
}

/// Applies `writes` in order. After an error the caller takes back what happened.
pub(crate) fn apply(connection: &Connection, writes: &[Write], clock_ms: i64) -> Result<Applied, Failure> {
    let mut commit = Commit {
        connection,
        clock_ms,
        sessions: BTreeMap::new(),
        events: Vec::new(),
        erased: false,
    };
    for write in writes {
        commit.write(write)?;
    }
    for session in commit.sessions.values() {
        session.save(connection)?;
    }
    Ok(Applied {
        committed: Committed {
            events: commit.events,
        },
        erased: commit.erased,
    })
}

struct Commit<'a> {
    connection: &'a Connection,
    clock_ms: i64,
    sessions: BTreeMap<SessionId, OpenSession>,
    events: Vec<Arc<Event>>,
    erased: bool,
}

impl Commit<'_> {
    fn write(&mut self, write: &Write) -> Result<(), Failure> {
        match write {
            Write::CreateSession(new) => self.create(new),
            Write::PatchSession(session, patch) => self.patch(*session, patch),
            Write::MoveName { from, to } => self.move_name(*from, *to),
            Write::Append(session, entries) => self.append(*session, entries),
            Write::Checkpoint(session, checkpoint) => self.checkpoint(*session, checkpoint),
            Write::CallStarted {
                session,
                turn,
                call,
                tool,
            } => self.call_started(*session, *turn, call, tool),
            Write::CallFinished {
                session,
                turn,
                result,
            } => self.call_finished(*session, *turn, result),
            Write::AskApproval(new) => {
                let connection = self.connection;
                let session = self.session(new.session)?;
                approvals::ask(connection, session.number, new, session.changed_ms)
            }
            Write::DecideApproval { approval, grant } => {
                let wanted = if *grant {
                    ApprovalState::Granted
                } else {
                    ApprovalState::Refused
                };
                self.settle(*approval, wanted)
            }
            Write::UseApproval { approval } => self.settle(*approval, ApprovalState::Used),
            Write::ExpireApproval { approval } => self.settle(*approval, ApprovalState::Expired),
            Write::Source(session, text) => self.source(*session, text),
            Write::Events(session, events) => self.events(*session, events),
            Write::FileLabel(path, label) => self.file_label(path, label),
            Write::PendingWrites(pending) => self.pending_writes(pending),
            Write::WritesSettled(id) => self.writes_settled(id),
            Write::LeaveNote(session, note) => {
                let connection = self.connection;
                notes::leave(connection, self.session(*session)?, note)
            }
            Write::TakeNotes(session, positions) => {
                let connection = self.connection;
                notes::take(connection, self.session(*session)?, positions)
            }
            Write::BeginSegment(session, segment) => {
                let connection = self.connection;
                segments::begin(connection, self.session(*session)?, segment)
            }
            Write::CompactionRest(session, rest) => {
                let connection = self.connection;
                segments::rest(connection, self.session(*session)?.number, *rest)
            }
            Write::Spent(session, usage) => {
                self.session(*session)?.spend(*usage);
                Ok(())
            }
            Write::IndexMessages(session) => search::bring_up_to_date(self.connection, *session),
            Write::PurgeContext(session) => {
                let connection = self.connection;
                purge_context(connection, self.any_session(*session)?.number)
            }
            Write::EraseSession(session) => self.erase(*session),
        }
    }

    /// The session, its time moved on, erased or not.
    fn any_session(&mut self, id: SessionId) -> Result<&mut OpenSession, Failure> {
        let session = match self.sessions.entry(id) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let loaded = OpenSession::load(self.connection, id)?;
                place.insert(loaded.ok_or(StoreError::UnknownSession { session: id })?)
            }
        };
        // Times of a session never go back, whatever the clock does.
        session.changed_ms = session.changed_ms.max(self.clock_ms);
        Ok(session)
    }

    fn session(&mut self, id: SessionId) -> Result<&mut OpenSession, Failure> {
        let session = self.any_session(id)?;
        match session.state {
            SessionState::Erased => Err(StoreError::Erased { session: id }.into()),
            SessionState::Idle | SessionState::InTurn(_) => Ok(session),
        }
    }

    fn create(&mut self, new: &NewSession) -> Result<(), Failure> {
        let session = OpenSession::create(self.connection, new, self.clock_ms)?;
        self.sessions.insert(new.id, session);
        Ok(())
    }

    fn patch(&mut self, id: SessionId, patch: &SessionPatch) -> Result<(), Failure> {
        let connection = self.connection;
        let session = self.session(id)?;
        session.patch(patch)?;
        if let Some(tools) = &patch.tools {
            connection
                .prepare_cached("UPDATE setups SET tools = ?2 WHERE session = ?1")?
                .execute((session.number, to_json("a list of tools", tools)?))?;
        }
        Ok(())
    }

    fn move_name(&mut self, from: SessionId, to: SessionId) -> Result<(), Failure> {
        let connection = self.connection;
        let from = self.session(from)?.number;
        let to = self.session(to)?.number;
        let mut named = connection.prepare_cached("SELECT name FROM sessions WHERE number = ?1")?;
        let name: Option<String> = named.query_row([from], |row| row.get(0))?;
        let Some(name) = name else { return Ok(()) };
        // Names are unique at every moment.
        let mut update = connection.prepare_cached("UPDATE sessions SET name = ?2 WHERE number = ?1")?;
        update.execute((from, None::<String>))?;
        update.execute((to, name))?;
        Ok(())
    }

    fn append(&mut self, id: SessionId, entries: &[Arc<Entry>]) -> Result<(), Failure> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO entries (session, seq, turn, classification, integrity, role, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let session = self.session(id)?;
        for entry in entries {
            session.count(entry)?;
            let (role, body) = body_columns(&entry.body)?;
            insert.execute((
                session.number,
                entry.seq.0,
                entry.turn.to_string(),
                entry.label.classification.as_str(),
                entry.label.integrity.as_str(),
                role,
                body,
            ))?;
        }
        Ok(())
    }

    fn checkpoint(&mut self, id: SessionId, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let mut replace = self.connection.prepare_cached(
            "INSERT INTO checkpoints (session, turn, version, data) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (session) DO UPDATE SET turn = ?2, version = ?3, data = ?4",
        )?;
        let session = self.session(id)?;
        replace.execute((
            session.number,
            checkpoint.turn.to_string(),
            checkpoint.version,
            &checkpoint.data,
        ))?;
        Ok(())
    }

    fn call_started(
        &mut self,
        id: SessionId,
        turn: TurnId,
        call: &CallId,
        tool: &ToolName,
    ) -> Result<(), Failure> {
        let connection = self.connection;
        let session = self.session(id)?;
        let finished: Option<bool> = connection
            .prepare_cached("SELECT result IS NOT NULL FROM calls WHERE session = ?1 AND call = ?2")?
            .query_row((session.number, call.as_str()), |row| row.get(0))
            .optional()?;
        if finished == Some(true) {
            return Err(StoreError::CallFinished {
                session: id,
                call: call.clone(),
            }
            .into());
        }
        connection
            .prepare_cached(
                "INSERT INTO calls (session, turn, call, tool, attempts) VALUES (?1, ?2, ?3, ?4, 1) \
                 ON CONFLICT (session, call) DO UPDATE SET attempts = min(attempts + 1, 4294967295)",
            )?
            .execute((session.number, turn.to_string(), call.as_str(), tool.as_str()))?;
        Ok(())
    }

    fn call_finished(&mut self, id: SessionId, turn: TurnId, result: &ToolResult) -> Result<(), Failure> {
        let mut replace = self.connection.prepare_cached(
            "INSERT INTO calls (session, turn, call, tool, attempts, result) VALUES (?1, ?2, ?3, ?4, 0, ?5) \
             ON CONFLICT (session, call) DO UPDATE SET result = ?5",
        )?;
        let session = self.session(id)?;
        let json = to_json("a tool's result", result)?;
        replace.execute((
            session.number,
            turn.to_string(),
            result.call.as_str(),
            result.name.as_str(),
            json,
        ))?;
        Ok(())
    }

    fn settle(&mut self, id: ApprovalId, wanted: ApprovalState) -> Result<(), Failure> {
        let connection = self.connection;
        let session = self.session(approvals::session_of(connection, id)?)?;
        approvals::settle(connection, id, wanted, session.changed_ms)
    }

    fn source(&mut self, id: SessionId, text: &SourceText) -> Result<(), Failure> {
        let connection = self.connection;
        let session = self.session(id)?;
        let mut select = connection.prepare_cached(
            "SELECT id, classification, integrity, text FROM sources WHERE session = ?1 AND id = ?2",
        )?;
        let mut found = select.query((session.number, text.id.as_str()))?;
        match found.next()? {
            Some(row) if source(id, row)? == *text => return Ok(()),
            Some(_) => {
                return Err(StoreError::SourceTaken {
                    session: id,
                    id: text.id.clone(),
                }
                .into());
            }
            None => {}
        }
        connection
            .prepare_cached(
                "INSERT INTO sources (session, id, classification, integrity, text) VALUES (?1, ?2, ?3, ?4, \
                 ?5)",
            )?
            .execute((
                session.number,
                text.id.as_str(),
                text.label.classification.as_str(),
                text.label.integrity.as_str(),
                &text.text,
            ))?;
        Ok(())
    }

    fn events(&mut self, id: SessionId, events: &[NewEvent]) -> Result<(), Failure> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO events (session, sequence, at_ms, turn, classification, integrity, kind, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        let session = self.session(id)?;
        let mut recorded = Vec::with_capacity(events.len());
        for event in events {
            session.events = session.events.saturating_add(1);
            insert.execute((
                session.number,
                session.events,
                session.changed_ms,
                event.turn.map(|turn| turn.to_string()),
                event.label.classification.as_str(),
                event.label.integrity.as_str(),
                event.kind.name(),
                to_json("an event", &event.kind)?,
            ))?;
            recorded.push(Arc::new(Event {
                session: id,
                sequence: session.events,
                at_ms: session.changed_ms,
                turn: event.turn,
                label: event.label,
                kind: event.kind.clone(),
            }));
        }
        self.events.append(&mut recorded);
        Ok(())
    }

    fn file_label(&mut self, path: &str, label: &FileLabel) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO file_labels (path, hash, classification, integrity) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (path) DO UPDATE SET hash = ?2, classification = ?3, integrity = ?4",
            )?
            .execute((
                path,
                label.hash,
                label.label.classification.as_str(),
                label.label.integrity.as_str(),
            ))?;
        Ok(())
    }

    fn pending_writes(&mut self, pending: &PendingWrites) -> Result<(), Failure> {
        let places = to_json("what a command can write", &pending.places)?;
        self.connection
            .prepare_cached(
                "INSERT INTO pending_writes (id, since_ms, classification, integrity, places) \
                 VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (id) DO UPDATE SET since_ms = ?2, classification = ?3, integrity = ?4, places = ?5",
            )?
            .execute((
                &pending.id,
                pending.since_ms,
                pending.label.classification.as_str(),
                pending.label.integrity.as_str(),
                places,
            ))?;
        Ok(())
    }

    fn writes_settled(&mut self, id: &str) -> Result<(), Failure> {
        self.connection
            .prepare_cached("DELETE FROM pending_writes WHERE id = ?1")?
            .execute([id])?;
        Ok(())
    }

    fn erase(&mut self, id: SessionId) -> Result<(), Failure> {
        let connection = self.connection;
        if let Err(Failure::Damaged { .. }) = self.any_session(id) {
            make_readable(connection, id)?;
        }
        let session = self.any_session(id)?;
        if session.state != SessionState::Erased {
            erase(connection, session)?;
        }
        // Also of a session erased before: its bytes may still wait to be overwritten.
        self.erased = true;
        Ok(())
    }
}
