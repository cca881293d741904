//! Memories over local models, loaded as the program loads them: all-MiniLM-L6-v2 where it has been fetched, and those of
//! the fixtures.

use crate::places::{copy, fixture, minilm, models, runtime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_embed::{FolderOptions, LazyEmbedder, LibraryPlaces, LocalEmbedder, ModelFolder, Prefixes};
use tidegate_memory::{
    BadVector, EmbedWork, Embedder, EmbedderError, Memory, MemoryError, MemorySettings, Passages, Scope,
};
use tidegate_policy::{Classification, Label, SourceId};
use tidegate_store::{ChunkQuery, MemoryRecords, Records};
use tidegate_testing::conformance;
use tokenizers::Tokenizer;

fn lazily(folder: &Path, options: &FolderOptions) -> Arc<LazyEmbedder> {
    let places = LibraryPlaces {
        models: Some(models()),
        ..LibraryPlaces::default()
    };
    let folder = ModelFolder::read(folder, options).unwrap();
    Arc::new(LazyEmbedder::new(folder, places.with_environment()).unwrap())
}

async fn opened(records: &Arc<dyn Records>, embedder: Arc<dyn Embedder>) -> Result<Memory, MemoryError> {
    let settings = MemorySettings {
        chunk_tokens: 8_192,
        ..MemorySettings::default()
    };
    Memory::builder(Arc::clone(records), embedder)
        .settings(settings)
        .open()
        .await
}

fn records() -> Arc<dyn Records> {
    Arc::new(MemoryRecords::new())
}

async fn save(memory: &Memory, text: &str) -> Result<(), MemoryError> {
    let scope = Scope {
        user: "ada".into(),
        chat: "s_1".into(),
        label: Label::trusted(Classification::Internal),
        clearance: Classification::Internal,
    };
    let (source, text) = (SourceId::from("notes"), Passages::Text(text.to_owned()));
    let saved = memory.save_session_context(&scope, &source, text, EmbedWork::default());
    saved.await.map(drop)
}

/// Those there are, each with what it needs before texts.
fn folders() -> Vec<(PathBuf, FolderOptions)> {
    let prefixed = FolderOptions {
        prefixes: Some(Prefixes {
            query: "moon ".to_owned(),
            document: "the tide and the moon : ".to_owned(),
        }),
        ..FolderOptions::default()
    };
    let usual = FolderOptions::default();
    let mut folders = vec![
        (fixture("tiny-bge-m3"), usual.clone()),
        (fixture("tiny-text"), usual.clone()),
        (fixture("tiny-text"), prefixed),
    ];
    folders.extend(minilm().map(|folder| (folder, usual)));
    folders
}

#[tokio::test]
async fn every_chunk_is_within_what_the_model_sees_with_special_tokens_and_prefixes() {
    if runtime().is_none() {
        return;
    }
    let sentences =
        "The ferry to the island leaves at seven, and 3.14 boats sell fish! 渡船七点开往岛上。 ".repeat(300);
    let line = "tidegateways".repeat(3_000);
    for (folder, options) in folders() {
        let embedder = lazily(&folder, &options);
        let sees = ModelFolder::read(&folder, &options).unwrap().most_tokens();
        let before = options.prefixes.unwrap_or_default().document;
        let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
        tokenizer.with_truncation(None).unwrap().with_padding(None);
        for text in [&sentences, &line] {
            let records = records();
            let memory = opened(&records, embedder.clone()).await.unwrap();
            save(&memory, text).await.unwrap();
            let chunks = records.chunks(ChunkQuery::default()).await.unwrap();
            assert!(chunks.len() > 3, "{}: {}", folder.display(), chunks.len());
            let length = |text: &str| {
                let given = format!("{before}{text}");
                tokenizer.encode(given, true).unwrap().len()
            };
            let longest = chunks.iter().map(|chunk| length(&chunk.text)).max().unwrap();
            assert!(longest <= sees, "{}: {longest} of {sees}", folder.display());
        }
    }
}

#[tokio::test]
async fn a_model_that_is_loaded_late_is_the_same_embedder() {
    let Some(runtime) = runtime() else { return };
    for (folder, options) in folders() {
        let lazy = lazily(&folder, &options);
        let read = ModelFolder::read(&folder, &options).unwrap();
        let local = LocalEmbedder::open(&read, &runtime).unwrap();
        assert_eq!(lazy.most_tokens(), local.most_tokens(), "{}", folder.display());
        assert_eq!(lazy.model(), local.model());
        assert_eq!(lazy.is_calibrated(), local.is_calibrated());
        conformance::embedder(lazy.as_ref()).await;
        let query = |embedder: Arc<dyn Embedder>| async move {
            let work = EmbedWork::default();
            embedder
                .embed_query("the ferry sails".to_owned(), work)
                .await
                .unwrap()
        };
        assert_eq!(query(lazy).await, query(Arc::new(local)).await);
    }
}

#[tokio::test]
async fn memories_refuse_another_model_of_the_same_dimension_and_keep_what_they_have() {
    if runtime().is_none() {
        return;
    }
    for (folder, options) in folders() {
        // The same model but for its tokenizer, which makes other vectors of the same length.
        let other = copy(&folder);
        let tokenizer = other.path().join("tokenizer.json");
        let changed = std::fs::read_to_string(&tokenizer).unwrap() + "\n";
        std::fs::write(&tokenizer, changed).unwrap();
        // It was not fetched, so that it is no damaged one.
        let manifest = other.path().join("tidegate-model.json");
        if manifest.is_file() {
            std::fs::remove_file(manifest).unwrap();
        }
        let (first, second) = (lazily(&folder, &options), lazily(other.path(), &options));
        assert_eq!(first.model().dimension, second.model().dimension);
        assert_ne!(first.model().id, second.model().id);

        let records = records();
        drop(opened(&records, first.clone()).await.unwrap());
        let refused = opened(&records, second.clone()).await.err().unwrap();
        let told = refused.to_string();
        assert!(told.contains("tidegate memory reembed"), "{told}");
        for embedder in [&first, &second] {
            assert!(told.contains(&embedder.model().id), "{told}");
        }
        let memory = opened(&records, first).await.unwrap();
        save(&memory, "the tide turns").await.unwrap();
        drop(memory);
        assert!(opened(&records, second).await.is_err());
        assert_eq!(records.chunks(ChunkQuery::default()).await.unwrap().len(), 1);
    }
}

/// Makes the vector of `word` one of values that are no numbers.
fn spoil(folder: &Path, word: &str) {
    let tokenizer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
    let token = tokenizer["model"]["vocab"][word].as_u64().unwrap();
    let path = folder.join("model.onnx");
    let mut model = std::fs::read(&path).unwrap();
    // In the file: the name of the table (field 8), then its values (field 9) behind their length, a number of two bytes.
    let name = b"\x42\x05table\x4a";
    let at = model
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    let row = at + name.len() + 2 + usize::try_from(token).unwrap() * 16 * 4;
    for value in model[row..row + 16 * 4].chunks_exact_mut(4) {
        value.copy_from_slice(&f32::NAN.to_le_bytes());
    }
    std::fs::write(path, model).unwrap();
}

#[tokio::test]
async fn what_is_no_number_and_what_is_no_text_is_refused_with_its_place_and_nothing_is_stored() {
    if runtime().is_none() {
        return;
    }
    for name in ["tiny-text", "tiny-bge-m3"] {
        let folder = copy(&fixture(name));
        spoil(folder.path(), "moon");
        let embedder = lazily(folder.path(), &FolderOptions::default());
        let embed = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            embedder.embed_documents(texts, EmbedWork::default())
        };
        let refused = embed(&["the ferry sails", "fish", "the moon pulls"]).await;
        let is_told = matches!(
            refused,
            Err(EmbedderError::BadVector {
                index: 2,
                problem: BadVector::NotFinite,
                ..
            })
        );
        assert!(is_told, "{name}: {refused:?}");
        let refused = embed(&["fish", "\n\t "]).await;
        assert!(
            matches!(refused, Err(EmbedderError::EmptyText { index: 1 })),
            "{refused:?}"
        );

        let records = records();
        let memory = opened(&records, embedder.clone()).await.unwrap();
        save(&memory, "the moon pulls").await.unwrap_err();
        assert!(matches!(
            save(&memory, " \n").await,
            Err(MemoryError::Empty { .. })
        ));
        assert!(
            records.chunks(ChunkQuery::default()).await.unwrap().is_empty(),
            "{name}"
        );
        save(&memory, "the ferry sails").await.unwrap();
    }
}
