//! Another model for the records.

use crate::embedder::check_embeddings;
use crate::index::{chunk_text, memory_text};
use crate::{EmbedWork, Embedder, MemoryError};
use std::sync::Arc;
use tidegate_store::{Collection, Item, PointId, RecordWrite, Records, UnstagedQuery, Vectors};
use tidegate_tools::Cancel;

/// Items that are embedded and staged at once.
const BATCH: usize = 64;

/// Embeds all items anew with `embedder`, and then makes its model that of the records. `progress` hears how many items
/// of how many are done.
///
/// Until the end the records keep their model and vectors, and what was done is kept beside them: killed or cancelled, it
/// goes on where it was. The switch is one commit. No memory may be open on the records meanwhile but one with the old
/// model, and that one has to be opened again afterwards.
///
/// # Errors
/// [`MemoryError::Cancelled`]; those of embedder and records.
pub async fn reembed(
    records: &Arc<dyn Records>,
    embedder: &Arc<dyn Embedder>,
    cancel: &Arc<dyn Cancel>,
    progress: impl Fn(u64, u64) + Send + Sync,
) -> Result<u64, MemoryError> {
    let model = embedder.model();
    let statistics = records.statistics().await?;
    let all = statistics.memories.saturating_add(statistics.chunks);
    let mut done = 0;
    for collection in Collection::ALL {
        let mut after: Option<PointId> = None;
        loop {
            if cancel.is_cancelled() {
                return Err(MemoryError::Cancelled);
            }
            let query = UnstagedQuery {
                collection,
                model: model.id.clone(),
                after,
                limit: BATCH,
            };
            let items = records.unstaged(query).await?;
            let Some(last) = items.last().map(Item::id) else {
                break;
            };
            after = Some(last);
            let count = items.len() as u64;
            stage(records, embedder, cancel, items).await?;
            done += count;
            progress(done.min(all), all);
        }
    }
    records.write(vec![RecordWrite::SetModel(model.clone())]).await?;
    progress(all, all);
    Ok(done)
}

async fn stage(
    records: &Arc<dyn Records>,
    embedder: &Arc<dyn Embedder>,
    cancel: &Arc<dyn Cancel>,
    items: Vec<Item>,
) -> Result<(), MemoryError> {
    // What the embedder may not see has no vector with it: its words still find it.
    let seen = items
        .iter()
        .filter(|item| crate::memory::may_flow(item.label(), &embedder.model().id, embedder.clearance()));
    let seen: Vec<(&Item, String)> = seen.map(|item| (item, text_of(item))).collect();
    if seen.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = seen.iter().map(|(_, text)| text.clone()).collect();
    let embeddings = embedder
        .embed_documents(texts, EmbedWork::until(Arc::clone(cancel)))
        .await?;
    check_embeddings(embedder.model(), seen.len(), &embeddings)?;
    let model: Arc<str> = embedder.model().id.as_str().into();
    let writes = seen
        .iter()
        .zip(embeddings)
        .map(|((item, _), embedding)| RecordWrite::StageVectors {
            collection: item.collection(),
            id: item.id(),
            sequence: item.sequence(),
            vectors: Vectors {
                model: Arc::clone(&model),
                dense: embedding.dense.into(),
                sparse: embedding.sparse.map(Arc::new),
            },
        })
        .collect();
    records.write(writes).await?;
    Ok(())
}

fn text_of(item: &Item) -> String {
    match item {
        Item::Memory(memory) => memory_text(&memory.fact, &memory.tags),
        Item::Chunk(chunk) => chunk_text(&chunk.context, &chunk.text),
    }
}
