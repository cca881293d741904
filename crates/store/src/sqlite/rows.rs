//! Between columns and records.

use super::failure::Failure;
use crate::{
    CallRecord, CallState, Checkpoint, FileLabel, NewSession, PendingPlace, PendingWrites, SessionRecord,
    SessionState, SessionSummary, SourceText, StoreError, StoredEvent,
};
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlResult, Value, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use tidegate_message::{Body, Entry, EntrySeq, Event};
use tidegate_policy::{
    CallId, Classification, Integrity, Label, SessionId, SessionName, SourceId, Taint, ToolName, TurnId,
    UserId,
};

/// A text column of which anything is accepted; what is no text is none.
pub(crate) struct Lenient(pub(crate) Option<String>);

impl FromSql for Lenient {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(value.as_str().ok().map(str::to_owned)))
    }
}

/// A word that stands where only some may.
#[derive(Debug, thiserror::Error)]
#[error("column `{column}` holds {given:?}; valid is {valid}")]
pub(crate) struct UnknownWord {
    column: &'static str,
    given: String,
    valid: &'static str,
}

impl UnknownWord {
    pub(crate) fn new(column: &'static str, given: impl Into<String>, valid: &'static str) -> Self {
        Self {
            column,
            given: given.into(),
            valid,
        }
    }
}

/// A number that is missing in a sequence.
#[derive(Debug, thiserror::Error)]
#[error("the row is missing")]
pub(crate) struct Missing;

/// Which rows are being read: named in the error if one cannot be.
pub(crate) struct Rows<'a> {
    /// Their table.
    pub(crate) table: &'static str,
    /// The one at hand.
    pub(crate) row: &'a dyn Fn() -> String,
}

impl Rows<'_> {
    /// The error for the row at hand.
    pub(crate) fn damaged(&self, cause: impl Error + Send + Sync + 'static) -> Failure {
        Failure::damaged(self.table, (self.row)(), cause)
    }

    /// A column as it is.
    pub(crate) fn column<T: FromSql>(&self, row: &Row<'_>, index: usize) -> Result<T, Failure> {
        row.get(index).map_err(|error| self.damaged(error))
    }

    /// A column of text that has to be a `T`.
    pub(crate) fn parsed<T>(&self, row: &Row<'_>, index: usize) -> Result<T, Failure>
    where
        T: FromStr<Err: Error + Send + Sync + 'static>,
    {
        self.text(row, index)?
            .parse()
            .map_err(|error| self.damaged(error))
    }

    /// A column of JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, row: &Row<'_>, index: usize) -> Result<T, Failure> {
        serde_json::from_str(self.text(row, index)?).map_err(|error| self.damaged(error))
    }

    /// A column of bytes, where they lie.
    pub(crate) fn blob<'r>(&self, row: &'r Row<'_>, index: usize) -> Result<&'r [u8], Failure> {
        let value = row.get_ref(index).map_err(|error| self.damaged(error))?;
        value.as_blob().map_err(|error| self.damaged(error))
    }

    /// A column of text, where it lies.
    pub(crate) fn text<'r>(&self, row: &'r Row<'_>, index: usize) -> Result<&'r str, Failure> {
        let value = row.get_ref(index).map_err(|error| self.damaged(error))?;
        value.as_str().map_err(|error| self.damaged(error))
    }

    /// The columns `state` and `turn`.
    pub(crate) fn state(&self, row: &Row<'_>, index: usize) -> Result<SessionState, Failure> {
        match self.text(row, index)? {
            "idle" => Ok(SessionState::Idle),
            "in_turn" => Ok(SessionState::InTurn(self.parsed(row, index + 1)?)),
            "erased" => Ok(SessionState::Erased),
            other => Err(self.damaged(UnknownWord {
                column: "state",
                given: other.into(),
                valid: "idle, in_turn, erased",
            })),
        }
    }
}

/// The words of the columns `state` and `turn`.
pub(crate) fn state_columns(state: SessionState) -> (&'static str, Option<String>) {
    match state {
        SessionState::Idle => ("idle", None),
        SessionState::InTurn(turn) => ("in_turn", Some(turn.to_string())),
        SessionState::Erased => ("erased", None),
    }
}

/// JSON of `value`.
pub(crate) fn to_json(what: &'static str, value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| {
        StoreError::Unencodable {
            what,
            cause: Arc::new(error),
        }
        .into()
    })
}

/// The label in two columns; if either cannot be read, what data with such a label counts as.
pub(crate) fn label(row: &Row<'_>, index: usize) -> Result<Label, Failure> {
    let Lenient(classification) = row.get(index)?;
    let Lenient(integrity) = row.get(index + 1)?;
    let parsed = || -> Option<Label> {
        Some(Label::new(
            classification?.parse().ok()?,
            integrity?.parse::<Integrity>().ok()?,
        ))
    };
    Ok(parsed().unwrap_or(Label::UNREADABLE))
}

/// A taint; if it cannot be read, that of a session that has seen everything.
pub(crate) fn taint(json: Option<&str>) -> Taint {
    json.and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_else(|| Taint::new(Label::UNREADABLE))
}

/// A clearance, or what the owner let a session rise to; if it cannot be read, the lowest.
pub(crate) fn clearance(text: Option<String>) -> Classification {
    text.and_then(|text| text.parse().ok())
        .unwrap_or(Classification::Public)
}

/// A folder's name as a column.
pub(crate) fn workspace_column(workspace: &Path) -> Result<Value, Failure> {
    match workspace.to_str() {
        Some(text) => Ok(Value::Text(text.into())),
        None => workspace_bytes(workspace),
    }
}

#[cfg(unix)]
fn workspace_bytes(workspace: &Path) -> Result<Value, Failure> {
    Ok(Value::Blob(
        std::os::unix::ffi::OsStrExt::as_bytes(workspace.as_os_str()).to_vec(),
    ))
}

#[cfg(not(unix))]
fn workspace_bytes(workspace: &Path) -> Result<Value, Failure> {
    Err(StoreError::UnencodableWorkspace {
        workspace: workspace.into(),
    }
    .into())
}

fn workspace(rows: &Rows<'_>, row: &Row<'_>, index: usize) -> Result<PathBuf, Failure> {
    match rows.column(row, index)? {
        Value::Text(text) => Ok(text.into()),
        #[cfg(unix)]
        Value::Blob(bytes) => {
            let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
            Ok(name.into())
        }
        other => {
            let given = format!("{:?}", other.data_type());
            Err(rows.damaged(UnknownWord {
                column: "workspace",
                given,
                valid: "text, or bytes on Unix",
            }))
        }
    }
}

/// The columns that [`summary`] reads.
pub(crate) const SUMMARY: &str = "\
     SELECT id, name, user, state, turn, turns, model_policy, clearance, taint, title, \
     usage, entries, created_ms, changed_ms, workspace, system_prompt, tools, acknowledged \
     FROM sessions LEFT JOIN setups ON setups.session = sessions.number";

/// A session of the columns [`SUMMARY`].
pub(crate) fn summary(row: &Row<'_>) -> Result<SessionSummary, Failure> {
    let Lenient(id) = row.get(0)?;
    let rows = Rows {
        table: "sessions",
        row: &|| id.clone().unwrap_or_else(|| "a session without id".into()),
    };
    let name: Option<String> = rows.column(row, 1)?;
    let name: Option<SessionName> = name
        .map(|name| name.parse())
        .transpose()
        .map_err(|error| rows.damaged(error))?;
    let Lenient(clearance_text) = row.get(7)?;
    let Lenient(taint_json) = row.get(8)?;
    let Lenient(acknowledged) = row.get(17)?;
    let title: Option<String> = rows.column(row, 9)?;
    let system_prompt: String = rows.column(row, 15)?;
    let user: String = rows.column(row, 2)?;
    Ok(SessionSummary {
        record: SessionRecord {
            session: NewSession {
                id: rows.parsed(row, 0)?,
                name,
                user: UserId::new(user),
                model_policy: rows.parsed(row, 6)?,
                clearance: clearance(clearance_text),
                taint: taint(taint_json.as_deref()),
                workspace: workspace(&rows, row, 14)?,
                system_prompt: system_prompt.into(),
                tools: rows.json(row, 16)?,
            },
            state: rows.state(row, 3)?,
            turns: rows.column(row, 5)?,
            acknowledged: clearance(acknowledged),
            created_ms: rows.column(row, 12)?,
            changed_ms: rows.column(row, 13)?,
        },
        entries: rows.column(row, 11)?,
        usage: rows.json(row, 10)?,
        title: title.unwrap_or_default(),
    })
}

/// The columns `role` and `body` of an entry: which message it is, and the message.
pub(crate) fn body_columns(body: &Body) -> Result<(&'static str, String), Failure> {
    let what = "an entry";
    match body {
        Body::User(message) => Ok(("user", to_json(what, message)?)),
        Body::Assistant(message) => Ok(("assistant", to_json(what, message)?)),
        Body::Results(results) => Ok(("results", to_json(what, results)?)),
    }
}

/// The columns that [`entry`] reads.
pub(crate) const ENTRY: &str = "SELECT seq, turn, classification, integrity, role, body FROM entries";

/// An entry of the columns [`ENTRY`].
pub(crate) fn entry(session: SessionId, row: &Row<'_>) -> Result<Entry, Failure> {
    let seq: u64 = row.get(0)?;
    let rows = Rows {
        table: "entries",
        row: &|| format!("entry {seq} of session {session}"),
    };
    let body = match rows.text(row, 4)? {
        "user" => Body::User(rows.json(row, 5)?),
        "assistant" => Body::Assistant(rows.json(row, 5)?),
        "results" => Body::Results(rows.json(row, 5)?),
        other => {
            let valid = "user, assistant, results";
            return Err(rows.damaged(UnknownWord {
                column: "role",
                given: other.into(),
                valid,
            }));
        }
    };
    Ok(Entry::new(
        EntrySeq(seq),
        rows.parsed(row, 1)?,
        label(row, 2)?,
        body,
    ))
}

/// A checkpoint of the columns `turn, version, data`.
pub(crate) fn checkpoint(session: SessionId, row: &Row<'_>) -> Result<Checkpoint, Failure> {
    let rows = Rows {
        table: "checkpoints",
        row: &|| format!("the checkpoint of session {session}"),
    };
    Ok(Checkpoint {
        turn: rows.parsed(row, 0)?,
        version: rows.column(row, 1)?,
        data: rows.column(row, 2)?,
    })
}

/// A journal row of the columns `call, tool, attempts, result`.
pub(crate) fn call(session: SessionId, row: &Row<'_>) -> Result<CallRecord, Failure> {
    let Lenient(id) = row.get(0)?;
    let rows = Rows {
        table: "calls",
        row: &|| {
            format!(
                "call {} of session {session}",
                id.as_deref().unwrap_or("without id")
            )
        },
    };
    let call: String = rows.column(row, 0)?;
    let tool: String = rows.column(row, 1)?;
    let state = match rows.column::<Value>(row, 3)? {
        Value::Null => CallState::Started,
        _ => CallState::Finished(Box::new(rows.json(row, 3)?)),
    };
    Ok(CallRecord {
        call: CallId::new(call),
        tool: ToolName::new(tool),
        attempts: rows.column(row, 2)?,
        state,
    })
}

/// A full text of the columns `id, classification, integrity, text`.
pub(crate) fn source(session: SessionId, row: &Row<'_>) -> Result<SourceText, Failure> {
    let Lenient(id) = row.get(0)?;
    let rows = Rows {
        table: "sources",
        row: &|| {
            format!(
                "text {} of session {session}",
                id.as_deref().unwrap_or("without id")
            )
        },
    };
    let id: String = rows.column(row, 0)?;
    Ok(SourceText {
        id: SourceId::new(id),
        label: label(row, 1)?,
        text: rows.column(row, 3)?,
    })
}

/// The columns that [`event`] reads.
pub(crate) const EVENT: &str = "\
     SELECT events.position, sessions.id, events.sequence, events.at_ms, events.turn, \
     events.classification, events.integrity, events.body \
     FROM events JOIN sessions ON sessions.number = events.session";

/// An event of the columns [`EVENT`].
pub(crate) fn event(row: &Row<'_>) -> Result<StoredEvent, Failure> {
    let position: u64 = row.get(0)?;
    let rows = Rows {
        table: "events",
        row: &|| format!("the event at position {position}"),
    };
    let turn: Option<String> = rows.column(row, 4)?;
    let turn: Option<TurnId> = turn
        .map(|turn| turn.parse())
        .transpose()
        .map_err(|error| rows.damaged(error))?;
    Ok(StoredEvent {
        position,
        event: Event {
            session: rows.parsed(row, 1)?,
            sequence: rows.column(row, 2)?,
            at_ms: rows.column(row, 3)?,
            turn,
            label: label(row, 5)?,
            kind: rows.json(row, 7)?,
        },
    })
}

/// A file's label of the columns `hash, classification, integrity`, from `index` on.
pub(crate) fn file_label(row: &Row<'_>, index: usize) -> Result<FileLabel, Failure> {
    // A content that cannot be told from another may be any content.
    let hash = row
        .get_ref(index)?
        .as_blob()
        .ok()
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    match hash {
        Some(hash) => Ok(FileLabel {
            hash,
            label: label(row, index + 1)?,
        }),
        None => Ok(FileLabel {
            hash: [0; 32],
            label: Label::UNREADABLE,
        }),
    }
}

/// What may be writing files, of the columns `id, since_ms, classification, integrity, places`.
pub(crate) fn pending_writes(row: &Row<'_>) -> Result<PendingWrites, Failure> {
    let Lenient(places) = row.get(4)?;
    let places = places.and_then(|places| serde_json::from_str(&places).ok());
    let label = label(row, 2)?;
    let everything = || PendingPlace {
        path: "/".into(),
        writable: true,
    };
    Ok(PendingWrites {
        id: row.get(0)?,
        since_ms: row.get(1)?,
        label: if places.is_some() {
            label
        } else {
            Label::UNREADABLE
        },
        places: places.unwrap_or_else(|| vec![everything()]),
    })
}
