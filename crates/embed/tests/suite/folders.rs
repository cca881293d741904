//! What a folder says about its model, without loading it.

use crate::places::{copy, fixture};
use tidegate_embed::{
    Auto, Choice, EmbedError, FolderOptions, LibraryPlaces, ModelFolder, ModelKind, Pooling, Prefixes,
};
use tidegate_memory::{Embedder, HashedEmbedder};

fn read(name: &str, options: &FolderOptions) -> ModelFolder {
    ModelFolder::read(&fixture(name), options).unwrap()
}

#[test]
fn kind_dimension_and_tokens_are_read_from_the_folder() {
    for (name, kind, dimension, most_tokens) in [
        ("tiny-text", ModelKind::Text, 16, 64),
        // Two of RoBERTa's positions are no token's.
        ("tiny-bge-m3", ModelKind::BgeM3, 1024, 128),
    ] {
        let folder = read(name, &FolderOptions::default());
        let found = (folder.kind(), folder.record().dimension, folder.most_tokens());
        assert_eq!(found, (kind, dimension, most_tokens), "{name}");
        assert!(
            folder.record().id.starts_with(&format!("{name}@")),
            "{}",
            folder.record().id
        );
    }
}

#[test]
fn the_id_follows_what_the_vectors_depend_on_and_not_where_the_folder_is() {
    let there = read("tiny-text", &FolderOptions::default());
    let moved = copy(&fixture("tiny-text"));
    let read = |options: &FolderOptions| ModelFolder::read(moved.path(), options).unwrap().record().clone();
    assert_eq!(&read(&FolderOptions::default()), there.record());
    let cls = FolderOptions {
        pooling: Some(Pooling::Cls),
        ..FolderOptions::default()
    };
    assert_ne!(read(&cls).id, there.record().id);
    let named = FolderOptions {
        id: Some("ours-1".to_owned()),
        ..FolderOptions::default()
    };
    assert_eq!(read(&named).id, "ours-1");
    for file in ["model.onnx", "tokenizer.json"] {
        let changed = copy(&fixture("tiny-text"));
        let mut bytes = std::fs::read(changed.path().join(file)).unwrap();
        bytes.push(b'\n');
        std::fs::write(changed.path().join(file), bytes).unwrap();
        let record = ModelFolder::read(changed.path(), &FolderOptions::default()).unwrap();
        assert_ne!(record.record().id, there.record().id, "{file}");
    }
}

#[test]
fn prefixes_are_part_of_the_record() {
    let options = FolderOptions {
        prefixes: Some(Prefixes {
            query: "query: ".to_owned(),
            document: "passage: ".to_owned(),
        }),
        ..FolderOptions::default()
    };
    let with = read("tiny-text", &options);
    assert_eq!(
        with.record().prefixes,
        r#"{"document":"passage: ","query":"query: "}"#
    );
    assert_eq!(read("tiny-text", &FolderOptions::default()).record().prefixes, "");
}

/// Changes a folder.
type Change = fn(&std::path::Path);

#[test]
fn a_folder_that_is_no_models_is_refused_with_what_is_wrong() {
    let no_change: Change = |_| {};
    let with = |most_tokens| FolderOptions {
        most_tokens: Some(most_tokens),
        ..FolderOptions::default()
    };
    let cases: [(Change, FolderOptions, &str); 9] = [
        (
            |at| std::fs::remove_dir_all(at).unwrap(),
            FolderOptions::default(),
            "not there",
        ),
        (
            |at| std::fs::remove_file(at.join("model.onnx")).unwrap(),
            FolderOptions::default(),
            "model.onnx",
        ),
        (
            |at| std::fs::remove_file(at.join("config.json")).unwrap(),
            FolderOptions::default(),
            "config.json",
        ),
        (
            |at| std::fs::write(at.join("config.json"), "{}").unwrap(),
            FolderOptions::default(),
            "hidden_size",
        ),
        (
            |at| std::fs::write(at.join("config.json"), "{").unwrap(),
            FolderOptions::default(),
            "config.json",
        ),
        (
            |at| std::fs::remove_dir_all(at.join("1_Pooling")).unwrap(),
            FolderOptions::default(),
            "1_Pooling/config.json",
        ),
        (
            |at| {
                std::fs::write(
                    at.join("1_Pooling/config.json"),
                    r#"{"pooling_mode_max_tokens": true}"#,
                )
                .unwrap()
            },
            FolderOptions::default(),
            "neither the mean",
        ),
        (no_change, with(65), "at most 64 tokens"),
        (no_change, with(3), "at least 32"),
    ];
    for (change, options, expected) in cases {
        let folder = copy(&fixture("tiny-text"));
        change(folder.path());
        let error = ModelFolder::read(folder.path(), &options).unwrap_err();
        assert!(matches!(error, EmbedError::BadFolder { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn auto_chooses_from_what_is_there_and_opens_nothing_it_cannot() {
    let models = tempfile::tempdir().unwrap();
    let auto = Auto {
        models: models.path().to_owned(),
        ..Auto::default()
    };
    let (embedder, chosen) = auto.open().unwrap();
    assert_eq!(chosen.choice, Choice::Hashed);
    assert_eq!(embedder.model(), HashedEmbedder::new().model());
    assert!(chosen.better.unwrap().contains("tidegate models fetch minilm"));

    let auto = Auto {
        model_dir: Some(fixture("tiny-text")),
        library: LibraryPlaces {
            library: Some(models.path().join("libonnxruntime.so")),
            ..LibraryPlaces::default()
        },
        ..auto
    };
    assert_eq!(auto.choose().unwrap().choice, Choice::ModelDir);
    // Going on with hashed words would embed the records differently.
    assert!(matches!(auto.open(), Err(EmbedError::NoLibrary { .. })));

    let recorded = Auto {
        recorded: Some(HashedEmbedder::new().model().clone()),
        ..auto.clone()
    };
    let (embedder, chosen) = recorded.open().unwrap();
    assert_eq!(
        (embedder.model().id.as_str(), chosen.choice),
        (HashedEmbedder::MODEL, Choice::Hashed)
    );
    assert!(chosen.better.unwrap().contains("tidegate memory reembed"));

    let missing = Auto {
        model_dir: Some(models.path().join("nothing")),
        ..auto
    };
    assert!(matches!(missing.choose(), Err(EmbedError::BadFolder { .. })));
}
