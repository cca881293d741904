//! `tidegate sessions`.

use super::new_file::write_new;
use crate::activity::summary;
use crate::args::{DeleteArgs, ExportArgs, Global, HistoryArgs, SessionsCommand};
use crate::environment;
use crate::exit::Exit;
use crate::output::{self, shortened};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;
use tidegate_message::{
    AssistantPart, Author, Body, Entry, EntrySeq, ModelPolicy, ToolSpec, Usage, joined_text,
};
use tidegate_policy::{Classification, SessionId, SessionName, Taint, TurnId, UserId, escaped};
use tidegate_runtime::{Reader, Runtime};
use tidegate_store::{EventFilter, Segment, SegmentSizes, SessionState, SessionSummary, StoredEvent};

pub(crate) async fn run(global: &Global, command: SessionsCommand) -> anyhow::Result<Exit> {
    let reader = environment::reader(global)?;
    match command {
        SessionsCommand::List => list(global, &reader).await?,
        SessionsCommand::Show(arg) => {
            let summary = reader.summary(&arg.session).await?;
            let segments = reader.store().segments(summary.record.session.id).await?;
            show(global, &summary, &segments)?;
        }
        SessionsCommand::History(arg) => history(global, &reader, &arg).await?,
        SessionsCommand::Export(args) => export(global, &reader, &args).await?,
        SessionsCommand::Delete(args) => return delete(global, &reader, &args).await,
    }
    Ok(Exit::Ok)
}

/// What `list` and `show` print with `--json`.
#[derive(Serialize)]
struct ShownSession<'a> {
    id: SessionId,
    name: Option<&'a SessionName>,
    user: &'a UserId,
    state: &'static str,
    turn: Option<TurnId>,
    turns: u32,
    entries: u64,
    title: &'a str,
    model_policy: &'a ModelPolicy,
    clearance: Classification,
    taint: &'a Taint,
    workspace: String,
    usage: Usage,
    created: String,
    changed: String,
}

impl<'a> ShownSession<'a> {
    fn of(summary: &'a SessionSummary) -> Self {
        let record = &summary.record;
        let session = &record.session;
        let (state, turn) = match record.state {
            SessionState::Idle => ("idle", None),
            SessionState::InTurn(turn) => ("in_turn", Some(turn)),
            SessionState::Erased => ("erased", None),
        };
        Self {
            id: session.id,
            name: session.name.as_ref(),
            user: &session.user,
            state,
            turn,
            turns: record.turns,
            entries: summary.entries,
            title: &summary.title,
            model_policy: &session.model_policy,
            clearance: session.clearance,
            taint: &session.taint,
            workspace: session.workspace.display().to_string(),
            usage: summary.usage,
            created: super::time(record.created_ms),
            changed: super::time(record.changed_ms),
        }
    }
}

async fn list(global: &Global, reader: &Reader) -> anyhow::Result<()> {
    let list = reader.sessions().await?;
    for damaged in &list.damaged {
        output::tell(&format!("warning: {damaged}"));
    }
    if global.json {
        for summary in &list.sessions {
            output::json(&ShownSession::of(summary))?;
        }
        return Ok(());
    }
    let alive: Vec<&SessionSummary> = list
        .sessions
        .iter()
        .filter(|summary| summary.record.state != SessionState::Erased)
        .collect();
    if alive.is_empty() {
        return output::line("no sessions yet; start one: tidegate run \"…\" --session NAME");
    }
    let names: Vec<String> = alive.iter().map(|summary| name_of(summary)).collect();
    let width = names
        .iter()
        .map(String::len)
        .max()
        .unwrap_or_default()
        .max("SESSION".len());
    output::line(&format!(
        "{:<width$}  {:<12}  {:>5}  {:<19}  ABOUT",
        "SESSION", "TAINT", "TURNS", "CHANGED"
    ))?;
    for (summary, name) in alive.iter().zip(&names) {
        let record = &summary.record;
        let open = if matches!(record.state, SessionState::InTurn(_)) {
            "(in a turn) "
        } else {
            ""
        };
        output::line(&format!(
            "{name:<width$}  {:<12}  {:>5}  {:<19}  {open}{}",
            record.session.taint.label().classification,
            record.turns,
            super::local_time(record.changed_ms),
            if summary.title.is_empty() {
                "(nothing said yet)".to_owned()
            } else {
                shortened(&summary.title, 60)
            },
        ))?;
    }
    Ok(())
}

/// What a session is called on the command line.
fn name_of(summary: &SessionSummary) -> String {
    let session = &summary.record.session;
    session
        .name
        .as_ref()
        .map_or_else(|| session.id.to_string(), SessionName::to_string)
}

/// A session with its segments: what `show` prints with `--json`.
#[derive(Serialize)]
struct ShownWithSegments<'a> {
    #[serde(flatten)]
    session: ShownSession<'a>,
    /// The share of input tokens that were read from a cache, in percent.
    cache_share: Option<u64>,
    segments: Vec<ShownSegment>,
}

#[derive(Serialize)]
struct ShownSegment {
    number: u64,
    began: String,
    #[serde(flatten)]
    sizes: SegmentSizes,
}

/// Percent of the input that was read from a cache; none if there was no input.
pub(super) fn cache_share(usage: Usage) -> Option<u64> {
    usage.cache_read.saturating_mul(100).checked_div(usage.input())
}

fn show(global: &Global, summary: &SessionSummary, segments: &[Segment]) -> anyhow::Result<()> {
    if global.json {
        let segments = segments.iter().map(|segment| ShownSegment {
            number: segment.number,
            began: super::local_time(segment.at_ms),
            sizes: segment.made.sizes,
        });
        return output::json(&ShownWithSegments {
            session: ShownSession::of(summary),
            cache_share: cache_share(summary.usage),
            segments: segments.collect(),
        });
    }
    let record = &summary.record;
    let session = &record.session;
    let state = match record.state {
        SessionState::Idle => "idle".to_owned(),
        SessionState::InTurn(_) => format!(
            "in a turn: it runs now, or was interrupted (tidegate run --session {} --resume)",
            name_of(summary)
        ),
        SessionState::Erased => "deleted".to_owned(),
    };
    let name = session.name.as_ref().map_or("-", SessionName::as_str);
    let usage = summary.usage;
    for (key, value) in [
        ("session", session.id.to_string()),
        ("name", name.to_owned()),
        ("state", state),
        ("about", shortened(&summary.title, 80)),
        ("taint", session.taint.label().to_string()),
        ("clearance", session.clearance.to_string()),
        ("model policy", session.model_policy.to_string()),
        (
            "workspace",
            escaped(&session.workspace.display().to_string()).into_owned(),
        ),
        ("turns", record.turns.to_string()),
        ("entries", summary.entries.to_string()),
        (
            "tokens",
            format!(
                "{} in ({} from cache, {} written to it), {} out",
                usage.input(),
                usage.cache_read,
                usage.cache_write,
                usage.output
            ),
        ),
        ("created", super::local_time(record.created_ms)),
        ("changed", super::local_time(record.changed_ms)),
    ] {
        output::line(&format!("{key:<13} {value}"))?;
    }
    if let Some(share) = cache_share(usage) {
        output::line(&format!(
            "{:<13} {share} % of the input tokens were read from a cache",
            "cache"
        ))?;
    }
    if !segments.is_empty() {
        output::line("\nhow it was compacted:")?;
        for segment in segments {
            let sizes = segment.made.sizes;
            output::line(&format!(
                "  segment {:<3} {}  {} → {} messages, about {} → {} tokens",
                segment.number,
                super::local_time(segment.at_ms),
                sizes.messages_before,
                sizes.messages_after,
                sizes.tokens_before,
                sizes.tokens_after
            ))?;
        }
    }
    if !session.taint.lineage().is_empty() {
        output::line("\nhow it came to its taint:")?;
        for step in session.taint.lineage() {
            let origin = escaped(&step.origin.to_string()).into_owned();
            output::line(&format!(
                "  turn {:<4} {} → {}  by {origin}",
                step.turn, step.from, step.to
            ))?;
        }
    }
    Ok(())
}

async fn history(global: &Global, reader: &Reader, args: &HistoryArgs) -> anyhow::Result<()> {
    let id = reader.session(&args.session).await?.session.id;
    let store = reader.store();
    let entries = match &args.search {
        Some(text) => store.search(id, text).await?,
        None => store.entries(id).await?,
    };
    let stubs = stubs(&store.segments(id).await?);
    for entry in entries {
        // What stands for a result in a later segment says nothing new.
        if stubs.contains(&entry.seq) && matches!(entry.body, Body::Results(_)) {
            continue;
        }
        if global.json {
            output::json(&*entry)?;
        } else {
            print_entry(&entry)?;
        }
    }
    Ok(())
}

/// Entries that compaction made: summaries, and what stands for long results.
fn stubs(segments: &[Segment]) -> BTreeSet<EntrySeq> {
    let mut made = BTreeSet::new();
    for segment in segments {
        // Numbers ascend but for those.
        let entries = segment.made.entries.iter().rev();
        let mut lowest_after = None;
        for seq in entries {
            if lowest_after.is_some_and(|lowest| *seq > lowest) {
                made.insert(*seq);
            } else {
                lowest_after = Some(*seq);
            }
        }
    }
    made
}

pub(super) fn print_entry(entry: &Entry) -> anyhow::Result<()> {
    let seq = entry.seq;
    match &entry.body {
        Body::User(message) => {
            let who = match message.author {
                Author::Person => "you",
                Author::Program => "tidegate",
                Author::Summary => "summary",
            };
            output::line(&format!("── {seq} {who} · {}", entry.label))?;
            output::body(joined_text(&message.content).trim_end())?;
        }
        Body::Assistant(message) => {
            output::line(&format!("── {seq} {} · {}", message.model, entry.label))?;
            for part in &message.parts {
                match part {
                    AssistantPart::Text { text } => output::body(text.trim_end())?,
                    AssistantPart::Reasoning { .. } => {}
                    AssistantPart::Call(call) => {
                        output::line(&format!("→ {}  [{}]", summary(call), call.id))?
                    }
                }
            }
        }
        Body::Results(results) => {
            output::line(&format!("── {seq} results · {}", entry.label))?;
            for result in &results.results {
                let status = super::word(result.status);
                output::line(&format!(
                    "← {} [{}] {status}",
                    escaped(result.name.as_str()),
                    result.call
                ))?;
                let text = joined_text(&result.content);
                output::body(match text.trim_end() {
                    "" => "(empty result)",
                    text => text,
                })?;
            }
        }
    }
    output::line("")
}

/// Everything that is stored of a session.
#[derive(Serialize)]
struct Export<'a> {
    format: &'static str,
    session: ShownSession<'a>,
    system_prompt: &'a str,
    tools: &'a [ToolSpec],
    entries: Vec<Arc<Entry>>,
    events: Vec<StoredEventJson>,
}

/// An event as it is printed.
#[derive(Serialize)]
pub(crate) struct StoredEventJson {
    /// Its position over all sessions; only for who may read all of them: gaps tell how much there is between.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(flatten)]
    event: tidegate_message::Event,
}

impl StoredEventJson {
    /// As `reader` may see it.
    pub(crate) fn of(stored: StoredEvent, reader: &Reader) -> Self {
        Self {
            position: reader.sees_all().then_some(stored.position),
            event: stored.event,
        }
    }
}

async fn export(global: &Global, reader: &Reader, args: &ExportArgs) -> anyhow::Result<()> {
    let summary = reader.summary(&args.session).await?;
    let session = &summary.record.session;
    let entries = reader.store().entries(session.id).await?;
    let filter = EventFilter {
        session: Some(session.id),
        ..EventFilter::default()
    };
    let read = reader.events(filter).await?;
    let events = read
        .events
        .into_iter()
        .map(|stored| StoredEventJson::of(stored, reader))
        .collect();
    let export = Export {
        format: "tidegate-session/1",
        session: ShownSession::of(&summary),
        system_prompt: &session.system_prompt,
        tools: &session.tools,
        entries,
        events,
    };
    match &args.output {
        None => output::json(&export),
        Some(path) => {
            write_new(path, |out| {
                serde_json::to_writer(&mut *out, &export)?;
                out.write_all(b"\n")
            })?;
            if global.json {
                let file = path.display().to_string();
                output::json(&serde_json::json!({ "session": session.id, "file": file }))
            } else {
                output::line(&format!("wrote {}", path.display()))
            }
        }
    }
}

async fn delete(global: &Global, reader: &Reader, args: &DeleteArgs) -> anyhow::Result<Exit> {
    // What cannot be seen is not deleted: the question below shows what goes.
    let summary = reader.summary(&args.session).await?;
    let id = summary.record.session.id;
    if !args.yes {
        anyhow::ensure!(
            environment::is_attended(global),
            "this erases the content of session {}; pass --yes to do it",
            args.session
        );
        let title = shortened(&summary.title, 40);
        let question = format!(
            "Erase the content of session {} ({title}) for good?",
            args.session
        );
        if !environment::asked(&question)? {
            output::tell("nothing was deleted");
            return Ok(Exit::Cancelled);
        }
    }
    let data = environment::data_folder(global)?;
    Runtime::builder()
        .store(Arc::clone(reader.store()))
        .lock_folder(data.locks())
        .build()?
        .delete(id)
        .await?;
    if global.json {
        output::json(&serde_json::json!({ "deleted": id }))?;
    } else {
        output::line(&format!("deleted {id}; its events stay, without content"))?;
    }
    Ok(Exit::Ok)
}
