//! The contract of [`Embedder`].

use super::in_time;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding, check_embeddings};
use tidegate_tools::{BoxFuture, Cancel};

/// A token that says stop from the beginning.
struct Stopped;

impl Cancel for Stopped {
    fn is_cancelled(&self) -> bool {
        true
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Texts that embedders have stumbled over.
const TEXTS: [&str; 8] = [
    "The ferry to the island leaves at seven.",
    "Das Boot fährt um sieben Uhr zur Insel.",
    "渡船七点开往岛上。",
    "a",
    "!!! ... ???",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "0",
    "line one\nline two\r\n\tline three",
];

/// Checks an embedder against the contract of [`Embedder`]:
///
/// - its model is constant, has an id and a dimension;
/// - texts of all kinds, also longer than it sees, give one vector each: of the model's dimension, finite, not all zeros;
/// - the same text gives the same vector, whatever else is in the batch;
/// - no text gives no vector; a blank text is an error, and nothing of its batch is given;
/// - progress ends at the number of texts; a cancelled call ends, and says so;
/// - counted tokens are no fewer for more text.
///
/// # Panics
/// If it breaks a rule.
pub async fn embedder(embedder: &dyn Embedder) {
    let model = embedder.model().clone();
    assert!(!model.id.is_empty(), "a model has an id");
    assert!(model.dimension > 0, "a model has a dimension");
    assert_eq!(embedder.model(), &model, "the model is constant");
    assert!(embedder.most_tokens() > 0, "some tokens of a text count");
    let share = embedder.dense_share();
    assert!(
        (0.0..=1.0).contains(&share),
        "the share of the dense vectors is {share}"
    );

    let together = documents(embedder, &TEXTS).await;
    for (text, from_batch) in TEXTS.iter().zip(&together) {
        let alone = documents(embedder, &[text]).await;
        let alone = alone.first();
        assert!(
            alone.is_some_and(|alone| is_same(alone, from_batch)),
            "{text:?} has another vector alone than in a batch"
        );
        query(embedder, text).await;
    }
    let long = "the tide turns and the gate closes ".repeat(2_000);
    documents(embedder, &[&long]).await;
    assert!(
        documents(embedder, &[]).await.is_empty(),
        "no text gives no vector"
    );
    assert!(
        embedder.count_tokens(&long) > embedder.count_tokens("the tide turns"),
        "more text is more tokens"
    );
    assert_eq!(
        embedder.count_tokens(""),
        embedder.count_tokens(""),
        "counting is constant"
    );

    blank_texts_are_refused(embedder).await;
    progress_and_cancelling(embedder).await;
}

/// Whether two vectors are the same but for what batching does to the last bits.
fn is_same(left: &Embedding, right: &Embedding) -> bool {
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    let lengths = (product(&left.dense, &left.dense) * product(&right.dense, &right.dense)).sqrt();
    product(&left.dense, &right.dense) / lengths > 0.99
}

async fn documents(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Embedding> {
    let given: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let embedded = in_time(
        "documents are embedded",
        embedder.embed_documents(given, EmbedWork::default()),
    )
    .await;
    let embeddings = embedded.unwrap_or_else(|error| panic!("{texts:?} cannot be embedded: {error}"));
    if let Err(error) = check_embeddings(embedder.model(), texts.len(), &embeddings) {
        panic!("{texts:?}: {error}");
    }
    embeddings
}

async fn query(embedder: &dyn Embedder, text: &str) {
    let embedded = in_time(
        "a query is embedded",
        embedder.embed_query(text.to_owned(), EmbedWork::default()),
    )
    .await;
    let embedding = embedded.unwrap_or_else(|error| panic!("the query {text:?} cannot be embedded: {error}"));
    if let Err(error) = check_embeddings(embedder.model(), 1, std::slice::from_ref(&embedding)) {
        panic!("the query {text:?}: {error}");
    }
}

async fn blank_texts_are_refused(embedder: &dyn Embedder) {
    for blank in ["", " ", "\n\t\u{a0}"] {
        let batch = vec!["a tide".to_owned(), blank.to_owned()];
        let embedded = in_time(
            "a blank text is refused",
            embedder.embed_documents(batch, EmbedWork::default()),
        )
        .await;
        assert!(
            matches!(embedded, Err(EmbedderError::EmptyText { index: 1 })),
            "the blank text {blank:?} is refused, with its place"
        );
        let embedded = in_time(
            "a blank query is refused",
            embedder.embed_query(blank.to_owned(), EmbedWork::default()),
        )
        .await;
        assert!(
            matches!(embedded, Err(EmbedderError::EmptyText { index: 0 })),
            "the blank query {blank:?} is refused"
        );
    }
}

async fn progress_and_cancelling(embedder: &dyn Embedder) {
    let done = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&done);
    let work = EmbedWork {
        progress: Arc::new(move |count| {
            heard.fetch_max(count, Ordering::Relaxed);
        }),
        ..EmbedWork::default()
    };
    let texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    let count = texts.len();
    let embedded = in_time(
        "documents are embedded",
        embedder.embed_documents(texts.clone(), work),
    )
    .await;
    assert!(embedded.is_ok(), "documents are embedded while somebody watches");
    assert_eq!(
        done.load(Ordering::Relaxed),
        count,
        "progress ends at the number of texts"
    );

    let stopped = || EmbedWork::until(Arc::new(Stopped));
    let embedded = in_time(
        "a cancelled call ends",
        embedder.embed_documents(texts, stopped()),
    )
    .await;
    assert!(
        matches!(embedded, Err(EmbedderError::Cancelled)),
        "a cancelled call says so"
    );
    let embedded = in_time(
        "a cancelled query ends",
        embedder.embed_query("a tide".to_owned(), stopped()),
    )
    .await;
    assert!(
        matches!(embedded, Err(EmbedderError::Cancelled)),
        "a cancelled query says so"
    );
}
