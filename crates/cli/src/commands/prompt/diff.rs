//! `tidegate prompt diff`.

use super::parts::{Members, common_prefix, first_difference, lines};
use crate::args::{Global, PromptDiffArgs};
use crate::environment;
use crate::output;
use serde::Serialize;
use similar::TextDiff;
use std::time::Duration;
use tidegate_message::{EventKind, ModelId};
use tidegate_policy::EventId;
use tidegate_runtime::{RequestPlace, SentRequest};
use tidegate_store::EventFilter;

/// How long the shortest difference is looked for; what is found then is right, and may be longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines around each change.
const CONTEXT: usize = 2;

/// What is printed with `--json`.
#[derive(Serialize)]
struct Difference<'a> {
    from: Side<'a>,
    to: Side<'a>,
    /// How many bytes both requests begin with.
    common_prefix_bytes: usize,
    /// Whether the later one repeats the earlier one and goes on where that ended.
    goes_on: bool,
    first_difference: Option<Place>,
    /// What the program told of the prefix between the two.
    breaks: Vec<Break>,
    /// Lines as `diff -u` writes them.
    diff: String,
}

#[derive(Serialize)]
struct Side<'a> {
    turn: u32,
    model: &'a ModelId,
    messages: u64,
    bytes: u64,
}

impl<'a> Side<'a> {
    fn of(request: &'a SentRequest) -> Self {
        Self {
            turn: request.turn,
            model: &request.model,
            messages: request.entries,
            bytes: request.bytes,
        }
    }
}

#[derive(Serialize)]
struct Place {
    /// `tools[3]`, `messages[12]`.
    part: String,
    /// From which of its bytes on, from 0.
    byte: usize,
}

#[derive(Serialize)]
struct Break {
    /// Its id, as `policy explain` and `events` write it.
    event: String,
    #[serde(flatten)]
    kind: EventKind,
}

pub(super) async fn run(global: &Global, args: &PromptDiffArgs) -> anyhow::Result<()> {
    let runtime = super::showing(global)?;
    let reader = environment::local();
    let request = async |turn| {
        let place = RequestPlace::first_of(turn);
        runtime.sent_request(&args.session, place, &reader).await
    };
    let (from, to) = (request(args.from).await?, request(args.to).await?);
    let filter = EventFilter {
        session: Some(from.session),
        kind: Some("prompt.prefix_break".to_owned()),
        ..EventFilter::default()
    };
    let told = runtime.store().events(filter).await?;
    // The request that breaks it is told of right before it is sent.
    let (first, last) = (from.sequence.min(to.sequence), from.sequence.max(to.sequence));
    let breaks = told
        .into_iter()
        .map(|stored| stored.event)
        .filter(|event| (first..last).contains(&event.sequence))
        .map(|event| Break {
            event: EventId {
                session: event.session,
                sequence: event.sequence,
            }
            .to_string(),
            kind: event.kind,
        })
        .collect();
    let difference = difference(&from, &to, breaks);
    if global.json {
        return output::json(&difference);
    }
    output::aside(&super::about(&from));
    output::aside(&super::about(&to));
    for request in [&from, &to] {
        super::reservations(&request.body, request.doubt);
    }
    print(&difference)
}

fn difference<'a>(from: &'a SentRequest, to: &'a SentRequest, breaks: Vec<Break>) -> Difference<'a> {
    let (one, other) = (Members::of(&from.body.text), Members::of(&to.body.text));
    let (one, other) = (one.parts(), other.parts());
    let found = first_difference(&one, &other);
    let (before, after) = (lines(&one), lines(&other));
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(&before, &after);
    let diff = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("turn {}", from.turn), &format!("turn {}", to.turn))
        .to_string();
    Difference {
        from: Side::of(from),
        to: Side::of(to),
        common_prefix_bytes: common_prefix(&from.body.text, &to.body.text),
        goes_on: found.is_none(),
        first_difference: found.map(|(part, byte)| Place { part, byte }),
        breaks,
        diff,
    }
}

fn print(difference: &Difference<'_>) -> anyhow::Result<()> {
    let Difference { from, to, .. } = difference;
    let common = difference.common_prefix_bytes;
    let (one, other) = (from.turn, to.turn);
    output::line(&match &difference.first_difference {
        None if from.messages == to.messages => {
            format!("the same in all {common} bytes that matter to a cache")
        }
        None => format!(
            "the first {common} bytes are the same: turn {other} repeats what turn {one} was sent, and goes on from there"
        ),
        Some(Place { part, byte: 0 }) => {
            format!("the first {common} bytes are the same; then {part} is another")
        }
        Some(Place { part, byte }) => {
            format!("the first {common} bytes are the same; then {part} differs, from its byte {byte} on")
        }
    })?;
    for told in &difference.breaks {
        if let EventKind::PrefixBreak { cause, tokens, .. } = told.kind {
            output::line(&format!(
                "  between them: {}, which cost about {tokens} tokens ({})",
                crate::commands::broken_by(cause),
                told.event
            ))?;
        }
    }
    if difference.diff.is_empty() {
        return Ok(());
    }
    output::line("")?;
    output::text(&difference.diff)
}
