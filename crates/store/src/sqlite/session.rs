//! A session's row while a commit changes it.

use super::failure::Failure;
use super::rows::{Lenient, Rows, clearance, state_columns, taint, to_json};
use crate::title::title;
use crate::{NewSession, SessionPatch, SessionState, StoreError};
use rusqlite::{Connection, OptionalExtension, named_params};
use tidegate_message::{Author, Body, Entry, Usage};
use tidegate_policy::{Classification, SessionId};

/// What a commit may change of a session. Read once, changed by the writes, written once.
pub(crate) struct OpenSession {
    /// Its key in the other tables.
    pub(crate) number: i64,
    /// Its id.
    pub(crate) id: SessionId,
    /// What it is doing.
    pub(crate) state: SessionState,
    /// The number of its last entry.
    pub(crate) entries: u64,
    /// The number of its last event.
    pub(crate) events: u64,
    /// When it was last changed; no clock leads behind it.
    pub(crate) changed_ms: i64,
    /// JSON; none if it is no text. Written back as it was read, so that a write of something else neither
    /// repairs nor hides damage.
    pub(crate) taint: Option<String>,
    /// None until a person wrote something.
    pub(crate) title: Option<String>,
    turns: u32,
    model_policy: String,
    /// None if it is no text; as the taint.
    clearance: Option<String>,
    usage: Usage,
    /// None if it is no text; as the taint.
    acknowledged: Option<String>,
}

impl OpenSession {
    /// Reads the row; none if there is no such session.
    pub(crate) fn load(connection: &Connection, id: SessionId) -> Result<Option<Self>, Failure> {
        let mut statement = connection.prepare_cached(
            "SELECT number, state, turn, turns, model_policy, clearance, taint, title, usage, entries, \
             events, \
             changed_ms, acknowledged FROM sessions WHERE id = ?1",
        )?;
        let mut found = statement.query([id.to_string()])?;
        let Some(row) = found.next()? else { return Ok(None) };
        let rows = Rows {
            table: "sessions",
            row: &|| id.to_string(),
        };
        let Lenient(clearance) = row.get(5)?;
        let Lenient(taint) = row.get(6)?;
        let Lenient(acknowledged) = row.get(12)?;
        Ok(Some(Self {
            number: rows.column(row, 0)?,
            id,
            state: rows.state(row, 1)?,
            turns: rows.column(row, 3)?,
            model_policy: rows.column(row, 4)?,
            clearance,
            taint,
            title: rows.column(row, 7)?,
            usage: rows.json(row, 8)?,
            entries: rows.column(row, 9)?,
            events: rows.column(row, 10)?,
            changed_ms: rows.column(row, 11)?,
            acknowledged,
        }))
    }

    /// Makes the rows of a new session.
    pub(crate) fn create(connection: &Connection, new: &NewSession, now_ms: i64) -> Result<Self, Failure> {
        let id = new.id.to_string();
        let mut taken = connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?;
        if taken.exists([&id])? {
            return Err(StoreError::SessionExists { session: new.id }.into());
        }
        if let Some(name) = &new.name {
            let mut owner = connection.prepare_cached("SELECT id FROM sessions WHERE name = ?1")?;
            let by: Option<String> = owner.query_row([name.as_str()], |row| row.get(0)).optional()?;
            if let Some(by) = by {
                let by = by
                    .parse()
                    .map_err(|error| Failure::damaged("sessions", by, error))?;
                return Err(StoreError::NameTaken {
                    name: name.clone(),
                    by,
                }
                .into());
            }
        }
        let (state, turn) = state_columns(SessionState::Idle);
        let session = Self {
            number: 0,
            id: new.id,
            state: SessionState::Idle,
            turns: 0,
            model_policy: new.model_policy.to_string(),
            clearance: Some(new.clearance.to_string()),
            taint: Some(to_json("a taint", &new.taint)?),
            title: None,
            usage: Usage::default(),
            entries: 0,
            events: 0,
            changed_ms: now_ms,
            acknowledged: Some(Classification::Public.to_string()),
        };
        connection
            .prepare_cached(
                "INSERT INTO sessions (id, name, user, state, turn, turns, model_policy, clearance, taint, \
                 usage, entries, events, created_ms, changed_ms) \
                 VALUES (:id, :name, :user, :state, :turn, 0, :model_policy, :clearance, :taint, \
                 :usage, 0, 0, :now, :now)",
            )?
            .execute(named_params! {
                ":id": id,
                ":name": new.name.as_ref().map(|name| name.as_str()),
                ":user": new.user.as_str(),
                ":state": state,
                ":turn": turn,
                ":model_policy": session.model_policy,
                ":clearance": session.clearance,
                ":taint": session.taint,
                ":usage": to_json("usage", &session.usage)?,
                ":now": now_ms,
            })?;
        let number = connection.last_insert_rowid();
        connection
            .prepare_cached(
                "INSERT INTO setups (session, workspace, system_prompt, tools) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                number,
                super::rows::workspace_column(&new.workspace)?,
                &*new.system_prompt,
                to_json("a list of tools", &new.tools)?,
            ))?;
        Ok(Self { number, ..session })
    }

    /// Writes the row back.
    pub(crate) fn save(&self, connection: &Connection) -> Result<(), Failure> {
        let (state, turn) = state_columns(self.state);
        connection
            .prepare_cached(
                "UPDATE sessions SET state = :state, turn = :turn, turns = :turns, \
                 model_policy = :model_policy, clearance = coalesce(:clearance, clearance), \
                 taint = coalesce(:taint, taint), title = :title, usage = :usage, entries = :entries, \
                 events = :events, changed_ms = :changed_ms, \
                 acknowledged = coalesce(:acknowledged, acknowledged) WHERE number = :number",
            )?
            .execute(named_params! {
                ":state": state,
                ":turn": turn,
                ":turns": self.turns,
                ":model_policy": self.model_policy,
                ":clearance": self.clearance,
                ":taint": self.taint,
                ":title": self.title,
                ":usage": to_json("usage", &self.usage)?,
                ":entries": self.entries,
                ":events": self.events,
                ":changed_ms": self.changed_ms,
                ":acknowledged": self.acknowledged,
                ":number": self.number,
            })?;
        Ok(())
    }

    /// Applies a patch, all but the tools.
    pub(crate) fn patch(&mut self, patch: &SessionPatch) -> Result<(), Failure> {
        match patch.state {
            None => {}
            Some(SessionState::Erased) => return Err(StoreError::ErasedByPatch { session: self.id }.into()),
            Some(state) => {
                if matches!(state, SessionState::InTurn(_)) && state != self.state {
                    self.turns = self.turns.saturating_add(1);
                }
                self.state = state;
            }
        }
        if let Some(new) = &patch.taint {
            let stored = taint(self.taint.as_deref()).label();
            let given = new.label();
            if !stored.is_within(given) {
                return Err(StoreError::TaintWouldFall {
                    session: self.id,
                    stored,
                    given,
                }
                .into());
            }
            self.taint = Some(to_json("a taint", new)?);
        }
        if let Some(model_policy) = &patch.model_policy {
            self.model_policy = model_policy.to_string();
        }
        if let Some(given) = patch.clearance {
            self.clearance = Some(given.to_string());
        }
        if let Some(given) = patch.acknowledged
            && given > clearance(self.acknowledged.clone())
        {
            self.acknowledged = Some(given.to_string());
        }
        Ok(())
    }

    /// Counts in what a model call without an entry cost.
    pub(crate) fn spend(&mut self, usage: Usage) {
        self.usage += usage;
    }

    /// Counts an entry in that is about to be stored; it has to be the next one.
    pub(crate) fn count(&mut self, entry: &Entry) -> Result<(), Failure> {
        let expected = self.entries.saturating_add(1);
        if entry.seq.0 != expected {
            return Err(StoreError::OutOfOrder {
                session: self.id,
                expected,
                given: entry.seq.0,
            }
            .into());
        }
        self.entries = expected;
        match &entry.body {
            Body::Assistant(message) => self.usage += message.usage,
            Body::User(message) if self.title.is_none() && message.author == Author::Person => {
                self.title = Some(title(message));
            }
            Body::User(_) | Body::Results(_) => {}
        }
        Ok(())
    }
}
