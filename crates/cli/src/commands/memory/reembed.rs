//! `tidegate memory reembed`.

use crate::args::{Global, ReembedArgs};
use crate::exit::Exit;
use crate::interrupts;
use crate::memory;
use crate::output;
use crate::progress::Progress;
use tidegate_memory::{MemoryError, reembed};

pub(super) async fn run(global: &Global, args: &ReembedArgs) -> anyhow::Result<Exit> {
    let opened = memory::records(global)?;
    let embedder = memory::wanted_embedder(&opened, args.embedder.as_deref()).await?;
    let model = embedder.model().clone();
    let before = opened.records.model().await?;
    if before.as_ref() == Some(&model) {
        if global.json {
            output::json(&serde_json::json!({ "embedder": model.id, "before": model.id, "embedded": 0 }))?;
        } else {
            output::line(&format!("everything is embedded with {} already", model.id))?;
        }
        return Ok(Exit::Ok);
    }
    let cancel = interrupts::cancelling()?;
    let progress = Progress::begin("embedding");
    let done = reembed(&opened.records, &embedder, &cancel, |done, of| {
        progress.set(done, of);
    })
    .await;
    drop(progress);
    let embedded = match done {
        Err(MemoryError::Cancelled) => {
            output::tell(
                "cancelled; nothing changed yet, and what was embedded is kept: the same command goes on there",
            );
            return Ok(Exit::Cancelled);
        }
        other => other?,
    };
    // The index takes the new vectors over when it is opened with them.
    let owner = memory::open_with(opened, embedder).await?;
    owner.memory.flush().await?;
    let before = before.map(|model| model.id);
    // How many there are is told only to who may see all of them.
    let embedded = owner.reader.sees_all().then_some(embedded);
    if global.json {
        output::json(&serde_json::json!({
            "embedder": model.id,
            "before": before,
            "embedded": embedded,
        }))?;
    } else {
        let was = before.map_or_else(String::new, |before| format!(", before with {before}"));
        let texts = embedded.map_or_else(|| "all texts".to_owned(), |count| format!("{count} texts"));
        output::line(&format!("embedded {texts} with {}{was}", model.id))?;
    }
    Ok(Exit::Ok)
}
