//! `tidegate memory consolidate`, `stats` and `reindex`.

use crate::args::Global;
use crate::exit::Exit;
use crate::interrupts;
use crate::memory;
use crate::output;
use crate::progress::Progress;
use serde::Serialize;
use std::collections::BTreeMap;
use tidegate_memory::MemoryError;
use tidegate_policy::Classification;
use tidegate_store::MemoryState;

pub(super) async fn consolidate(global: &Global) -> anyhow::Result<Exit> {
    let owner = memory::open(global).await?;
    let cancel = interrupts::cancelling()?;
    let done = match owner.memory.consolidate(&owner.user, &cancel).await {
        Err(MemoryError::Cancelled) => {
            output::tell("cancelled; what was consolidated stays so, and the next run goes on");
            return Ok(Exit::Cancelled);
        }
        other => other?,
    };
    let expired = owner.memory.expire().await?;
    owner.memory.flush().await?;
    if !owner.reader.sees_all() {
        // It went over all memories: the numbers would tell of those above the reader.
        if global.json {
            output::json(&serde_json::json!({}))?;
        } else {
            output::line(
                "small memories are made one where they belong together; those whose time was over are deleted",
            )?;
        }
        return Ok(Exit::Ok);
    }
    if global.json {
        output::json(&serde_json::json!({
            "made": done.made,
            "parts": done.parts,
            "expired": expired,
        }))?;
    } else {
        output::line(&format!(
            "made {} of {} small memories; deleted {expired} whose time was over",
            done.made, done.parts
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) async fn reindex(global: &Global) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let progress = Progress::begin("filling the index from the records");
    owner.memory.reindex().await?;
    owner.memory.flush().await?;
    drop(progress);
    let (index, in_step) = owner.memory.index();
    anyhow::ensure!(
        in_step,
        "the index {index} is away, so it was not filled; `tidegate doctor` says what to do"
    );
    if global.json {
        return output::json(&serde_json::json!({ "index": index }));
    }
    output::line(&format!("the index {index} has everything again"))
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Statistics<'a> {
    memories: usize,
    by_label: BTreeMap<String, usize>,
    by_artifact: BTreeMap<&'a str, usize>,
    /// Kept as history: what a newer one says otherwise, and parts of consolidated ones.
    inactive: usize,
    sources: usize,
    chunks: u64,
    embedder: &'a str,
    dimension: usize,
    index: &'a str,
    index_in_step: bool,
}

pub(super) async fn stats(global: &Global) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let mut memories = owner.memory.export(&owner.user).await?;
    memories.retain(|memory| memory.label.can_flow_to(owner.clearance));
    let scope = owner.scope(Classification::Public);
    let sources = owner.memory.session_sources(&scope, true).await?.sources;
    let mut by_label = BTreeMap::new();
    let mut by_artifact = BTreeMap::new();
    let active = memories
        .iter()
        .filter(|memory| memory.state == MemoryState::Active);
    for memory in active.clone() {
        *by_label.entry(memory.label.to_string()).or_default() += 1;
        *by_artifact.entry(memory.artifact_name.as_str()).or_default() += 1;
    }
    let model = owner.memory.embedder().model();
    let (index, index_in_step) = owner.memory.index();
    let active = active.count();
    let statistics = Statistics {
        memories: active,
        by_label,
        by_artifact,
        inactive: memories.len() - active,
        sources: sources.len(),
        chunks: sources.iter().map(|source| u64::from(source.chunks)).sum(),
        embedder: &model.id,
        dimension: model.dimension,
        index,
        index_in_step,
    };
    if global.json {
        return output::json(&statistics);
    }
    output::line(&format!(
        "memories   {} ({} more kept as history)",
        statistics.memories, statistics.inactive
    ))?;
    for (label, count) in &statistics.by_label {
        output::line(&format!("             {count} {label}"))?;
    }
    for (artifact, count) in &statistics.by_artifact {
        output::line(&format!(
            "             {count} in {}",
            tidegate_policy::escaped(artifact)
        ))?;
    }
    output::line(&format!(
        "sessions   {} chunks of {} sources",
        statistics.chunks, statistics.sources
    ))?;
    output::line(&format!(
        "embedder   {} ({} values)",
        statistics.embedder, statistics.dimension
    ))?;
    output::line(&format!(
        "index      {}{}",
        statistics.index,
        if index_in_step {
            ""
        } else {
            " (away or behind: searched exactly meanwhile)"
        }
    ))
}
