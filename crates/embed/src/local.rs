//! Models that compute in this process.

mod batches;
mod bge_m3;
mod engine;
mod text;

pub use bge_m3::BgeM3Embedder;
pub use text::FastEmbedder;

use crate::{EmbedError, ModelFolder, ModelKind, OnnxRuntime};
use std::sync::Arc;
use tidegate_memory::Embedder;

/// Loads the model of `folder`, whichever kind it is, and embeds one word with it. Blocks: a second or two.
///
/// # Errors
/// [`EmbedError::BadModel`]: its files do not make a model, or another than its `config.json` says.
pub fn open(folder: &ModelFolder, runtime: &OnnxRuntime) -> Result<Arc<dyn Embedder>, EmbedError> {
    Ok(match folder.kind() {
        ModelKind::Text => Arc::new(FastEmbedder::open(folder, runtime)?),
        ModelKind::BgeM3 => Arc::new(BgeM3Embedder::open(folder, runtime)?),
    })
}
