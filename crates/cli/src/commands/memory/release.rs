//! `tidegate memory release`.

use super::shown;
use crate::ancestry;
use crate::args::{Global, MemoryReleaseArgs};
use crate::environment;
use crate::exit::Exit;
use crate::memory::{self, OwnerMemory};
use crate::output;
use tidegate_policy::{Integrity, Label, escaped};
use tidegate_runtime::record_memory_release;
use tidegate_store::{MemoryRecord, MemoryState};

/// Shows the exact bytes and where they could be read, and asks. Only a person at a terminal can release anything.
pub(super) async fn run(global: &Global, args: &MemoryReleaseArgs) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        !ancestry::is_started_by_a_tool(),
        "a command that was started by a tool may not release anything; run this yourself"
    );
    let owner = memory::open(global).await?;
    let memory = releasable(&owner, args).await?;
    anyhow::ensure!(
        environment::is_attended(global),
        "only a person at a terminal can release a memory, with its bytes before them; run this at one"
    );
    let from = memory.label;
    let to = Label::trusted(args.level);
    for line in [
        format!("memory   {}", escaped(memory.memory_id.as_str())),
        format!("group    {}", escaped(&memory.artifact_name)),
        format!("origin   {}", shown::origin(&memory)),
        format!("is       {from}"),
        format!(
            "will be  {to}: read by every session, model and tool of {} and above",
            args.level
        ),
    ] {
        output::tell(&line);
    }
    if !memory.tags.is_empty() {
        let tags: Vec<String> = memory.tags.iter().map(|tag| escaped(tag).into_owned()).collect();
        output::tell(&format!("tags     {}", tags.join(", ")));
    }
    output::tell("in full:");
    for line in memory.fact.split('\n') {
        output::tell(&format!("  │ {}", escaped(line)));
    }
    if !environment::asked("Release exactly this? It will be readable below its level.")? {
        output::tell("nothing was released");
        return Ok(Exit::Cancelled);
    }
    // Recorded first: there is no release that nobody can find. What is written is what was shown, whatever became of
    // the memory meanwhile.
    let event = record_memory_release(&*owner.store, &memory, to).await?;
    let mut released = memory.clone();
    released.label = to;
    released.supersedes.clear();
    owner.memory.import(vec![(released, Vec::new())]).await?;
    owner.memory.flush().await?;
    output::line(&format!(
        "released: {} is now {to} as well; the {from} one stays",
        escaped(memory.memory_id.as_str())
    ))?;
    output::line(&format!("  recorded as {event}"))?;
    Ok(Exit::Ok)
}

/// The memory that is meant, if it may be released.
async fn releasable(owner: &OwnerMemory, args: &MemoryReleaseArgs) -> anyhow::Result<MemoryRecord> {
    let name = escaped(args.memory_id.as_str());
    let mut found = owner.memory.export(&owner.user).await?;
    found.retain(|memory| {
        memory.memory_id == args.memory_id
            && memory.state == MemoryState::Active
            && memory.label.can_flow_to(owner.clearance)
            && args.from.is_none_or(|from| memory.label.classification == from)
    });
    anyhow::ensure!(
        !found.is_empty(),
        "there is no memory {name}{}; tidegate memory index lists them",
        args.from.map_or_else(String::new, |from| format!(" of {from}"))
    );
    let is_above = |memory: &MemoryRecord| !memory.label.can_flow_to(args.level);
    let mut above: Vec<MemoryRecord> = found.into_iter().filter(is_above).collect();
    above.sort_by_key(|memory| {
        let trusted = memory.label.integrity == Integrity::Trusted;
        (trusted, memory.label.classification)
    });
    let Some(memory) = above.pop() else {
        anyhow::bail!(
            "memory {name} can be read at {} already; there is nothing to release",
            args.level
        );
    };
    anyhow::ensure!(
        memory.label.integrity == Integrity::Trusted,
        "memory {name} is {}: others had a say in what it says, so it is not released; write it anew in your own words \
         with `tidegate memory add … --level {}`",
        memory.label,
        args.level
    );
    Ok(memory)
}
