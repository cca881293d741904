//! `tidegate memory search`.

use super::shown::{self, ShownMemory};
use crate::args::{Global, MemorySearchArgs};
use crate::memory;
use crate::output;
use tidegate_memory::MemorySearch;
use tidegate_policy::Classification;

pub(super) async fn run(global: &Global, args: &MemorySearchArgs) -> anyhow::Result<()> {
    let period = memory::period("memory", &args.period);
    let owner = memory::open(global).await?;
    let search = MemorySearch {
        artifact_name: args.artifact.clone(),
        limit: args.limit,
        period,
        ..MemorySearch::new(args.query.as_str())
    };
    // What is asked is the owner's word and PUBLIC; what is found is not, and goes to the owner alone.
    let scope = owner.scope(Classification::Public);
    let found = owner.memory.recall(&scope, search).await?;
    let model = &owner.memory.embedder().model().id;
    if global.json {
        let hits: Vec<ShownMemory<'_>> = found
            .hits
            .iter()
            .map(|hit| ShownMemory::of(&hit.memory, &hit.also_at).found(hit.score, hit.alike))
            .collect();
        return output::json(&serde_json::json!({
            "hits": hits,
            "label": found.label,
            "embedder": model,
            "index": owner.memory.index().0,
        }));
    }
    if found.hits.is_empty() {
        output::line("nothing found; tidegate memory index lists what there is")?;
    }
    for hit in &found.hits {
        shown::line(&hit.memory, &hit.also_at, hit.alike)?;
    }
    memory::tell_of_hashed(&owner);
    Ok(())
}
