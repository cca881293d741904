//! `tidegate approvals`.

use super::outcome;
use crate::ancestry;
use crate::approver::{shown, sinks_in_short};
use crate::args::{ApprovalsCommand, Global};
use crate::environment;
use crate::exit::Exit;
use crate::output::{self, shortened};
use jiff::Timestamp;
use serde::Serialize;
use tidegate_policy::{ApprovalId, Label, SessionId, SessionName, TurnId, escaped};
use tidegate_runtime::{ApprovalRequest, PendingQuestion, Reader, decide_approval};
use tidegate_store::{ApprovalFilter, ApprovalRecord, ApprovalState, Store};

pub(crate) async fn run(global: &Global, command: ApprovalsCommand) -> anyhow::Result<Exit> {
    let reader = environment::reader(global)?;
    match command {
        ApprovalsCommand::List => list(global, &reader).await?,
        ApprovalsCommand::Grant(arg) => decide(global, &reader, arg.id, true).await?,
        ApprovalsCommand::Refuse(arg) => decide(global, &reader, arg.id, false).await?,
    }
    Ok(Exit::Ok)
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct ShownApproval<'a> {
    id: ApprovalId,
    state: &'static str,
    session: SessionId,
    name: Option<&'a SessionName>,
    turn: TurnId,
    label: Label,
    created: String,
    expires: String,
    /// Everything the owner has to see of a call; none if this version cannot read it.
    request: Option<ApprovalRequest>,
    /// What the model asks, if it is no call but a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<PendingQuestion>,
}

impl<'a> ShownApproval<'a> {
    fn of(record: &ApprovalRecord, name: Option<&'a SessionName>) -> Self {
        Self {
            id: record.id,
            state: record.state.as_str(),
            session: record.session,
            name,
            turn: record.turn,
            label: record.label,
            created: super::time(record.created_ms),
            expires: super::time(record.expires_ms),
            request: ApprovalRequest::read(record).ok(),
            question: PendingQuestion::read(record),
        }
    }
}

async fn list(global: &Global, reader: &Reader) -> anyhow::Result<()> {
    let filter = ApprovalFilter {
        session: None,
        state: Some(ApprovalState::Waiting),
    };
    let waiting = reader.approvals(filter).await?;
    if waiting.is_empty() && !global.json {
        return output::line("nothing waits for approval");
    }
    let now = Timestamp::now().as_millisecond();
    for (place, record) in waiting.iter().enumerate() {
        let name = name_of(&**reader.store(), record.session).await?;
        if global.json {
            output::json(&ShownApproval::of(record, name.as_ref()))?;
            continue;
        }
        if place > 0 {
            output::line("")?;
        }
        let session = name.map_or_else(|| record.session.to_string(), |name| name.to_string());
        output::line(&format!("{}  session {session}", record.id))?;
        output::line(&format!(
            "  asked {} ago; expires in {}",
            span(now.saturating_sub(record.created_ms)),
            span(record.expires_ms.saturating_sub(now)),
        ))?;
        if let Some(question) = PendingQuestion::read(record) {
            for line in outcome::asked(&question) {
                output::line(&format!("  {line}"))?;
            }
            let id = record.id;
            output::line(&format!(
                "  to answer: tidegate run --session {session} --resume --question {id} --answer TEXT"
            ))?;
            continue;
        }
        match ApprovalRequest::read(record) {
            Ok(request) => {
                for line in shown(&request) {
                    output::line(&format!("  {line}"))?;
                }
            }
            Err(_) => {
                output::line("  what it wants cannot be shown by this version; it can only be refused")?
            }
        }
    }
    let is_call = |record: &ApprovalRecord| PendingQuestion::read(record).is_none();
    if !global.json && waiting.iter().any(is_call) {
        output::line("\nto decide: tidegate approvals grant ID, or tidegate approvals refuse ID")?;
    }
    Ok(())
}

/// Grants a call in the owner's name, unless it is a tool that asks for it.
pub(super) async fn grant(reader: &Reader, id: ApprovalId) -> anyhow::Result<ApprovalRecord> {
    anyhow::ensure!(
        !ancestry::is_started_by_a_tool(),
        "a command that was started by a tool may not grant anything; run this yourself"
    );
    reader.check_approval(id).await?;
    let store = &**reader.store();
    if let Some(record) = store.approval(id).await? {
        // What cannot be seen is not agreed to.
        anyhow::ensure!(
            record.state != ApprovalState::Waiting
                || ApprovalRequest::read(&record).is_ok()
                || PendingQuestion::read(&record).is_some(),
            "what {id} wants cannot be shown by this version, so it cannot be granted; refuse it, or use the version that asked"
        );
    }
    Ok(decide_approval(store, id, true).await?)
}

async fn decide(global: &Global, reader: &Reader, id: ApprovalId, grants: bool) -> anyhow::Result<()> {
    let store = &**reader.store();
    let record = if grants {
        grant(reader, id).await?
    } else {
        reader.check_approval(id).await?;
        decide_approval(store, id, false).await?
    };
    let name = name_of(store, record.session).await?;
    if global.json {
        return output::json(&ShownApproval::of(&record, name.as_ref()));
    }
    let unreadable = match PendingQuestion::read(&record) {
        Some(_) => "the question",
        None => "the call",
    };
    let what = ApprovalRequest::read(&record).map_or_else(
        |_| unreadable.to_owned(),
        |request| {
            let sinks = sinks_in_short(&request);
            let to = if sinks.is_empty() {
                String::new()
            } else {
                format!(" to {}", shortened(&sinks, 120))
            };
            format!("{}{to}", escaped(request.tool.as_str()))
        },
    );
    let session = name.map_or_else(|| record.session.to_string(), |name| name.to_string());
    let done = if grants { "granted, once" } else { "refused" };
    output::line(&format!("{done}: {what}"))?;
    output::line(&format!("  to go on: tidegate run --session {session} --resume"))
}

async fn name_of(store: &dyn Store, session: SessionId) -> anyhow::Result<Option<SessionName>> {
    let record = store.session(session).await?;
    Ok(record.and_then(|record| record.session.name))
}

/// A span of time in its largest unit, rounded down.
fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        for (milliseconds, expected) in [
            (-5, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (3_600_000, "1 h"),
            (172_800_000, "2 days"),
        ] {
            assert_eq!(span(milliseconds), expected);
        }
    }
}
