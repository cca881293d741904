//! Text models in ONNX form: all-MiniLM-L6-v2, bge-small, e5 and others.

use super::model::{Loaded, Model, unless_bad};
use crate::folder::weights_beside;
use crate::{EmbedError, ModelFolder, Pooling};
use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use tidegate_memory::Embedding;

struct Text(TextEmbedding);

impl Model for Text {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Embedding>, fastembed::Error> {
        let vectors = self.0.embed(texts, Some(texts.len()))?;
        let embedding = |dense| Embedding { dense, sparse: None };
        Ok(vectors.into_iter().map(embedding).collect())
    }
}

pub(super) fn load(
    folder: &ModelFolder,
    files: TokenizerFiles,
    options: InitOptionsUserDefined,
) -> Result<Loaded, EmbedError> {
    let onnx = std::fs::read(&folder.model_file).map_err(EmbedError::file("read", &folder.model_file))?;
    let mut model = UserDefinedEmbeddingModel::new(onnx, files);
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
    let model = unless_bad(folder, || {
        TextEmbedding::try_new_from_user_defined(model, options)
    })?;
    let tokenizer = model.tokenizer.clone();
    Ok((Box::new(Text(model)), tokenizer))
}
