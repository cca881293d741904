//! The embedder around a loaded model: turns, batches, counting.

use super::batches::{BatchLimits, batches};
use super::model::{Model, load};
use crate::batched::{Batches, Purpose, embed_all, embed_one};
use crate::blocking::{off_thread, unless_it_panics};
use crate::{EmbedError, ModelFolder, ModelKind, OnnxRuntime, Prefixes};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding, check_embeddings, estimated_tokens};
use tidegate_policy::Classification;
use tidegate_store::ModelRecord;
use tidegate_tools::{BoxFuture, Cancel};
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

/// A model of a folder that computes in this process, through fastembed: a text model in ONNX form (all-MiniLM-L6-v2,
/// bge-small, e5 and others), or bge-m3 with its dense and learned sparse vectors in one pass.
///
/// Texts go through it in batches of at most 32 texts of nearly the same length and about 4,096 tokens; a search waits for the
/// batch that is being computed and no longer. Cancelling ends a call between two batches. Models that quantise what they
/// compute (`DynamicQuantizeLinear`) take one text at a time: their vectors would depend on the rest of the batch.
///
/// The thresholds of the memories were measured with bge-m3 ([`Embedder::is_calibrated`]).
pub struct LocalEmbedder {
    record: ModelRecord,
    kind: ModelKind,
    model: Arc<Mutex<Box<dyn Model>>>,
    /// One batch at a time, in the order of asking: a search does not wait for the end of a long text.
    turn: Arc<Semaphore>,
    tokenizer: Tokenizer,
    limits: BatchLimits,
    /// Tokens of a text that its own words can have, beside special ones and prefixes.
    most_tokens: usize,
    prefixes: Prefixes,
    dense_share: f32,
}

impl LocalEmbedder {
    /// Loads the model of `folder`, whichever kind it is, and embeds one word with it. Blocks: a second, some seconds for
    /// bge-m3.
    ///
    /// # Errors
    /// [`EmbedError::BadModel`]: its files do not make a model, or another than its `config.json` says.
    pub fn open(folder: &ModelFolder, runtime: &OnnxRuntime) -> Result<Self, EmbedError> {
        let (mut model, mut tokenizer) = load(folder, runtime)?;
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
        let length = |text: &str| tokenizer.encode_fast(text, true).map_or(0, |tokens| tokens.len());
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
            kind: folder.kind(),
            model: Arc::new(Mutex::new(model)),
            turn: Arc::new(Semaphore::new(1)),
            tokenizer,
            limits: BatchLimits {
                texts: if folder.is_dynamic()? { 1 } else { TEXTS_A_BATCH },
                tokens: TOKENS_A_BATCH,
                most_tokens: folder.most_tokens(),
            },
            most_tokens,
            prefixes: folder.prefixes.clone(),
            dense_share: folder.dense_share,
        })
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEmbedder")
            .field("model", &self.record)
            .finish_non_exhaustive()
    }
}

impl Batches for LocalEmbedder {
    fn record(&self) -> &ModelRecord {
        &self.record
    }

    fn prepared(&self, purpose: Purpose, text: String) -> String {
        let prefix = self.prefixes.before(purpose);
        if prefix.is_empty() {
            text
        } else {
            format!("{prefix}{text}")
        }
    }

    fn divided(&self, texts: &[String]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = texts.iter().map(String::len).collect();
        batches(&lengths, self.limits)
    }

    async fn vectors(
        &self,
        texts: Vec<String>,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(EmbedError::Cancelled),
            turn = Arc::clone(&self.turn).acquire_owned() => turn,
        };
        let (model, id) = (Arc::clone(&self.model), self.record.id.clone());
        off_thread(move || {
            // It ends with the batch and not with this call, which may be dropped before.
            let _turn = turn;
            let together: Vec<&str> = texts.iter().map(String::as_str).collect();
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
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &ModelRecord {
        &self.record
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        self.most_tokens
    }

    fn count_tokens(&self, text: &str) -> usize {
        let least = text.chars().count().div_ceil(MOST_CHARACTERS_A_TOKEN);
        // Where each token lies in the text is not needed.
        match self.tokenizer.encode_fast(text, false) {
            Ok(tokens) => tokens.len().max(least),
            Err(_) => estimated_tokens(text),
        }
    }

    fn is_calibrated(&self) -> bool {
        self.kind == ModelKind::BgeM3
    }

    fn dense_share(&self) -> f32 {
        self.dense_share
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(embed_all(self, Purpose::Document, texts, work))
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(embed_one(self, Purpose::Query, text, work))
    }
}
