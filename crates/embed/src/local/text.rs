//! A text model in a folder.

use super::engine::{Engine, Model, options, tokenizer_files};
use crate::blocking::unless_it_panics;
use crate::folder::weights_beside;
use crate::{EmbedError, ModelFolder, ModelKind, OnnxRuntime, Pooling};
use fastembed::{TextEmbedding, UserDefinedEmbeddingModel};
use std::fmt;
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding};
use tidegate_policy::Classification;
use tidegate_store::ModelRecord;
use tidegate_tools::BoxFuture;

/// A text model in ONNX form, through fastembed: all-MiniLM-L6-v2, bge-small, e5 and others. It computes in this
/// process, one batch at a time, on threads of its own.
///
/// Texts go through it sorted by length, in batches of at most 32 texts and about 4,096 tokens; a search waits for the
/// batch that is being computed and no longer. Cancelling ends a call between two batches. Models that quantise what they
/// compute (`DynamicQuantizeLinear`) take one text at a time: their vectors would depend on the rest of the batch.
pub struct FastEmbedder {
    engine: Engine,
    query: String,
    document: String,
    dense_share: f32,
}

struct Text(TextEmbedding);

impl Model for Text {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Embedding>, fastembed::Error> {
        let vectors = self.0.embed(texts, Some(texts.len()))?;
        let embedding = |dense| Embedding { dense, sparse: None };
        Ok(vectors.into_iter().map(embedding).collect())
    }
}

impl FastEmbedder {
    /// Loads the model and embeds one word with it. Blocks for about a second.
    ///
    /// # Errors
    /// [`EmbedError::BadModel`]: the files do not make a model, or another than `config.json` says.
    pub fn open(folder: &ModelFolder, runtime: &OnnxRuntime) -> Result<Self, EmbedError> {
        if folder.kind() != ModelKind::Text {
            return Err(folder.bad_model("it is bge-m3, which BgeM3Embedder opens", None));
        }
        let onnx = std::fs::read(&folder.model_file).map_err(EmbedError::file("read", &folder.model_file))?;
        let mut model = UserDefinedEmbeddingModel::new(onnx, tokenizer_files(folder)?);
        for path in weights_beside(&folder.model_file)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let weights = std::fs::read(&path).map_err(EmbedError::file("read", &path))?;
            model = model.with_external_initializer(name.unwrap_or_default(), weights);
        }
        model = match folder.pooling {
            Some(Pooling::Mean) => model.with_pooling(fastembed::Pooling::Mean),
            Some(Pooling::Cls) => model.with_pooling(fastembed::Pooling::Cls),
            None => model,
        };
        let options = options(folder, runtime);
        let model = unless_it_panics(|| TextEmbedding::try_new_from_user_defined(model, options))
            .ok_or_else(|| folder.bad_model("reading its files went wrong", None))?
            .map_err(|cause| folder.bad_model(cause.to_string(), Some(Box::new(cause))))?;
        let tokenizer = model.tokenizer.clone();
        Ok(Self {
            engine: Engine::new(folder, Box::new(Text(model)), tokenizer)?,
            query: folder.prefixes.query.clone(),
            document: folder.prefixes.document.clone(),
            dense_share: folder.dense_share,
        })
    }
}

impl fmt::Debug for FastEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastEmbedder")
            .field("model", self.model())
            .finish_non_exhaustive()
    }
}

impl Embedder for FastEmbedder {
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
