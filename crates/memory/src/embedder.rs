//! What makes vectors of texts.

use crate::{BadVector, EmbedderError};
use std::fmt;
use std::sync::Arc;
use tidegate_policy::Classification;
use tidegate_store::{ModelRecord, SparseVector};
use tidegate_tools::{BoxFuture, Cancel, NeverCancelled};

/// What an embedder makes of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The dense vector: finite, not all zeros, as long as the model's dimension. Its length (norm) does not matter.
    pub dense: Vec<f32>,
    /// The learned sparse vector, of a model that has one.
    pub sparse: Option<SparseVector>,
}

/// Makes vectors of texts. Whatever is embedded, goes to it: it is a sink with a clearance.
///
/// The heavy implementations are in `tidegate-embed`; [`HashedEmbedder`](crate::HashedEmbedder) needs no model.
/// `tidegate_testing::conformance::embedder` checks an implementation.
pub trait Embedder: Send + Sync {
    /// The model. Constant.
    fn model(&self) -> &ModelRecord;

    /// Up to which level it may see texts: RESTRICTED in the process, as configured for one that is remote.
    fn clearance(&self) -> Classification;

    /// The most tokens of a text that count; what is behind them is not seen.
    fn most_tokens(&self) -> usize;

    /// How many tokens `text` is, as the model counts; never fewer than it really is.
    fn count_tokens(&self, text: &str) -> usize;

    /// Whether its cosines mean the same as those of bge-m3, for which the thresholds were measured. Default: no;
    /// then scores are only compared within a search.
    fn is_calibrated(&self) -> bool {
        false
    }

    /// The share of the dense vectors in a fused score, from 0 to 1; the rest is the words'. Default: 0.5.
    fn dense_share(&self) -> f32 {
        0.5
    }

    /// Up to which cosine two texts may have nothing to do with each other, as chance has it: a memory that shares no
    /// word with a query and is no nearer to it is not told. Default: none, since models differ; then whatever is
    /// nearest is told, last.
    fn noise(&self) -> Option<f32> {
        None
    }

    /// Embeds texts that are stored. One result for each text, in order; all or nothing.
    ///
    /// # Errors
    /// [`EmbedderError`]; a blank text is one.
    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>>;

    /// Embeds a text that is searched for.
    ///
    /// # Errors
    /// [`EmbedderError`]; a blank text is one.
    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>>;
}

/// Takes part in embedding: stops it, and hears how far it is.
#[derive(Clone)]
pub struct EmbedWork {
    /// Stop when it says so.
    pub cancel: Arc<dyn Cancel>,
    /// Called with the number of texts of this call that are done. May be called from any thread.
    pub progress: Arc<dyn Fn(usize) + Send + Sync>,
}

impl Default for EmbedWork {
    fn default() -> Self {
        Self {
            cancel: Arc::new(NeverCancelled),
            progress: Arc::new(|_| {}),
        }
    }
}

impl EmbedWork {
    /// Work that `cancel` stops and nobody watches.
    pub fn until(cancel: Arc<dyn Cancel>) -> Self {
        Self {
            cancel,
            ..Self::default()
        }
    }
}

impl fmt::Debug for EmbedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbedWork").finish_non_exhaustive()
    }
}

/// Checks what an embedder gave for `texts` texts.
///
/// # Errors
/// [`EmbedderError::BadVector`] for the first that is none of the model's.
pub fn check_embeddings(
    model: &ModelRecord,
    texts: usize,
    embeddings: &[Embedding],
) -> Result<(), EmbedderError> {
    let bad = |index, problem| EmbedderError::BadVector {
        model: model.id.clone(),
        index,
        problem,
    };
    if embeddings.len() != texts {
        let problem = BadVector::Count {
            found: embeddings.len(),
            expected: texts,
        };
        return Err(bad(embeddings.len().min(texts), problem));
    }
    for (index, embedding) in embeddings.iter().enumerate() {
        if let Some(problem) = problem(model.dimension, embedding) {
            return Err(bad(index, problem));
        }
    }
    Ok(())
}

fn problem(dimension: usize, embedding: &Embedding) -> Option<BadVector> {
    let dense = &embedding.dense;
    if dense.len() != dimension {
        return Some(BadVector::Dimension {
            found: dense.len(),
            expected: dimension,
        });
    }
    let sparse = embedding.sparse.as_ref();
    let sparse_values = sparse.map(|sparse| sparse.values.as_slice()).unwrap_or_default();
    if dense.iter().chain(sparse_values).any(|value| !value.is_finite()) {
        return Some(BadVector::NotFinite);
    }
    if dense.iter().all(|value| *value == 0.0) {
        return Some(BadVector::Zero);
    }
    let is_ascending = |sparse: &SparseVector| {
        sparse.indices.len() == sparse.values.len()
            && sparse
                .indices
                .iter()
                .zip(sparse.indices.iter().skip(1))
                .all(|(a, b)| a < b)
    };
    sparse
        .is_some_and(|sparse| !is_ascending(sparse))
        .then_some(BadVector::Sparse)
}

/// `values` with length 1, so that a scalar product is a cosine. Zeros stay zeros.
pub(crate) fn normalised(values: &[f32]) -> Vec<f32> {
    let length = values
        .iter()
        .map(|value| f64::from(*value).powi(2))
        .sum::<f64>()
        .sqrt();
    if length == 0.0 || !length.is_finite() {
        return values.to_vec();
    }
    values
        .iter()
        .map(|value| {
            #[expect(clippy::cast_possible_truncation, reason = "a value of at most 1")]
            let scaled = (f64::from(*value) / length) as f32;
            scaled
        })
        .collect()
}

/// The same; without a copy if its length is 1 already, as models give it.
pub(crate) fn of_length_1(values: &Arc<[f32]>) -> Arc<[f32]> {
    if is_of_length_1(values) {
        return Arc::clone(values);
    }
    normalised(values).into()
}

/// Whether the length is 1, but for what rounding does to it.
pub(crate) fn is_of_length_1(values: &[f32]) -> bool {
    // Eight sums that do not wait for each other.
    let mut sums = [0.0_f64; 8];
    for values in values.chunks(8) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += f64::from(*value) * f64::from(*value);
        }
    }
    (sums.iter().sum::<f64>() - 1.0).abs() < 1e-6
}

/// The scalar product of two vectors of the same length.
pub(crate) fn scalar_product(left: &[f32], right: &[f32]) -> f32 {
    // Eight sums that do not wait for each other: the compiler makes vector instructions of them.
    let mut sums = [0.0_f32; 8];
    let (lefts, left_rest) = left.as_chunks::<8>();
    let (rights, right_rest) = right.as_chunks::<8>();
    for (left, right) in lefts.iter().zip(rights) {
        for ((sum, a), b) in sums.iter_mut().zip(left).zip(right) {
            *sum += a * b;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
