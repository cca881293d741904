//! `tidegate memory export`.

use super::record::MemoryLine;
use crate::args::{Global, MemoryExportArgs};
use crate::commands::new_file::write_new;
use crate::memory;
use crate::output;
use std::io::Write as _;

pub(super) async fn run(global: &Global, args: MemoryExportArgs) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let mut memories = owner.memory.export(&owner.user).await?;
    memories.retain(|memory| memory.label.can_flow_to(owner.clearance));
    let mut lines = Vec::with_capacity(memories.len());
    for memory in &memories {
        let earlier = match memory.version {
            1 => Vec::new(),
            _ => owner.memory.earlier(memory).await?,
        };
        lines.push(MemoryLine::new(memory, earlier));
    }
    let Some(path) = args.output else {
        for line in lines {
            output::json(&line)?;
        }
        return Ok(());
    };
    write_new(&path, |out| {
        for line in lines {
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let file = path.display().to_string();
    if global.json {
        output::json(&serde_json::json!({ "file": file, "memories": memories.len() }))
    } else {
        output::line(&format!("wrote {} memories to {file}", memories.len()))
    }
}
