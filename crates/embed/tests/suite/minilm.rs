//! all-MiniLM-L6-v2 itself, where it has been fetched.

use crate::places::{self, models, runtime};
use std::sync::Arc;
use tidegate_embed::{Auto, Choice, FolderOptions, LibraryPlaces, LocalEmbedder, ModelFolder, verify};
use tidegate_memory::{EmbedWork, Embedder};
use tidegate_testing::conformance;

fn minilm() -> Option<Arc<dyn Embedder>> {
    let (runtime, folder) = (runtime()?, places::minilm()?);
    let folder = ModelFolder::read(&folder, &FolderOptions::default()).unwrap();
    Some(Arc::new(LocalEmbedder::open(&folder, &runtime).unwrap()))
}

async fn cosine(embedder: &dyn Embedder, left: &str, right: &str) -> f32 {
    let texts = vec![left.to_owned(), right.to_owned()];
    let made = embedder
        .embed_documents(texts, EmbedWork::default())
        .await
        .unwrap();
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let (left, right) = (&made[0].dense, &made[1].dense);
    product(left, right) / (product(left, left) * product(right, right)).sqrt()
}

#[tokio::test]
async fn minilm_keeps_the_contract_and_tells_meanings_apart() {
    let Some(embedder) = minilm() else { return };
    conformance::embedder(embedder.as_ref()).await;
    assert_eq!(embedder.model().dimension, 384);
    assert!(
        embedder.model().id.starts_with("all-MiniLM-L6-v2@"),
        "{}",
        embedder.model().id
    );
    // Two special tokens are part of the 256.
    assert_eq!(embedder.most_tokens(), 254);
    let close = cosine(
        embedder.as_ref(),
        "A man is eating food.",
        "A man is eating a meal.",
    )
    .await;
    let far = cosine(
        embedder.as_ref(),
        "A man is eating food.",
        "The moon pulls the sea.",
    )
    .await;
    assert!(close > 0.6 && far < 0.25, "{close} {far}");
}

#[tokio::test]
async fn a_texts_vector_does_not_depend_on_its_batch() {
    let Some(embedder) = minilm() else { return };
    let long = "The ferry to the island leaves at seven in the morning from the northern harbour. ".repeat(8);
    let mut texts = vec![
        "Tide tables are printed every year.".to_owned(),
        "fish".to_owned(),
    ];
    texts.extend((0..30).map(|count| long.chars().skip(count).collect::<String>()));
    let together = embedder
        .embed_documents(texts.clone(), EmbedWork::default())
        .await
        .unwrap();
    for place in [0, 1, 2] {
        let alone = embedder
            .embed_documents(vec![texts[place].clone()], EmbedWork::default())
            .await
            .unwrap();
        let pairs = alone[0].dense.iter().zip(&together[place].dense);
        let cosine: f32 = pairs.map(|(a, b)| a * b).sum();
        assert!(cosine > 0.9999, "{cosine} for {}", texts[place]);
    }
}

#[test]
fn the_fetched_files_are_what_the_manifest_says_and_auto_takes_them() {
    if minilm().is_none() {
        return;
    }
    for name in ["minilm", "onnxruntime"] {
        let folder = models().join(name);
        if folder.is_dir() {
            assert_eq!(verify(&folder).unwrap().name, name);
        }
    }
    let auto = Auto {
        models: models(),
        library: LibraryPlaces {
            models: Some(models()),
            ..LibraryPlaces::default()
        }
        .with_environment(),
        ..Auto::default()
    };
    if !models().join("bge-m3").is_dir() {
        let (embedder, chosen) = auto.open().unwrap();
        assert_eq!((chosen.choice, embedder.model().dimension), (Choice::Minilm, 384));
    }
}
