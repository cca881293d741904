//! An embedder without a model.

use crate::embedder::normalised;
use crate::text::{hash_of, language_of, terms};
use crate::{EmbedWork, Embedder, EmbedderError, Embedding};
use std::future::ready;
use tidegate_policy::Classification;
use tidegate_store::ModelRecord;
use tidegate_tools::BoxFuture;
use unicode_segmentation::UnicodeSegmentation as _;

/// Values of its vectors.
const DIMENSION: usize = 512;

/// Texts are cut no shorter than for real models, so that the chunks fit when one is chosen later.
const MOST_TOKENS: usize = 256;

/// Two standard deviations of the cosine of texts without a feature in common, whose hashes meet by chance:
/// 2 / sqrt([`DIMENSION`]). A misspelt word shares enough of its letters to be above it.
const NOISE: f32 = 0.088;

/// Hashed word and character n-grams: no model, deterministic, instant. It knows words that look alike, and no
/// meaning: it makes everything work offline at once, until a real model is there.
#[derive(Clone, Debug)]
pub struct HashedEmbedder {
    model: ModelRecord,
}

impl Default for HashedEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl HashedEmbedder {
    /// The id of its model. It changes with what it computes.
    pub const MODEL: &'static str = "hashed-ngrams-1";

    /// The embedder. All are the same.
    pub fn new() -> Self {
        Self {
            model: ModelRecord {
                id: Self::MODEL.to_owned(),
                dimension: DIMENSION,
                prefixes: String::new(),
            },
        }
    }

    fn embed(text: &str, index: usize) -> Result<Embedding, EmbedderError> {
        if text.trim().is_empty() {
            return Err(EmbedderError::EmptyText { index });
        }
        let mut dense = vec![0.0_f32; DIMENSION];
        let add = |dense: &mut [f32], feature: &str, weight: f32| {
            let hash = hash_of(feature);
            // Half of the features count negative, so that collisions cancel out instead of adding up.
            let sign = if hash & 0x8000_0000 == 0 { 1.0 } else { -1.0 };
            let place = usize::try_from(hash & 0x7fff_ffff).unwrap_or(0) % DIMENSION;
            if let Some(value) = dense.get_mut(place) {
                *value += sign * weight;
            }
        };
        let words = terms(text, language_of(text));
        for word in &words {
            add(&mut dense, &format!("w{word}"), 1.0);
            let padded: Vec<char> = format!("^{word}$").chars().collect();
            for gram in padded.windows(3) {
                add(&mut dense, &format!("g{}", gram.iter().collect::<String>()), 0.3);
            }
        }
        for (first, second) in words.iter().zip(words.iter().skip(1)) {
            add(&mut dense, &format!("b{first} {second}"), 0.5);
        }
        if dense.iter().all(|value| *value == 0.0) {
            // Nothing but punctuation and the like; or all of it cancelled out.
            for character in text.graphemes(true) {
                add(&mut dense, character, 1.0);
            }
        }
        if dense.iter().all(|value| *value == 0.0) {
            dense.fill(1.0);
        }
        Ok(Embedding {
            dense: normalised(&dense),
            sparse: None,
        })
    }
}

impl Embedder for HashedEmbedder {
    fn model(&self) -> &ModelRecord {
        &self.model
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        MOST_TOKENS
    }

    fn count_tokens(&self, text: &str) -> usize {
        estimated_tokens(text)
    }

    fn noise(&self) -> Option<f32> {
        Some(NOISE)
    }

    fn dense_share(&self) -> f32 {
        // It sees nothing that the words do not, but for words that only look alike.
        0.05
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(async move {
            let embed = move || {
                let mut embeddings = Vec::with_capacity(texts.len());
                for (index, text) in texts.iter().enumerate() {
                    if work.cancel.is_cancelled() {
                        return Err(EmbedderError::Cancelled);
                    }
                    embeddings.push(Self::embed(text, index)?);
                    (work.progress)(index + 1);
                }
                Ok(embeddings)
            };
            crate::off_thread(embed).await.unwrap_or_else(|cause| {
                Err(EmbedderError::Failed {
                    model: Self::MODEL.to_owned(),
                    transient: false,
                    cause,
                })
            })
        })
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        // A query is short: it takes microseconds.
        Box::pin(ready(if work.cancel.is_cancelled() {
            Err(EmbedderError::Cancelled)
        } else {
            Self::embed(&text, 0)
        }))
    }
}

/// Tokens of a text, for who has no tokenizer: never fewer than the usual word pieces are, in any script.
pub fn estimated_tokens(text: &str) -> usize {
    text.split_word_bounds()
        .map(|word| {
            if word.chars().all(char::is_whitespace) {
                0
            } else if word.is_ascii() {
                word.len().div_ceil(4)
            } else {
                word.chars().count()
            }
        })
        .sum()
}
