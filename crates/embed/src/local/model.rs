//! A loaded model, whichever kind it is.

use super::{bge_m3, text};
use crate::blocking::unless_it_panics;
use crate::{EmbedError, ModelFolder, ModelKind, OnnxRuntime};
use fastembed::{InitOptionsUserDefined, TokenizerFiles};
use tidegate_memory::Embedding;
use tokenizers::Tokenizer;

/// What computes.
pub(super) trait Model: Send {
    /// Vectors of the texts, in order. All go through the model at once.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Embedding>, fastembed::Error>;
}

/// A model with the tokenizer it was loaded with.
pub(super) type Loaded = (Box<dyn Model>, Tokenizer);

/// Loads the model of `folder`.
pub(super) fn load(folder: &ModelFolder, runtime: &OnnxRuntime) -> Result<Loaded, EmbedError> {
    let (files, options) = (tokenizer_files(folder)?, options(folder, runtime));
    match folder.kind() {
        ModelKind::Text => text::load(folder, files, options),
        ModelKind::BgeM3 => bge_m3::load(folder, files, options),
    }
}

/// What fastembed gives, with errors that name the folder. It may panic at files that it does not expect.
pub(super) fn unless_bad<T>(
    folder: &ModelFolder,
    load: impl FnOnce() -> Result<T, fastembed::Error>,
) -> Result<T, EmbedError> {
    unless_it_panics(load)
        .ok_or_else(|| folder.bad_model("reading its files went wrong", None))?
        .map_err(|cause| folder.bad_model(cause.to_string(), Some(Box::new(cause))))
}

/// What fastembed wants to know about a folder's tokenizer.
fn tokenizer_files(folder: &ModelFolder) -> Result<TokenizerFiles, EmbedError> {
    let special_tokens = "special_tokens_map.json";
    Ok(TokenizerFiles {
        tokenizer_file: folder.file("tokenizer.json")?,
        config_file: folder.file("config.json")?,
        // Newer exports have everything in tokenizer.json.
        special_tokens_map_file: if folder.path().join(special_tokens).is_file() {
            folder.file(special_tokens)?
        } else {
            b"{}".to_vec()
        },
        tokenizer_config_file: folder.file("tokenizer_config.json")?,
    })
}

/// How fastembed loads a folder: with a thread for each processor unless configured.
fn options(folder: &ModelFolder, runtime: &OnnxRuntime) -> InitOptionsUserDefined {
    let options = InitOptionsUserDefined::new()
        .with_environment(runtime.environment())
        .with_auto_device(fastembed::AutoDevicePolicy::PreferCPU)
        .with_max_length(folder.most_tokens());
    match folder.threads {
        Some(threads) => options.with_intra_threads(threads),
        None => options,
    }
}
