//! What all embedders do alike, wherever they compute: refuse blank texts, go batch by batch, keep the order, check what
//! comes back, stop and tell how far they are.

use crate::EmbedError;
use std::sync::Arc;
use tidegate_memory::{BadVector, EmbedWork, EmbedderError, Embedding, check_embeddings};
use tidegate_store::ModelRecord;
use tidegate_tools::Cancel;

/// What a text is embedded for. Some models want another prefix for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is searched for.
    Query,
    /// It is stored.
    Document,
}

/// What makes the vectors of a batch.
pub(crate) trait Batches: Sync {
    /// The model.
    fn record(&self) -> &ModelRecord;

    /// The text as the model gets it.
    fn prepared(&self, purpose: Purpose, text: String) -> String;

    /// Which texts go together, by their places.
    fn divided(&self, texts: &[String]) -> Vec<Vec<usize>>;

    /// One vector for each text, in order.
    ///
    /// # Errors
    /// [`EmbedError::Cancelled`] if `cancel` said so before it was done.
    fn vectors(
        &self,
        texts: Vec<String>,
        cancel: &Arc<dyn Cancel>,
    ) -> impl Future<Output = Result<Vec<Embedding>, EmbedError>> + Send;
}

/// Embeds `texts`, all or nothing.
pub(crate) async fn embed_all(
    model: &impl Batches,
    purpose: Purpose,
    texts: Vec<String>,
    work: EmbedWork,
) -> Result<Vec<Embedding>, EmbedderError> {
    if work.cancel.is_cancelled() {
        return Err(EmbedderError::Cancelled);
    }
    if let Some(index) = texts.iter().position(|text| text.trim().is_empty()) {
        return Err(EmbedderError::EmptyText { index });
    }
    let prepared = texts.into_iter().map(|text| model.prepared(purpose, text));
    let mut texts: Vec<String> = prepared.collect();
    let mut embeddings: Vec<Option<Embedding>> = vec![None; texts.len()];
    let mut done = 0;
    for places in model.divided(&texts) {
        if work.cancel.is_cancelled() {
            return Err(EmbedderError::Cancelled);
        }
        let take = |place: &usize| texts.get_mut(*place).map(std::mem::take);
        let batch: Vec<String> = places.iter().filter_map(take).collect();
        let made = model.vectors(batch, &work.cancel).await;
        let made = made.map_err(|cause| failed(model.record(), cause))?;
        // At once: a model of another dimension is found before the next batch goes out.
        check_embeddings(model.record(), places.len(), &made).map_err(|error| in_whole(error, &places))?;
        for (place, embedding) in places.iter().zip(made) {
            if let Some(slot) = embeddings.get_mut(*place) {
                *slot = Some(embedding);
            }
        }
        done += places.len();
        (work.progress)(done);
    }
    let (texts, embeddings) = (texts.len(), embeddings.into_iter().flatten().collect::<Vec<_>>());
    if embeddings.len() == texts {
        return Ok(embeddings);
    }
    Err(too_few(model.record(), embeddings.len(), texts))
}

/// Embeds one text, as [`embed_all`] does.
pub(crate) async fn embed_one(
    model: &impl Batches,
    purpose: Purpose,
    text: String,
    work: EmbedWork,
) -> Result<Embedding, EmbedderError> {
    let embeddings = embed_all(model, purpose, vec![text], work).await?;
    embeddings
        .into_iter()
        .next()
        .ok_or_else(|| too_few(model.record(), 0, 1))
}

fn too_few(record: &ModelRecord, found: usize, expected: usize) -> EmbedderError {
    EmbedderError::BadVector {
        model: record.id.clone(),
        index: found,
        problem: BadVector::Count { found, expected },
    }
}

fn failed(record: &ModelRecord, cause: EmbedError) -> EmbedderError {
    match cause {
        EmbedError::Cancelled => EmbedderError::Cancelled,
        cause => EmbedderError::Failed {
            model: record.id.clone(),
            transient: cause.is_transient(),
            cause: Box::new(cause),
        },
    }
}

/// The error with the text's place in the call instead of the batch.
fn in_whole(error: EmbedderError, places: &[usize]) -> EmbedderError {
    match error {
        EmbedderError::BadVector {
            model,
            index,
            problem,
        } => EmbedderError::BadVector {
            model,
            index: places.get(index).copied().unwrap_or(index),
            problem,
        },
        other => other,
    }
}
