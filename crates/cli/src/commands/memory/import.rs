//! `tidegate memory import`.

use super::record::MemoryLine;
use crate::args::{Global, MemoryImportArgs};
use crate::memory::{self, OwnerMemory};
use crate::output;
use crate::progress::Progress;
use anyhow::Context as _;
use std::io::{self, Read as _};
use std::path::Path;
use tidegate_policy::{Integrity, Label, escaped};
use tidegate_store::{MemoryRecord, MemoryVersion};

/// Memories that are written between two looks at the progress.
const BATCH: usize = 16;

pub(super) async fn run(global: &Global, args: &MemoryImportArgs) -> anyhow::Result<()> {
    let text = read(&args.file)?;
    let owner = memory::open(global).await?;
    let mut there = owner.memory.export(&owner.user).await?;
    // What may not be seen must not show in what is refused either.
    there.retain(|memory| memory.label.classification <= owner.clearance);
    let mut memories = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let memory = accepted(&owner, args, line, &there).with_context(|| {
            format!(
                "line {} of {}; nothing was imported",
                number + 1,
                args.file.display()
            )
        })?;
        memories.push(memory);
    }
    let all = memories.len();
    let progress = Progress::begin("importing");
    let (mut written, mut done) = (0, 0);
    let mut left = memories.into_iter();
    loop {
        let batch: Vec<(MemoryRecord, Vec<MemoryVersion>)> = left.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        done += batch.len();
        written += owner.memory.import(batch).await?;
        progress.set(done as u64, all as u64);
    }
    drop(progress);
    owner.memory.flush().await?;
    let known = all - written;
    if global.json {
        return output::json(&serde_json::json!({ "imported": written, "unchanged": known }));
    }
    output::line(&format!(
        "imported {written} memories; {known} were there already"
    ))
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    String::from_utf8(bytes).with_context(|| {
        format!(
            "{} is not UTF-8 text, so it is no export of memories",
            file.display()
        )
    })
}

/// The memory of a line, if it may be written as it says.
fn accepted(
    owner: &OwnerMemory,
    args: &MemoryImportArgs,
    line: &str,
    there: &[MemoryRecord],
) -> anyhow::Result<(MemoryRecord, Vec<MemoryVersion>)> {
    let (mut memory, earlier) = MemoryLine::read(line)?.into_record(&owner.user)?;
    if let Some(level) = args.level {
        memory.label = memory.label.join(Label::trusted(level));
    }
    if args.untrusted {
        memory.label.integrity = Integrity::Untrusted;
    }
    owner.check_level(memory.label.classification)?;
    let same_name = there.iter().filter(|known| known.memory_id == memory.memory_id);
    let is_there = |known: &MemoryRecord| known.label == memory.label && known.fact == memory.fact;
    if same_name.clone().any(is_there) {
        return Ok((memory, earlier));
    }
    // The same text under a label that may not flow to the one in the file: that would be a release.
    let above = same_name
        .filter(|known| known.fact.trim() == memory.fact.trim())
        .find(|known| !known.label.is_within(memory.label));
    if let Some(known) = above {
        let name = escaped(memory.memory_id.as_str());
        anyhow::bail!(
            "memory {name} is {} here and {} in the file, and an import lowers no label; release it with \
             `tidegate memory release {name} --level {}`, or raise the file's with --level {}",
            known.label,
            memory.label,
            memory.label.classification,
            known.label.classification,
        );
    }
    Ok((memory, earlier))
}
