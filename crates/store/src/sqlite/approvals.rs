//! Requests for approval: their rows, what is written, what is asked.

use super::failure::Failure;
use super::rows::{Lenient, Rows, UnknownWord, label};
use crate::{ApprovalFilter, ApprovalRecord, ApprovalState, NewApproval, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use tidegate_policy::{ApprovalId, CallId, SessionId};

/// The state at the time `:now`.
const STATE: &str = "CASE WHEN approvals.state IN ('waiting', 'granted') AND approvals.expires_ms <= :now \
                     THEN 'expired' ELSE approvals.state END";

fn select() -> String {
    format!(
        "SELECT approvals.id, sessions.id, approvals.turn, approvals.call, approvals.digest, \
         approvals.classification, approvals.integrity, approvals.shown, {STATE}, approvals.created_ms, \
         approvals.decided_ms, approvals.expires_ms \
         FROM approvals JOIN sessions ON sessions.number = approvals.session"
    )
}

/// One request.
pub(crate) fn approval(
    connection: &Connection,
    id: ApprovalId,
    now_ms: i64,
) -> Result<Option<ApprovalRecord>, Failure> {
    let mut statement = connection.prepare_cached(&format!("{} WHERE approvals.id = :id", select()))?;
    let mut found = statement.query(named_params! {":id": id.to_string(), ":now": now_ms})?;
    found.next()?.map(read).transpose()
}

/// The requests that pass `filter`, oldest first.
pub(crate) fn approvals(
    connection: &Connection,
    filter: &ApprovalFilter,
    now_ms: i64,
) -> Result<Vec<ApprovalRecord>, Failure> {
    let sql = format!(
        "{} WHERE (:session IS NULL OR sessions.id = :session) AND (:state IS NULL OR {STATE} = :state) \
         ORDER BY approvals.position",
        select()
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(named_params! {
        ":session": filter.session.map(|session| session.to_string()),
        ":state": filter.state.map(ApprovalState::as_str),
        ":now": now_ms,
    })?;
    let mut records = Vec::new();
    while let Some(row) = found.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

fn read(row: &Row<'_>) -> Result<ApprovalRecord, Failure> {
    let Lenient(id) = row.get(0)?;
    let rows = Rows {
        table: "approvals",
        row: &|| format!("approval {}", id.as_deref().unwrap_or("without id")),
    };
    let state: String = rows.column(row, 8)?;
    let state =
        state_of(&state).ok_or_else(|| rows.damaged(UnknownWord::new("state", state.as_str(), STATES)))?;
    // A grant for what cannot be told is a grant for nothing.
    let digest: Option<[u8; 32]> = row
        .get_ref(4)?
        .as_blob()
        .ok()
        .and_then(|bytes| bytes.try_into().ok());
    let call: String = rows.column(row, 3)?;
    Ok(ApprovalRecord {
        id: rows.parsed(row, 0)?,
        session: rows.parsed(row, 1)?,
        turn: rows.parsed(row, 2)?,
        call: CallId::new(call),
        digest: digest.unwrap_or_default(),
        label: label(row, 5)?,
        shown: rows.column(row, 7)?,
        state: if digest.is_some() {
            state
        } else {
            ApprovalState::Expired
        },
        created_ms: rows.column(row, 9)?,
        decided_ms: rows.column(row, 10)?,
        expires_ms: rows.column(row, 11)?,
    })
}

const STATES: &str = "waiting, granted, refused, used, expired";

fn state_of(word: &str) -> Option<ApprovalState> {
    ApprovalState::ALL
        .into_iter()
        .find(|state| state.as_str() == word)
}

/// Stores a new request of the session with this number, unless there is one for the same.
pub(crate) fn ask(
    connection: &Connection,
    session: i64,
    new: &NewApproval,
    now_ms: i64,
) -> Result<(), Failure> {
    let same: bool = connection
        .prepare_cached("SELECT 1 FROM approvals WHERE session = ?1 AND call = ?2 AND digest = ?3")?
        .exists((session, new.call.as_str(), new.digest))?;
    if same {
        return Ok(());
    }
    let taken = connection
        .prepare_cached("SELECT 1 FROM approvals WHERE id = ?1")?
        .exists([new.id.to_string()])?;
    if taken {
        return Err(StoreError::ApprovalExists { approval: new.id }.into());
    }
    let valid_ms = i64::try_from(new.valid_for.as_millis()).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO approvals (id, session, turn, call, digest, classification, integrity, shown, state, \
             created_ms, expires_ms) \
             VALUES (:id, :session, :turn, :call, :digest, :classification, :integrity, :shown, 'waiting', \
             :now, :expires)",
        )?
        .execute(named_params! {
            ":id": new.id.to_string(),
            ":session": session,
            ":turn": new.turn.to_string(),
            ":call": new.call.as_str(),
            ":digest": new.digest,
            ":classification": new.label.classification.as_str(),
            ":integrity": new.label.integrity.as_str(),
            ":shown": new.shown,
            ":now": now_ms,
            ":expires": now_ms.saturating_add(valid_ms),
        })?;
    Ok(())
}

/// Whose request it is.
pub(crate) fn session_of(connection: &Connection, approval: ApprovalId) -> Result<SessionId, Failure> {
    let sql = "SELECT sessions.id FROM approvals JOIN sessions ON sessions.number = approvals.session \
               WHERE approvals.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found: Option<String> = statement
        .query_row([approval.to_string()], |row| row.get(0))
        .optional()?;
    let id = found.ok_or(StoreError::UnknownApproval { approval })?;
    id.parse()
        .map_err(|error| Failure::damaged("sessions", id.clone(), error))
}

/// Moves a request to the state `wanted`, if it may go there.
pub(crate) fn settle(
    connection: &Connection,
    id: ApprovalId,
    wanted: ApprovalState,
    now_ms: i64,
) -> Result<(), Failure> {
    let record = approval(connection, id, now_ms)?.ok_or(StoreError::UnknownApproval { approval: id })?;
    let may = match wanted {
        ApprovalState::Granted | ApprovalState::Refused => record.state == ApprovalState::Waiting,
        ApprovalState::Used => record.state == ApprovalState::Granted,
        // What counts as expired by its time is written down; what is settled stays.
        ApprovalState::Expired if matches!(record.state, ApprovalState::Refused | ApprovalState::Used) => {
            return Ok(());
        }
        ApprovalState::Expired => true,
        ApprovalState::Waiting => false,
    };
    if !may {
        return Err(StoreError::ApprovalSettled {
            approval: id,
            state: record.state,
            wanted,
        }
        .into());
    }
    // The time is that of the first answer: when a grant was given stays known after it was used.
    connection
        .prepare_cached(
            "UPDATE approvals SET state = ?2, decided_ms = coalesce(decided_ms, ?3) WHERE id = ?1",
        )?
        .execute((id.to_string(), wanted.as_str(), now_ms))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::apply::apply;
    use crate::sqlite::connection::open_memory;
    use crate::{NewSession, Write};
    use std::path::Path;
    use std::time::Duration;
    use tidegate_message::ModelPolicy;
    use tidegate_policy::{Classification, Label, Taint, TurnId, UserId};

    const ID: ApprovalId = ApprovalId::from_bits(1);

    /// A store at time 1,000 with a request that is valid for 500 ms.
    fn asked() -> Connection {
        let connection = open_memory(Path::new("memory")).unwrap();
        let session = SessionId::from_bits(1);
        let new = NewSession {
            id: session,
            name: None,
            user: UserId::new("local"),
            model_policy: ModelPolicy::Auto,
            clearance: Classification::Internal,
            taint: Taint::default(),
            workspace: "/home/owner".into(),
            system_prompt: "".into(),
            tools: Vec::new(),
        };
        let ask = NewApproval {
            id: ID,
            session,
            turn: TurnId::from_bits(1),
            call: CallId::new("call_2_0"),
            digest: [7; 32],
            label: Label::BOTTOM,
            shown: "{}".into(),
            valid_for: Duration::from_millis(500),
        };
        let writes = [
            Write::CreateSession(Box::new(new)),
            Write::AskApproval(Box::new(ask)),
        ];
        apply(&connection, &writes, 1_000).unwrap();
        connection
    }

    #[test]
    fn it_can_be_granted_and_used_until_its_time_is_up_and_not_from_then_on() {
        let (grant, used) = (
            Write::DecideApproval {
                approval: ID,
                grant: true,
            },
            Write::UseApproval { approval: ID },
        );
        for (granted_at, used_at, expected) in [
            (1_000, 1_499, "used"),
            (1_499, 1_499, "used"),
            (1_000, 1_500, "expired"),
            (1_500, 1_501, "expired"),
        ] {
            let connection = asked();
            let granted = apply(&connection, std::slice::from_ref(&grant), granted_at).is_ok();
            assert_eq!(granted, granted_at < 1_500);
            let was_used = apply(&connection, std::slice::from_ref(&used), used_at).is_ok();
            assert_eq!(was_used, expected == "used", "{granted_at} {used_at}");
            let state = |now| approval(&connection, ID, now).unwrap().unwrap().state.to_string();
            assert_eq!(state(used_at), expected, "{granted_at} {used_at}");
            assert_eq!(state(9_999), expected, "what was used does not expire");
        }
    }

    #[test]
    fn a_clock_that_goes_back_makes_nothing_valid_again() {
        let connection = asked();
        let later = Write::Events(SessionId::from_bits(1), Vec::new());
        apply(&connection, &[later], 2_000).unwrap();
        let grant = Write::DecideApproval {
            approval: ID,
            grant: true,
        };
        assert!(apply(&connection, &[grant], 1_100).is_err());
    }

    #[test]
    fn expired_requests_are_found_as_such_though_nobody_wrote_it_down() {
        let connection = asked();
        let found = |state, now| {
            let filter = ApprovalFilter {
                session: None,
                state: Some(state),
            };
            approvals(&connection, &filter, now).unwrap().len()
        };
        assert_eq!(
            (
                found(ApprovalState::Waiting, 1_499),
                found(ApprovalState::Expired, 1_499)
            ),
            (1, 0)
        );
        assert_eq!(
            (
                found(ApprovalState::Waiting, 1_500),
                found(ApprovalState::Expired, 1_500)
            ),
            (0, 1)
        );
    }
}
