//! The tour's third part: a memory of one session, in two others.

use crate::commands::tour::Child;
use anyhow::ensure;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tidegate_message::EventKind;
use tidegate_policy::Label;
use tidegate_runtime::{DataFolder, Runtime, config};
use tidegate_store::{EventFilter, MemoryQuery, Records as _};

/// The scripts of the three models.
const SCRIPTS: [(&str, &str); 3] = [
    ("keeper", include_str!("../../../templates/demo/keeper.toml")),
    ("insider", include_str!("../../../templates/demo/insider.toml")),
    ("visitor", include_str!("../../../templates/demo/visitor.toml")),
];

/// What the memory says; in no other text of the tour.
const FACT: &str = "The board meets on Thursdays at nine.";

/// What was shown, as facts read back from the store.
#[derive(Serialize)]
pub(super) struct ShownMemory {
    memory_id: String,
    pub(super) label: Label,
    /// Whether the session that may see it was told it.
    recalled: bool,
    /// Whether the one that may not was told nothing.
    kept: bool,
}

/// The script files, by name.
pub(super) fn files() -> impl Iterator<Item = (PathBuf, &'static str)> {
    SCRIPTS
        .into_iter()
        .map(|(name, script)| (PathBuf::from(format!("{name}.toml")), script))
}

/// Runs the three sessions.
pub(super) fn play(
    folder: &Path,
    workspace: &Path,
    shows: bool,
    say: impl Fn(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    say("\n3. A memory outlives its session, and stays where it belongs.\n")?;
    say("   In a confidential session: remember when the board meets.\n")?;
    turn(
        folder,
        workspace,
        shows,
        "keeper",
        "CONFIDENTIAL",
        "Remember that the board meets on Thursdays at nine.",
    )?;
    say("\n   In another confidential session: it is recalled.\n")?;
    turn(
        folder,
        workspace,
        shows,
        "insider",
        "CONFIDENTIAL",
        "When does the board meet?",
    )?;
    say(
        "\n   In a public session, the same question: it is not, and nothing tells that there is something.\n",
    )?;
    turn(
        folder,
        workspace,
        shows,
        "visitor",
        "PUBLIC",
        "When does the board meet?",
    )
}

/// One turn of a session that is named as its model is.
fn turn(
    folder: &Path,
    workspace: &Path,
    shows: bool,
    name: &str,
    level: &str,
    task: &str,
) -> anyhow::Result<()> {
    let policy = format!("{name}:script");
    let mut arguments: Vec<OsString> = [
        "run",
        task,
        "--session",
        name,
        "--level",
        level,
        "--model-policy",
        &policy,
    ]
    .map(OsString::from)
    .to_vec();
    arguments.extend(["--workspace".into(), workspace.as_os_str().to_owned()]);
    let mut child = Child::start(folder, arguments)?;
    child.forward_until(shows, |_| false)?;
    child.finish().map(drop)
}

/// Reads back what happened. What does not hold is an error.
pub(super) async fn look_back(data: &DataFolder) -> anyhow::Result<ShownMemory> {
    let store = Runtime::open_records(&config::Configuration::default(), data)?;
    let memories = store.memories(MemoryQuery::default()).await?;
    let [memory] = memories.as_slice() else {
        anyhow::bail!("expected one memory, not {}", memories.len());
    };
    let insider = told(&store, "insider").await?;
    let visitor = told(&store, "visitor").await?;
    ensure!(memory.fact == FACT, "unexpected memory: {}", memory.fact);
    ensure!(insider, "the memory was not recalled where it may be seen");
    ensure!(!visitor, "the memory was told where it may not be seen");
    Ok(ShownMemory {
        memory_id: memory.memory_id.to_string(),
        label: memory.label,
        recalled: insider,
        kept: !visitor,
    })
}

/// Whether a session was told the memory: an event says that something was recalled, or the text is in its messages.
async fn told(store: &tidegate_store::SqliteStore, name: &str) -> anyhow::Result<bool> {
    use tidegate_store::Store as _;
    let session = Runtime::find_in(store, name).await?.session.id;
    let filter = EventFilter {
        session: Some(session),
        ..EventFilter::default()
    };
    let is_recall =
        |kind: &EventKind| matches!(kind, EventKind::MemoryRecalled { memories, .. } if !memories.is_empty());
    let recalled = store
        .events(filter)
        .await?
        .iter()
        .any(|stored| is_recall(&stored.event.kind));
    let entries = store.entries(session).await?;
    let text = serde_json::to_string(&entries)?;
    Ok(recalled || text.contains(FACT))
}
