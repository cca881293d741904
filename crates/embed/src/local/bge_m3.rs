//! bge-m3.

use super::engine::{Engine, Model, options, tokenizer_files};
use crate::blocking::unless_it_panics;
use crate::{EmbedError, ModelFolder, ModelKind, OnnxRuntime};
use fastembed::Bgem3Embedding;
use std::fmt;
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding};
use tidegate_policy::Classification;
use tidegate_store::{ModelRecord, SparseVector};
use tidegate_tools::BoxFuture;

/// bge-m3, through fastembed: 1,024 dense values and learned weights of words in one pass, more than a hundred languages.
/// It computes in this process, one batch at a time, as [`FastEmbedder`](crate::FastEmbedder) does.
///
/// Its third output, one vector for each token (ColBERT), is two megabytes for a text: it is dropped after each batch.
/// The thresholds of the memories were measured with this model ([`Embedder::is_calibrated`]).
pub struct BgeM3Embedder {
    engine: Engine,
    query: String,
    document: String,
    dense_share: f32,
}

struct BgeM3(Bgem3Embedding);

impl Model for BgeM3 {
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

impl BgeM3Embedder {
    /// Loads the model and embeds one word with it. Blocks for some seconds.
    ///
    /// # Errors
    /// [`EmbedError::BadModel`]: the files do not make a model with the three outputs of bge-m3.
    pub fn open(folder: &ModelFolder, runtime: &OnnxRuntime) -> Result<Self, EmbedError> {
        if folder.kind() != ModelKind::BgeM3 {
            return Err(folder.bad_model(
                "it does not have the three outputs of bge-m3; FastEmbedder opens it",
                None,
            ));
        }
        let (files, options) = (tokenizer_files(folder)?, options(folder, runtime));
        let model =
            unless_it_panics(|| Bgem3Embedding::try_new_from_path(&folder.model_file, files, options))
                .ok_or_else(|| folder.bad_model("reading its files went wrong", None))?
                .map_err(|cause| folder.bad_model(cause.to_string(), Some(Box::new(cause))))?;
        let tokenizer = model.tokenizer.clone();
        Ok(Self {
            engine: Engine::new(folder, Box::new(BgeM3(model)), tokenizer)?,
            query: folder.prefixes.query.clone(),
            document: folder.prefixes.document.clone(),
            dense_share: folder.dense_share,
        })
    }
}

impl fmt::Debug for BgeM3Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BgeM3Embedder")
            .field("model", self.model())
            .finish_non_exhaustive()
    }
}

impl Embedder for BgeM3Embedder {
    fn model(&self) -> &ModelRecord {
        self.engine.record()
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        self.engine.most_tokens()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.engine.count_tokens(text)
    }

    fn is_calibrated(&self) -> bool {
        true
    }

    fn dense_share(&self) -> f32 {
        self.dense_share
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(self.engine.embed(&self.document, texts, work))
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(self.engine.embed_one(&self.query, text, work))
    }
}
