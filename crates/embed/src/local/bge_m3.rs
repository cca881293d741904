//! bge-m3: 1,024 dense values and learned weights of words in one pass.

use super::model::{Loaded, Model, unless_bad};
use crate::{EmbedError, ModelFolder};
use fastembed::{Bgem3Embedding, InitOptionsUserDefined, TokenizerFiles};
use tidegate_memory::Embedding;
use tidegate_store::SparseVector;

struct BgeM3(Bgem3Embedding);

impl Model for BgeM3 {
    // The third output, one vector for each token (ColBERT), is two megabytes for a text: it goes with the batch.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Embedding>, fastembed::Error> {
        let made = self.0.embed(texts, Some(texts.len()))?;
        // As many of both, as `check_embeddings` sees when one is missing.
        let both = made.dense.into_iter().zip(made.sparse);
        Ok(both
            .map(|(dense, sparse)| Embedding {
                dense,
                sparse: Some(sparse_vector(sparse)),
            })
            .collect())
    }
}

/// fastembed gives ascending token ids, each once.
fn sparse_vector(sparse: fastembed::SparseEmbedding) -> SparseVector {
    let token = |(index, value): (usize, f32)| u32::try_from(index).ok().map(|index| (index, value));
    let (indices, values) = sparse
        .indices
        .into_iter()
        .zip(sparse.values)
        .filter_map(token)
        .unzip();
    SparseVector { indices, values }
}

pub(super) fn load(
    folder: &ModelFolder,
    files: TokenizerFiles,
    options: InitOptionsUserDefined,
) -> Result<Loaded, EmbedError> {
    let model = unless_bad(folder, || {
        Bgem3Embedding::try_new_from_path(&folder.model_file, files, options)
    })?;
    let tokenizer = model.tokenizer.clone();
    Ok((Box::new(BgeM3(model)), tokenizer))
}
