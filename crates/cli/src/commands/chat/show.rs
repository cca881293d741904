//! What the chat shows besides the answers.

use super::command::COMMANDS;
use crate::activity::Activity;
use crate::commands::outcome;
use crate::commands::sessions::print_entry;
use crate::output;
use serde_json::json;
use tidegate_message::TurnStatus;
use tidegate_policy::{Classification, Integrity, SessionName, escaped};
use tidegate_runtime::{Compacted, Session, TurnReport};

/// What a session is called on the command line.
fn name_of(session: &Session) -> String {
    session
        .name()
        .map_or_else(|| session.id().to_string(), SessionName::to_string)
}

pub(super) fn welcome(session: &Session) {
    output::aside(&format!(
        "session {} · {} · {} · /help lists the commands",
        name_of(session),
        session.model_policy(),
        escaped(&session.workspace().display().to_string()),
    ));
}

/// The end of a turn. The level stands in the prompt, so only what is out of the ordinary is told.
pub(super) fn report(report: &TurnReport, activity: &Activity) -> anyhow::Result<()> {
    let shown = activity.finish(&report.answer);
    outcome::reservations(report);
    match report.status {
        TurnStatus::Error => output::aside("  to try again: /resume, or say what to do instead"),
        TurnStatus::Cancelled => {
            output::aside("  /resume goes on where it stopped; your next message goes another way")
        }
        TurnStatus::AwaitingApproval => {
            output::tell("  then: /resume. Your next message ends the turn without these calls.");
        }
        TurnStatus::PendingQuestion => output::tell("  your next message is the answer"),
        TurnStatus::Success | TurnStatus::Blocked => {}
    }
    shown
}

pub(super) fn help(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let commands: Vec<_> = COMMANDS
            .iter()
            .map(|(name, takes, does)| json!({ "name": name, "takes": takes, "does": does }))
            .collect();
        return output::json(&json!({ "command": "help", "commands": commands }));
    }
    for (name, takes, does) in COMMANDS {
        output::line(&format!("{:<16} {does}", format!("{name} {takes}")))?;
    }
    output::line("A backslash at the end of a line, or Alt-Enter, begins another line of the same message.")?;
    output::line("Ctrl-C cancels what runs; a space before / sends the line as a message.")
}

pub(super) fn taint(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let taint = session.taint();
    if as_json {
        return output::json(&json!({
            "command": "taint",
            "session": session.id(),
            "taint": taint,
            "clearance": session.clearance(),
        }));
    }
    let label = taint.label();
    output::line(&format!(
        "{label}; this session may read up to {}",
        session.clearance()
    ))?;
    if taint.lineage().is_empty() {
        return output::line("it has been in touch with nothing above PUBLIC");
    }
    for step in taint.lineage() {
        let origin = escaped(&step.origin.to_string()).into_owned();
        output::line(&format!(
            "  turn {:<4} {} → {}  by {origin}",
            step.turn, step.from, step.to
        ))?;
    }
    if label.classification > Classification::Public || label.integrity == Integrity::Untrusted {
        output::line("it never falls; /reset begins without it")?;
    }
    Ok(())
}

pub(super) fn tools(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let tools = session.tools();
    if as_json {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "role": tool.role,
                    "consequential": tool.consequential,
                    "approval": tool.approval,
                })
            })
            .collect();
        return output::json(&json!({ "command": "tools", "tools": tools }));
    }
    let width = tools
        .iter()
        .map(|tool| tool.name.as_str().chars().count())
        .max()
        .unwrap_or_default();
    for tool in tools {
        let effect = if tool.consequential {
            "changes something"
        } else {
            "only reads"
        };
        let asks = if tool.approval {
            "; you are asked before each call"
        } else {
            ""
        };
        output::line(&format!(
            "{:<width$}  {:<5}  {effect}{asks}",
            escaped(tool.name.as_str()),
            tool.role.as_str(),
        ))?;
    }
    Ok(())
}

pub(super) fn model(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let policy = session.model_policy();
    if as_json {
        return output::json(&json!({ "command": "model", "model_policy": policy }));
    }
    output::line(&format!("model policy: {policy}"))
}

pub(super) fn history(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let entries = session.transcript().entries();
    if as_json {
        let entries: Vec<_> = entries.iter().map(|entry| &**entry).collect();
        return output::json(&json!({ "command": "history", "entries": entries }));
    }
    if entries.is_empty() {
        return output::line("nothing was said yet");
    }
    for entry in entries {
        print_entry(entry)?;
    }
    Ok(())
}

pub(super) fn compacted(compacted: &Compacted, as_json: bool) -> anyhow::Result<()> {
    let sizes = compacted.sizes;
    if as_json {
        return output::json(&json!({
            "command": "compact",
            "sizes": sizes,
            "error": compacted.error,
        }));
    }
    match &compacted.error {
        Some(error) => output::line(&format!("it did not become shorter: {error}")),
        None => output::line(&format!(
            "{} → {} messages, about {} → {} tokens; the history keeps all of it",
            sizes.messages_before, sizes.messages_after, sizes.tokens_before, sizes.tokens_after
        )),
    }
}

pub(super) fn reset(old: &Session, new: &Session, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(&json!({
            "command": "reset",
            "from": old.id(),
            "session": new.id(),
            "name": new.name(),
        }));
    }
    match old.name() {
        Some(name) => output::line(&format!(
            "{name} is a new session now, {}; the one before is left as it is: {}",
            new.id(),
            old.id()
        )),
        None => output::line(&format!(
            "a new session {}; the one before is left as it is: {}",
            new.id(),
            old.id()
        )),
    }
}
