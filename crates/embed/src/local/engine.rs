//! What all local models share: turns, batches, checks, counting.

use super::batches::{BatchLimits, batches};
use crate::blocking::{off_thread, unless_it_panics};
use crate::{EmbedError, ModelFolder, OnnxRuntime};
use fastembed::{InitOptionsUserDefined, TokenizerFiles};
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_memory::{BadVector, EmbedWork, EmbedderError, Embedding, check_embeddings, estimated_tokens};
use tidegate_store::ModelRecord;
use tokenizers::Tokenizer;
use tokio::sync::Semaphore;

/// The most texts of a batch.
const TEXTS_A_BATCH: usize = 32;

/// The most tokens of a batch. Enough that the processor is busy, few enough that a search waits a second at most
/// behind one and a cancelled call ends soon.
const TOKENS_A_BATCH: usize = 4096;

/// What a model is opened with, to see whether it works and how long its vectors are.
const PROBE: &str = "tide";

/// A token is hardly ever longer. A tokenizer that takes a long unknown word for one token would let a text of any
/// length pass for a short one.
const MOST_CHARACTERS_A_TOKEN: usize = 20;

/// A loaded model.
pub(super) trait Model: Send {
    /// Vectors of the texts, in order. All go through the model at once.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Embedding>, fastembed::Error>;
}

/// A loaded model with what is around it.
pub(super) struct Engine {
    record: ModelRecord,
    model: Arc<Mutex<Box<dyn Model>>>,
    /// One batch at a time, in the order of asking: a search does not wait for the end of a long text.
    turn: Arc<Semaphore>,
    tokenizer: Tokenizer,
    limits: BatchLimits,
    /// Tokens of a text that its own words can have, beside special ones and prefixes.
    most_tokens: usize,
}

impl Engine {
    /// Puts a model that was loaded from `folder` to work.
    pub(super) fn new(
        folder: &ModelFolder,
        mut model: Box<dyn Model>,
        mut tokenizer: Tokenizer,
    ) -> Result<Self, EmbedError> {
        let record = folder.record().clone();
        let probed = unless_it_panics(|| model.embed(&[PROBE]))
            .ok_or_else(|| folder.bad_model("its outputs do not have the shapes they should", None))?
            .map_err(|cause| folder.bad_model(cause.to_string(), Some(Box::new(cause))))?;
        check_embeddings(&record, 1, &probed).map_err(|cause| {
            let problem =
                "what it makes of a word is no vector of the length its config.json says (hidden_size)";
            folder.bad_model(problem, Some(Box::new(cause)))
        })?;

        // What was cut and padded for the model is counted whole.
        tokenizer.with_padding(None);
        if let Err(cause) = tokenizer.with_truncation(None) {
            return Err(folder.bad_model("its tokenizer cannot be used", Some(cause)));
        }
        let length = |text: &str| tokenizer.encode(text, true).map_or(0, |tokens| tokens.len());
        let prefix = [&folder.prefixes.query, &folder.prefixes.document];
        let around = prefix.into_iter().map(|prefix| length(prefix)).max().unwrap_or(0);
        let Some(most_tokens) = folder.most_tokens().checked_sub(around).filter(|most| *most > 0) else {
            let problem = format!(
                "it sees {} tokens of a text, and special ones and prefixes need {around}",
                folder.most_tokens()
            );
            return Err(folder.bad_model(problem, None));
        };
        Ok(Self {
            record,
            model: Arc::new(Mutex::new(model)),
            turn: Arc::new(Semaphore::new(1)),
            tokenizer,
            limits: BatchLimits {
                texts: if folder.is_dynamic()? { 1 } else { TEXTS_A_BATCH },
                tokens: TOKENS_A_BATCH,
                most_tokens: folder.most_tokens(),
            },
            most_tokens,
        })
    }

    pub(super) fn record(&self) -> &ModelRecord {
        &self.record
    }

    pub(super) fn most_tokens(&self) -> usize {
        self.most_tokens
    }

    pub(super) fn count_tokens(&self, text: &str) -> usize {
        let least = text.chars().count().div_ceil(MOST_CHARACTERS_A_TOKEN);
        match self.tokenizer.encode(text, false) {
            Ok(tokens) => tokens.len().max(least),
            Err(_) => estimated_tokens(text),
        }
    }

    /// Embeds `texts` with `prefix` before each, all or nothing.
    pub(super) async fn embed(
        &self,
        prefix: &str,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> Result<Vec<Embedding>, EmbedderError> {
        if work.cancel.is_cancelled() {
            return Err(EmbedderError::Cancelled);
        }
        if let Some(index) = texts.iter().position(|text| text.trim().is_empty()) {
            return Err(EmbedderError::EmptyText { index });
        }
        let lengths: Vec<usize> = texts.iter().map(|text| prefix.len() + text.len()).collect();
        let texts: Arc<[String]> = texts.into_iter().map(|text| format!("{prefix}{text}")).collect();
        let mut embeddings: Vec<Option<Embedding>> = vec![None; texts.len()];
        let mut done = 0;
        for batch in batches(&lengths, self.limits) {
            let turn = tokio::select! {
                biased;
                () = work.cancel.cancelled() => return Err(EmbedderError::Cancelled),
                turn = Arc::clone(&self.turn).acquire_owned() => turn,
            };
            if work.cancel.is_cancelled() {
                return Err(EmbedderError::Cancelled);
            }
            let (model, given, places) = (Arc::clone(&self.model), Arc::clone(&texts), batch.clone());
            let id = self.record.id.clone();
            let made = off_thread(move || {
                // It ends with the batch and not with this call, which may be dropped before.
                let _turn = turn;
                let together: Vec<&str> = places
                    .iter()
                    .filter_map(|place| given.get(*place))
                    .map(String::as_str)
                    .collect();
                let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
                match unless_it_panics(|| model.embed(&together)) {
                    Some(Ok(made)) => Ok(made),
                    Some(Err(cause)) => Err(EmbedError::ModelFailed {
                        model: id,
                        problem: cause.to_string(),
                        cause: Some(Box::new(cause)),
                    }),
                    None => Err(EmbedError::ModelFailed {
                        model: id,
                        problem: "its outputs do not have the shapes they should".to_owned(),
                        cause: None,
                    }),
                }
            })
            .await
            .map_err(|cause| self.failed(cause))?;
            check_embeddings(&self.record, batch.len(), &made).map_err(|error| in_whole(error, &batch))?;
            for (place, embedding) in batch.iter().zip(made) {
                if let Some(slot) = embeddings.get_mut(*place) {
                    *slot = Some(embedding);
                }
            }
            done += batch.len();
            (work.progress)(done);
        }
        let embeddings: Vec<Embedding> = embeddings.into_iter().flatten().collect();
        check_embeddings(&self.record, texts.len(), &embeddings)?;
        Ok(embeddings)
    }

    /// Embeds one text, as [`embed`](Self::embed) does.
    pub(super) async fn embed_one(
        &self,
        prefix: &str,
        text: String,
        work: EmbedWork,
    ) -> Result<Embedding, EmbedderError> {
        let embeddings = self.embed(prefix, vec![text], work).await?;
        let count = BadVector::Count {
            found: 0,
            expected: 1,
        };
        embeddings
            .into_iter()
            .next()
            .ok_or_else(|| EmbedderError::BadVector {
                model: self.record.id.clone(),
                index: 0,
                problem: count,
            })
    }

    fn failed(&self, cause: EmbedError) -> EmbedderError {
        EmbedderError::Failed {
            model: self.record.id.clone(),
            transient: cause.is_transient(),
            cause: Box::new(cause),
        }
    }
}

/// The error with the text's place in the call instead of the batch.
fn in_whole(error: EmbedderError, batch: &[usize]) -> EmbedderError {
    match error {
        EmbedderError::BadVector {
            model,
            index,
            problem,
        } => EmbedderError::BadVector {
            model,
            index: batch.get(index).copied().unwrap_or(index),
            problem,
        },
        other => other,
    }
}

/// What fastembed wants to know about a folder's tokenizer.
pub(super) fn tokenizer_files(folder: &ModelFolder) -> Result<TokenizerFiles, EmbedError> {
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

/// How fastembed loads a folder.
pub(super) fn options(folder: &ModelFolder, runtime: &OnnxRuntime) -> InitOptionsUserDefined {
    let options = InitOptionsUserDefined::new()
        .with_environment(runtime.environment())
        .with_auto_device(fastembed::AutoDevicePolicy::PreferCPU)
        .with_max_length(folder.most_tokens());
    match folder.threads {
        Some(threads) => options.with_intra_threads(threads),
        None => options,
    }
}
