//! Models that compute here. Those of the fixtures have the shapes of real ones and mean nothing.

use crate::places::{copy, fixture, runtime};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_embed::{EmbedError, FolderOptions, LocalEmbedder, ModelFolder, OnnxRuntime, Prefixes};
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding};
use tidegate_policy::Classification;
use tidegate_testing::conformance;
use tidegate_tools::{BoxFuture, Cancel};

fn opened(folder: &Path, options: &FolderOptions, runtime: &OnnxRuntime) -> Arc<dyn Embedder> {
    Arc::new(LocalEmbedder::open(&ModelFolder::read(folder, options).unwrap(), runtime).unwrap())
}

async fn documents(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Embedding> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder
        .embed_documents(texts, EmbedWork::default())
        .await
        .unwrap()
}

#[tokio::test]
async fn both_kinds_of_models_keep_the_contract_of_embedders() {
    let Some(runtime) = runtime() else { return };
    for (name, is_calibrated) in [("tiny-text", false), ("tiny-bge-m3", true)] {
        let embedder = opened(&fixture(name), &FolderOptions::default(), &runtime);
        conformance::embedder(embedder.as_ref()).await;
        assert_eq!(
            embedder.clearance(),
            Classification::Restricted,
            "{name}: it computes in the process"
        );
        assert_eq!(embedder.is_calibrated(), is_calibrated, "{name}");
    }
}

#[tokio::test]
async fn bge_m3_gives_dense_and_sparse_vectors_in_one_pass() {
    let Some(runtime) = runtime() else { return };
    let embedder = opened(&fixture("tiny-bge-m3"), &FolderOptions::default(), &runtime);
    let made = documents(
        embedder.as_ref(),
        &["the ferry sails to the island", "fish", "渡船"],
    )
    .await;
    for embedding in &made {
        assert_eq!(embedding.dense.len(), 1024);
        let sparse = embedding.sparse.as_ref().unwrap();
        // Special tokens, unknown words and padding weigh nothing.
        assert!(sparse.indices.iter().all(|token| *token > 3), "{sparse:?}");
        assert!(sparse.values.iter().all(|weight| *weight > 0.0), "{sparse:?}");
    }
    let words = |embedding: &Embedding| embedding.sparse.as_ref().unwrap().indices.len();
    assert!(words(&made[0]) > 0 && words(&made[2]) == 0);
    let query = embedder
        .embed_query("fish".to_owned(), EmbedWork::default())
        .await
        .unwrap();
    assert_eq!(query.sparse, made[1].sparse);
}

#[tokio::test]
async fn the_order_of_texts_is_kept_although_they_are_batched_by_length() {
    let Some(runtime) = runtime() else { return };
    let embedder = opened(&fixture("tiny-text"), &FolderOptions::default(), &runtime);
    let texts: Vec<String> = (0..100)
        .map(|count| "ferry tide ".repeat(count % 7 + 1) + "moon")
        .collect();
    let given: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = documents(embedder.as_ref(), &given).await;
    for (text, embedding) in given.iter().zip(&together).take(7) {
        let alone = documents(embedder.as_ref(), &[text]).await;
        let distance: f32 = alone[0]
            .dense
            .iter()
            .zip(&embedding.dense)
            .map(|(a, b)| (a - b).abs())
            .sum();
        assert!(distance < 1e-3, "{text}: {distance}");
    }
}

#[tokio::test]
async fn prefixes_stand_before_queries_and_documents() {
    let Some(runtime) = runtime() else { return };
    let options = FolderOptions {
        prefixes: Some(Prefixes {
            query: "moon ".to_owned(),
            document: "fish ".to_owned(),
        }),
        ..FolderOptions::default()
    };
    let with = opened(&fixture("tiny-text"), &options, &runtime);
    let without = opened(&fixture("tiny-text"), &FolderOptions::default(), &runtime);
    let query = |embedder: Arc<dyn Embedder>, text: &'static str| async move {
        embedder
            .embed_query(text.to_owned(), EmbedWork::default())
            .await
            .unwrap()
    };
    assert_eq!(
        query(Arc::clone(&with), "ferry").await,
        query(Arc::clone(&without), "moon ferry").await
    );
    let document = documents(with.as_ref(), &["ferry"]).await;
    assert_eq!(document, documents(without.as_ref(), &["fish ferry"]).await);
    assert!(with.most_tokens() < without.most_tokens());
}

/// Says stop once it has been asked so often.
struct After(AtomicUsize);

impl Cancel for After {
    fn is_cancelled(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_err()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_call_is_cancelled_between_two_batches_and_gives_nothing() {
    let Some(runtime) = runtime() else { return };
    let embedder = opened(&fixture("tiny-text"), &FolderOptions::default(), &runtime);
    let done = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&done);
    let work = EmbedWork {
        cancel: Arc::new(After(AtomicUsize::new(2))),
        progress: Arc::new(move |count| heard.store(count, Ordering::Relaxed)),
    };
    let texts = vec!["the tide turns".to_owned(); 200];
    let outcome = embedder.embed_documents(texts, work).await;
    assert!(matches!(outcome, Err(EmbedderError::Cancelled)));
    assert_eq!(done.load(Ordering::Relaxed), 32, "the first batch was done");
}

#[test]
fn models_work_without_a_runtime_for_async() {
    let Some(runtime) = runtime() else { return };
    let embedder = opened(&fixture("tiny-text"), &FolderOptions::default(), &runtime);
    let embedding =
        futures::executor::block_on(embedder.embed_query("tide".to_owned(), EmbedWork::default()));
    assert_eq!(embedding.unwrap().dense.len(), 16);
}

#[tokio::test]
async fn a_long_word_that_the_tokenizer_does_not_know_is_many_tokens() {
    let Some(runtime) = runtime() else { return };
    let embedder = opened(&fixture("tiny-text"), &FolderOptions::default(), &runtime);
    assert_eq!(embedder.count_tokens("the ferry sails"), 3);
    assert!(embedder.count_tokens(&"x".repeat(20_000)) >= 1_000);
}

#[test]
fn files_that_make_no_model_are_an_error() {
    let Some(runtime) = runtime() else { return };
    type Change = fn(&Path);
    let cases: [(&str, Change, FolderOptions); 6] = [
        (
            "tiny-text",
            |at| std::fs::write(at.join("model.onnx"), "no model").unwrap(),
            FolderOptions::default(),
        ),
        (
            "tiny-text",
            |at| std::fs::write(at.join("tokenizer.json"), "{}").unwrap(),
            FolderOptions::default(),
        ),
        (
            "tiny-text",
            |at| std::fs::write(at.join("tokenizer_config.json"), "{}").unwrap(),
            FolderOptions::default(),
        ),
        // Says that it is wider than it is.
        (
            "tiny-text",
            |at| std::fs::write(at.join("config.json"), r#"{"hidden_size": 384}"#).unwrap(),
            FolderOptions::default(),
        ),
        // A text model taken for bge-m3, and the other way round.
        (
            "tiny-text",
            |_| {},
            FolderOptions {
                kind: Some(tidegate_embed::ModelKind::BgeM3),
                ..FolderOptions::default()
            },
        ),
        (
            "tiny-bge-m3",
            |_| {},
            FolderOptions {
                kind: Some(tidegate_embed::ModelKind::Text),
                pooling: Some(tidegate_embed::Pooling::Cls),
                ..FolderOptions::default()
            },
        ),
    ];
    for (name, change, options) in cases {
        let folder = copy(&fixture(name));
        change(folder.path());
        let folder = ModelFolder::read(folder.path(), &options).unwrap();
        let error = LocalEmbedder::open(&folder, &runtime)
            .err()
            .unwrap_or_else(|| panic!("{name} {options:?} is opened"));
        assert!(matches!(error, EmbedError::BadModel { .. }), "{error}");
    }
}
