//! `tidegate usage`.

use crate::args::{Global, UsageArgs, UsageBy};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use serde::Serialize;
use std::collections::BTreeMap;
use tidegate_message::{Event, EventKind, ModelId, Tier, Usage};
use tidegate_policy::{SessionId, SessionName, escaped};
use tidegate_runtime::Reader;
use tidegate_store::EventFilter;

/// What was added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Sum {
    /// Calls that were answered.
    calls: u64,
    /// Their tokens.
    usage: Usage,
}

impl Sum {
    fn add(&mut self, usage: Usage) {
        self.calls = self.calls.saturating_add(1);
        self.usage += usage;
    }
}

/// A line of the result.
#[derive(Serialize)]
struct Row<'a> {
    /// The session, model, tier or day.
    key: &'a str,
    calls: u64,
    usage: Usage,
    /// All input tokens.
    input: u64,
    /// The share of input tokens that were read from a cache, in percent; none without input.
    cache_share: Option<u64>,
}

impl<'a> Row<'a> {
    fn of(key: &'a str, sum: Sum) -> Self {
        Self {
            key,
            calls: sum.calls,
            usage: sum.usage,
            input: sum.usage.input(),
            cache_share: super::sessions::cache_share(sum.usage),
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    by: &'static str,
    rows: Vec<Row<'a>>,
    total: Row<'a>,
}

pub(crate) async fn run(global: &Global, args: &UsageArgs) -> anyhow::Result<Exit> {
    let reader = environment::reader(global)?;
    let session = match &args.session {
        Some(given) => Some(reader.session(given).await?.session.id),
        None => None,
    };
    let (sums, total) = sums(&reader, args.by, session).await?;
    let rows: Vec<Row<'_>> = sums.iter().map(|(key, sum)| Row::of(key, *sum)).collect();
    let total = Row::of("total", total);
    let by = match args.by {
        UsageBy::Session => "session",
        UsageBy::Model => "model",
        UsageBy::Tier => "tier",
        UsageBy::Day => "day",
    };
    if global.json {
        output::json(&Shown { by, rows, total })?;
    } else if rows.is_empty() {
        output::line("no model has answered yet")?;
    } else {
        table(by, &rows, &total)?;
    }
    Ok(Exit::Ok)
}

fn table(by: &str, rows: &[Row<'_>], total: &Row<'_>) -> anyhow::Result<()> {
    let keys: Vec<String> = rows.iter().map(|row| escaped(row.key).into_owned()).collect();
    let widths = keys.iter().map(|key| key.chars().count());
    let width = widths.max().unwrap_or_default().max("session".len());
    output::line(&format!(
        "{:<width$}  {:>7}  {:>12}  {:>10}  {:>12}",
        by.to_uppercase(),
        "CALLS",
        "INPUT",
        "FROM CACHE",
        "OUTPUT"
    ))?;
    for (key, row) in keys
        .iter()
        .map(String::as_str)
        .zip(rows)
        .chain([("total", total)])
    {
        let share = row
            .cache_share
            .map_or_else(|| "-".to_owned(), |share| format!("{share} %"));
        output::line(&format!(
            "{key:<width$}  {:>7}  {:>12}  {share:>10}  {:>12}",
            row.calls, row.input, row.usage.output
        ))?;
    }
    Ok(())
}

/// What all answered calls cost, those that summed up among them.
async fn sums(
    reader: &Reader,
    by: UsageBy,
    session: Option<SessionId>,
) -> anyhow::Result<(BTreeMap<String, Sum>, Sum)> {
    let names = names(reader).await?;
    let (mut sums, mut total) = (BTreeMap::<String, Sum>::new(), Sum::default());
    // Where each session's last call went.
    let mut tiers: BTreeMap<SessionId, Option<Tier>> = BTreeMap::new();
    for kind in ["model", "compaction"] {
        let filter = EventFilter {
            session,
            kind: Some(kind.to_owned()),
            ..EventFilter::default()
        };
        for event in reader
            .events(filter)
            .await?
            .events
            .into_iter()
            .map(|stored| stored.event)
        {
            if let EventKind::ModelCalled { tier, .. } = event.kind {
                tiers.insert(event.session, tier);
            }
            let Some(spent) = Spent::of(&event, &tiers) else {
                continue;
            };
            let key = match by {
                UsageBy::Session => names
                    .get(&event.session)
                    .cloned()
                    .unwrap_or_else(|| event.session.to_string()),
                UsageBy::Model => spent.model.to_string(),
                UsageBy::Tier => spent.tier,
                UsageBy::Day => super::local_time(event.at_ms).chars().take(10).collect(),
            };
            sums.entry(key).or_default().add(spent.usage);
            total.add(spent.usage);
        }
    }
    Ok((sums, total))
}

/// The names of the sessions that have one.
async fn names(reader: &Reader) -> anyhow::Result<BTreeMap<SessionId, String>> {
    let sessions = reader.sessions().await?.sessions.into_iter();
    let named = sessions.filter_map(|summary| {
        let session = summary.record.session;
        Some((session.id, session.name.as_ref().map(SessionName::to_string)?))
    });
    Ok(named.collect())
}

/// What an answered call cost.
struct Spent<'a> {
    model: &'a ModelId,
    tier: String,
    usage: Usage,
}

impl<'a> Spent<'a> {
    fn of(event: &'a Event, tiers: &BTreeMap<SessionId, Option<Tier>>) -> Option<Self> {
        match &event.kind {
            EventKind::ModelReplied { model, usage, .. } => Some(Self {
                model,
                tier: match tiers.get(&event.session) {
                    Some(Some(tier)) => tier.to_string(),
                    Some(None) | None => "fixed".to_owned(),
                },
                usage: *usage,
            }),
            EventKind::CompactionFinished {
                model: Some(model),
                usage,
                ..
            }
            | EventKind::CompactionFailed {
                model: Some(model),
                usage,
                ..
            } => Some(Self {
                model,
                tier: "auxiliary".to_owned(),
                usage: *usage,
            }),
            _ => None,
        }
    }
}
