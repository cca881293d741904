//! `tidegate memory`: what is remembered over all sessions, by its owner.

mod export;
mod import;
mod listing;
mod record;
mod reembed;
mod release;
mod search;
mod shown;
mod upkeep;

use crate::args::{Global, MemoryAddArgs, MemoryCommand};
use crate::exit::Exit;
use crate::memory;
use crate::output;
use std::sync::Arc;
use tidegate_memory::{NewMemory, Outcome};
use tidegate_policy::{Label, MemoryId, escaped};
use tidegate_store::Provenance;
use tidegate_tools::{Cancel, NeverCancelled};

pub(crate) async fn run(global: &Global, command: MemoryCommand) -> anyhow::Result<Exit> {
    match command {
        MemoryCommand::Add(args) => add(global, args).await?,
        MemoryCommand::Search(args) => search::run(global, &args).await?,
        MemoryCommand::Index(args) => listing::run(global, &args).await?,
        MemoryCommand::Forget(arg) => forget(global, &arg.memory_id).await?,
        MemoryCommand::Consolidate => return upkeep::consolidate(global).await,
        MemoryCommand::Stats => upkeep::stats(global).await?,
        MemoryCommand::Export(args) => export::run(global, args).await?,
        MemoryCommand::Import(args) => import::run(global, &args).await?,
        MemoryCommand::Release(args) => return release::run(global, &args).await,
        MemoryCommand::Reembed(args) => return reembed::run(global, &args).await,
        MemoryCommand::Reindex => upkeep::reindex(global).await?,
    }
    Ok(Exit::Ok)
}

async fn add(global: &Global, args: MemoryAddArgs) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    owner.check_level(args.level)?;
    let artifact = args.artifact.or_else(|| {
        let names = &owner.memory.settings().artifact_names;
        names.first().cloned()
    });
    let new = NewMemory {
        importance: args.importance,
        memory_id: args.id,
        tags: args.tag,
        provenance: Provenance::User,
        ..NewMemory::new(artifact.unwrap_or_else(|| "notes".to_owned()), args.text)
    };
    let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
    let done = owner
        .memory
        .remember(&owner.scope(args.level), new, &never)
        .await?;
    owner.memory.flush().await?;
    let outcome = match done.outcome {
        Outcome::Created => "created",
        Outcome::Replaced => "replaced",
        Outcome::Refreshed => "refreshed",
        Outcome::Merged => "merged",
    };
    if global.json {
        return output::json(&serde_json::json!({
            "memory_id": done.memory_id,
            "outcome": outcome,
            "label": done.label,
            "embedded": done.embedded,
        }));
    }
    let name = escaped(done.memory_id.as_str()).into_owned();
    output::line(&match done.outcome {
        Outcome::Created => format!("remembered as {name} · {}", done.label),
        Outcome::Replaced => format!(
            "replaced {name} · {}; what it said before is its history",
            done.label
        ),
        Outcome::Refreshed => format!("{name} said so already and is renewed · {}", done.label),
        Outcome::Merged => format!("made one with {name} · {}", done.label),
    })?;
    if !done.embedded {
        output::aside(
            "the embedder may not see this level, so it is found by its words alone (embedder clearance)",
        );
    }
    Ok(())
}

async fn forget(global: &Global, memory_id: &MemoryId) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let scope = owner.scope(tidegate_policy::Classification::Public);
    let forgotten = owner.memory.forget(&scope, memory_id).await?;
    let name = escaped(memory_id.as_str());
    anyhow::ensure!(
        forgotten.existed(),
        "there is no memory {name}; `tidegate memory index` lists those there are"
    );
    owner.erase_from_index().await?;
    if global.json {
        return output::json(&serde_json::json!({
            "memory_id": memory_id,
            "deleted": forgotten.deleted,
            "kept": forgotten.kept,
        }));
    }
    let labels: Vec<String> = forgotten.deleted.iter().map(Label::to_string).collect();
    output::line(&format!("forgotten: {name} · {}", labels.join(" · ")))
}
