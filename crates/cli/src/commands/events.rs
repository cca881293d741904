//! `tidegate events`.

use super::sessions::StoredEventJson;
use crate::args::{EventsArgs, Global};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use std::time::Duration;
use tidegate_message::{Event, EventKind};
use tidegate_policy::escaped;
use tidegate_runtime::Runtime;
use tidegate_store::{EventFilter, StoredEvent};

/// How often `--follow` looks for what other processes recorded.
const INTERVAL: Duration = Duration::from_millis(200);

/// Events read at once, so that a long history does not fill the memory.
const PAGE: usize = 1_000;

pub(crate) async fn run(global: &Global, args: &EventsArgs) -> anyhow::Result<Exit> {
    let store = environment::store(global)?;
    let session = match &args.session {
        Some(given) => Some(Runtime::find_in(&*store, given).await?.session.id),
        None => None,
    };
    let mut after = 0;
    loop {
        let filter = EventFilter {
            session,
            kind: args.kind.clone(),
            after,
            limit: Some(PAGE),
        };
        let page = store.events(filter).await?;
        let full = page.len() == PAGE;
        for stored in page {
            after = stored.position;
            show(global, stored)?;
        }
        if full {
            continue;
        }
        if !args.follow {
            return Ok(Exit::Ok);
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Cancelled),
        }
    }
}

fn show(global: &Global, stored: StoredEvent) -> anyhow::Result<()> {
    if global.json {
        return output::json(&StoredEventJson::from(stored));
    }
    let event = &stored.event;
    let line = format!(
        "{}  {}:{:<4} {:<16} {}",
        super::local_time(event.at_ms),
        event.session,
        event.sequence,
        event.kind.name(),
        about(event)
    );
    output::line(line.trim_end())
}

/// The event in a few words.
fn about(event: &Event) -> String {
    match &event.kind {
        EventKind::SessionCreated { name, clearance } => {
            let name = name.as_ref().map_or("-", |name| name.as_str());
            format!("{name}, clearance {clearance}")
        }
        EventKind::TurnStarted => String::new(),
        EventKind::TurnResumed { unknown_calls } => {
            format!("{} calls with unknown outcome", unknown_calls.len())
        }
        EventKind::ModelCalled {
            model,
            round,
            entries,
            ..
        } => {
            format!("{model}, round {round}, {entries} entries")
        }
        EventKind::ModelReplied {
            model,
            usage,
            calls,
            duration_ms,
            ..
        } => format!(
            "{model}, {calls} calls, {} tokens in ({} cached), {} out, {duration_ms} ms",
            usage.input(),
            usage.cache_read,
            usage.output
        ),
        EventKind::ModelFailed {
            model,
            class,
            message,
        } => format!("{model}, {class}: {}", escaped(message)),
        EventKind::ModelSkipped { model, evaluation } => {
            format!(
                "{model}: {}",
                escaped(evaluation.explanation.as_deref().unwrap_or_default())
            )
        }
        EventKind::FlowJudged { tool, evaluation, .. } => {
            let what = tool
                .as_ref()
                .map_or_else(|| format!("{:?}", evaluation.flow), ToString::to_string);
            let rule = evaluation
                .rule
                .as_ref()
                .map(|rule| format!(" by {rule}"))
                .unwrap_or_default();
            let decision = if evaluation.is_allowed() { "ALLOW" } else { "BLOCK" };
            format!("{decision}{rule} {}", escaped(&what))
        }
        EventKind::ToolStarted { call, tool } => format!("{} {call}", escaped(tool.as_str())),
        EventKind::ToolFinished {
            call,
            tool,
            status,
            duration_ms,
            ..
        } => {
            format!("{} {call} {status:?} {duration_ms} ms", escaped(tool.as_str()))
        }
        EventKind::TaintRaised { from, to, origin } => {
            format!("{from} → {to} by {}", escaped(&origin.to_string()))
        }
        EventKind::TierSwitched { from, to, .. } => format!("{from} → {to}"),
        EventKind::TurnLimited { limit, allowed } => format!("{limit:?}: {allowed}"),
        EventKind::TurnFinished {
            status, usage, error, ..
        } => {
            let error = error
                .as_ref()
                .map(|error| format!(": {}", escaped(error)))
                .unwrap_or_default();
            format!(
                "{status:?}, {} tokens in, {} out{error}",
                usage.input(),
                usage.output
            )
        }
    }
}
