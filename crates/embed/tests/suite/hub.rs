//! Fetching from a hub.

use crate::hub_server::{HubServer, Mishap, REPOSITORY, hexadecimal};
use crate::places::fixture;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate_embed::fetch::{Fetch, HubFile, HubModel, Progress};
use tidegate_embed::{
    EmbedError, FolderOptions, ManifestKind, ModelFolder, ModelKind, ModelState, Url, installed, verify,
};
use tidegate_tools::{BoxFuture, Cancel};

/// The tiny bge-m3 as a hub has it.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let read = |name: &str| std::fs::read(fixture("tiny-bge-m3").join(name)).unwrap();
    vec![
        ("model.onnx", read("model.onnx")),
        ("tokenizer.json", read("tokenizer.json")),
        ("tokenizer_config.json", read("tokenizer_config.json")),
        ("special_tokens_map.json", read("special_tokens_map.json")),
        ("config.json", read("config.json")),
        ("README.md", b"not wanted".to_vec()),
    ]
}

fn model() -> HubModel {
    HubModel {
        name: "tiny".to_owned(),
        kind: ManifestKind::BgeM3,
        model: "tiny-bge-m3".to_owned(),
        repository: REPOSITORY.to_owned(),
        revision: "main".to_owned(),
        files: vec![
            HubFile::needed("model.onnx"),
            HubFile::needed("tokenizer.json"),
            HubFile::needed("tokenizer_config.json"),
            HubFile::needed("config.json"),
            HubFile::optional("special_tokens_map.json"),
            HubFile::optional("1_Pooling/config.json"),
        ],
        pooling: None,
    }
}

fn fetch(models: &Path, hub: &Url) -> Fetch {
    Fetch::new(models).hub(hub).first_delay(Duration::from_millis(1))
}

/// What is in the models folder, but for the lock.
fn names(models: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(models).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}

#[tokio::test]
async fn a_model_is_fetched_checked_installed_and_there_the_next_time() {
    let hub = HubServer::start(files()).await;
    let models = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let fetch =
        fetch(models.path(), hub.url()).progress(move |progress| listener.lock().unwrap().push(progress));
    let fetched = fetch.hub_model(&model()).await.unwrap();
    assert!(!fetched.was_there);
    assert_eq!(fetched.folder, models.path().join("tiny"));

    let manifest = verify(&fetched.folder).unwrap();
    let files: Vec<&str> = manifest.files.keys().map(String::as_str).collect();
    assert_eq!(
        files,
        [
            "config.json",
            "model.onnx",
            "special_tokens_map.json",
            "tokenizer.json",
            "tokenizer_config.json"
        ]
    );
    assert!(
        manifest.sources[0].contains("0123456789abcdef"),
        "{:?}",
        manifest.sources
    );
    let folder = ModelFolder::read(&fetched.folder, &FolderOptions::default()).unwrap();
    assert_eq!(folder.kind(), ModelKind::BgeM3);
    assert!(folder.record().id.starts_with("tiny-bge-m3@"));
    let there = installed(models.path()).unwrap();
    assert_eq!(
        (there.len(), there[0].name.as_str(), &there[0].state),
        (1, "tiny", &ModelState::Whole)
    );

    let told = std::mem::take(&mut *told.lock().unwrap());
    assert!(
        told.contains(&Progress::Installed {
            what: "tiny".to_owned()
        }),
        "{told:?}"
    );
    let bytes = std::fs::metadata(fetched.folder.join("model.onnx"))
        .unwrap()
        .len();
    let last = told.iter().rev().find_map(|progress| match progress {
        Progress::Bytes { what, done, total } if what == "model.onnx" => Some((*done, total.unwrap())),
        _ => None,
    });
    assert_eq!(last, Some((bytes, bytes)));

    let again = fetch.hub_model(&model()).await.unwrap();
    assert!(again.was_there);
    assert_eq!(hub.lists(), 1, "what is there is not asked for");
}

#[tokio::test]
async fn a_download_that_is_cut_goes_on_where_it_was() {
    let hub = HubServer::start(files()).await;
    hub.mishaps([Mishap::Cut(1_000), Mishap::Status(503), Mishap::Cut(5_000)]);
    let models = tempfile::tempdir().unwrap();
    let fetched = fetch(models.path(), hub.url()).hub_model(&model()).await.unwrap();
    verify(&fetched.folder).unwrap();
    let ranges: Vec<Option<String>> = hub.ranges("model.onnx");
    assert_eq!(ranges.len(), 4, "{ranges:?}");
    assert_eq!(ranges[0], None);
    // How much of a cut answer arrives is the network's affair; none of it is asked for twice.
    assert!(
        ranges[1..]
            .iter()
            .all(|range| range.as_ref().is_none_or(|range| range.starts_with("bytes=")))
    );
    assert_eq!(names(models.path()), [".partial", "tiny"]);
    assert!(
        names(&models.path().join(".partial")).is_empty(),
        "nothing is kept twice"
    );
}

#[tokio::test]
async fn a_download_goes_on_after_a_restart() {
    let hub = HubServer::start(files()).await;
    let models = tempfile::tempdir().unwrap();
    let content = files().remove(0).1;
    let partial = models.path().join(".partial");
    std::fs::create_dir_all(&partial).unwrap();
    let sum = hexadecimal(&Sha256::digest(&content));
    std::fs::write(partial.join(&sum), &content[..40_000]).unwrap();
    let fetched = fetch(models.path(), hub.url()).hub_model(&model()).await.unwrap();
    verify(&fetched.folder).unwrap();
    assert_eq!(hub.ranges("model.onnx"), [Some("bytes=40000-".to_owned())]);
}

#[tokio::test]
async fn a_server_without_ranges_begins_anew_and_one_with_the_wrong_range_is_refused() {
    for (mishap, is_fetched) in [(Mishap::NoRange, true), (Mishap::WrongRange, false)] {
        let hub = HubServer::start(files()).await;
        let models = tempfile::tempdir().unwrap();
        let content = files().remove(0).1;
        std::fs::create_dir_all(models.path().join(".partial")).unwrap();
        let sum = hexadecimal(&Sha256::digest(&content));
        std::fs::write(models.path().join(".partial").join(sum), &content[..100]).unwrap();
        hub.mishaps([mishap]);
        let outcome = fetch(models.path(), hub.url()).hub_model(&model()).await;
        assert_eq!(outcome.is_ok(), is_fetched, "{mishap:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_is_not_what_the_hub_lists_is_refused_and_nothing_is_installed() {
    let (_, onnx) = files().remove(0);
    let changed = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[10] ^= 1;
        bytes
    };
    let config = files()
        .into_iter()
        .find(|(name, _)| *name == "config.json")
        .unwrap()
        .1;
    for (name, listed) in [
        ("model.onnx", changed(&onnx)),
        ("model.onnx", onnx[..onnx.len() - 1].to_vec()),
        ("config.json", changed(&config)),
    ] {
        let hub = HubServer::start(files()).await;
        hub.lie(name, &listed);
        let models = tempfile::tempdir().unwrap();
        let error = fetch(models.path(), hub.url())
            .hub_model(&model())
            .await
            .unwrap_err();
        assert!(
            matches!(&error, EmbedError::Checksum { what, .. } if what == name),
            "{error}"
        );
        assert!(installed(models.path()).unwrap().is_empty());
        assert_eq!(names(models.path()), [".partial"]);
        // Going on with the wrong bytes would never come right.
        let sum = hexadecimal(&Sha256::digest(&listed));
        assert!(!models.path().join(".partial").join(sum).exists());
    }
}

#[tokio::test]
async fn a_sum_of_ones_own_counts_more_than_the_hubs() {
    let hub = HubServer::start(files()).await;
    let models = tempfile::tempdir().unwrap();
    let mut model = model();
    model.files[0].sha256 = Some("0".repeat(64));
    let error = fetch(models.path(), hub.url())
        .hub_model(&model)
        .await
        .unwrap_err();
    assert!(matches!(error, EmbedError::Checksum { .. }), "{error}");
    let (_, onnx) = files().remove(0);
    model.files[0].sha256 = Some(hexadecimal(&Sha256::digest(&onnx)));
    assert!(fetch(models.path(), hub.url()).hub_model(&model).await.is_ok());
}

#[tokio::test]
async fn what_a_hub_has_not_or_refuses_is_said_with_what_to_do() {
    let wanted = |path: &str| HubModel {
        files: vec![HubFile::needed(path)],
        ..model()
    };
    let elsewhere = HubModel {
        repository: "example/other".to_owned(),
        ..model()
    };
    for (model, mishaps, expected) in [
        (wanted("model.bin"), vec![], "has no model.bin"),
        (elsewhere, vec![], "HTTP 404"),
        (wanted("model.onnx"), vec![Mishap::Status(403)], "signed in"),
        (
            wanted("model.onnx"),
            vec![Mishap::Status(503); 5],
            "try again later",
        ),
    ] {
        let hub = HubServer::start(files()).await;
        hub.mishaps(mishaps);
        let models = tempfile::tempdir().unwrap();
        let error = fetch(models.path(), hub.url())
            .hub_model(&model)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(installed(models.path()).unwrap().is_empty());
    }
    let models = tempfile::tempdir().unwrap();
    let (address, _taken) = tidegate_testing::refused_port().unwrap();
    let nowhere = Url::parse(&format!("http://{address}")).unwrap();
    let error = fetch(models.path(), &nowhere)
        .hub_model(&model())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn names_that_lead_out_of_the_folder_are_refused() {
    for name in ["../model.onnx", "/model.onnx", "a/../../model.onnx"] {
        let (_, onnx) = files().remove(0);
        let hub = HubServer::start([(name, onnx)]).await;
        let models = tempfile::tempdir().unwrap();
        let model = HubModel {
            files: vec![HubFile::needed(name)],
            ..model()
        };
        let error = fetch(models.path(), hub.url())
            .hub_model(&model)
            .await
            .unwrap_err();
        assert!(matches!(error, EmbedError::Archive { .. }), "{error}");
    }
}

/// Says stop once so many bytes have arrived.
#[derive(Default)]
struct Stop(tokio::sync::watch::Sender<bool>);

impl Cancel for Stop {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut heard = self.0.subscribe();
            // The sender lives as long as this future.
            let _stopped = heard.wait_for(|stopped| *stopped).await;
        })
    }
}

#[tokio::test]
async fn a_cancelled_fetch_installs_nothing_and_keeps_what_has_arrived() {
    let hub = HubServer::start(files()).await;
    let models = tempfile::tempdir().unwrap();
    let stop = Arc::new(Stop::default());
    let stopping = Arc::clone(&stop);
    let cancelled = fetch(models.path(), hub.url())
        .cancel(stop)
        .progress(move |progress| {
            if matches!(progress, Progress::Bytes { .. }) {
                stopping.0.send_replace(true);
            }
        })
        .hub_model(&model())
        .await;
    assert!(matches!(cancelled, Err(EmbedError::Cancelled)), "{cancelled:?}");
    assert!(installed(models.path()).unwrap().is_empty());
    assert_eq!(names(models.path()), [".partial"]);
    assert_eq!(names(&models.path().join(".partial")).len(), 1);
    assert!(fetch(models.path(), hub.url()).hub_model(&model()).await.is_ok());
}

#[tokio::test]
async fn a_damaged_model_is_told_of_and_fetched_again() {
    let hub = HubServer::start(files()).await;
    let models = tempfile::tempdir().unwrap();
    let fetch = fetch(models.path(), hub.url());
    let folder = fetch.hub_model(&model()).await.unwrap().folder;
    let path = folder.join("tokenizer.json");
    let whole = std::fs::read(&path).unwrap();

    let mut changed = whole.clone();
    changed[20] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    let error = verify(&folder).unwrap_err().to_string();
    assert!(
        error.contains("tokenizer.json has been changed") && error.contains("models fetch tiny"),
        "{error}"
    );

    std::fs::write(&path, b"short").unwrap();
    assert!(matches!(
        installed(models.path()).unwrap()[0].state,
        ModelState::Damaged { .. }
    ));
    let read = ModelFolder::read(&folder, &FolderOptions::default());
    assert!(matches!(read, Err(EmbedError::Damaged { .. })));

    assert!(!fetch.hub_model(&model()).await.unwrap().was_there);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    assert_eq!(names(models.path()), [".partial", "tiny"]);
}
