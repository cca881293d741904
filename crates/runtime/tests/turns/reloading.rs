//! A runtime that goes by its configuration file while the file is edited.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use tidegate_policy::Classification;
use tidegate_runtime::config::{LoadOptions, load};
use tidegate_runtime::{
    ConfigurationChange, DataFolder, LiveRuntime, Runtime, RuntimeError, SessionRequest, TurnOptions, Which,
};

struct Place {
    folder: TempDir,
}

const MODEL: &str =
    "[providers.s]\nkind = \"scripted\"\nscenario = \"scenario.toml\"\n[tiers]\nlite = [\"s:m\"]\n";

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["config", "data", "work"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        fs::write(
            place.path("config/scenario.toml"),
            "[[reply]]\ntext = \"Done.\"\n".repeat(9),
        )
        .unwrap();
        place.write(MODEL);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn file(&self) -> PathBuf {
        self.path("config/tidegate.toml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    /// As editors do it: another file takes the place of the old one.
    fn replace(&self, text: &str) {
        let new = self.path("config/.tidegate.toml.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    fn live(&self) -> LiveRuntime {
        let options = LoadOptions {
            file: Some(self.file()),
            data_folder: self.path("data"),
            ..LoadOptions::default()
        };
        let data = DataFolder::new(self.path("data"));
        let loaded = load(&options).unwrap();
        let runtime = Runtime::open(&loaded, &data, &[]).unwrap();
        LiveRuntime::new(runtime, &loaded, options, data)
    }

    /// The clearance of a session that is opened now.
    async fn clearance(&self, live: &LiveRuntime) -> Classification {
        let request = SessionRequest::new(Which::New).workspace(self.path("work"));
        live.current().session(request).await.unwrap().clearance()
    }
}

fn with(policy: &str) -> String {
    format!("{MODEL}[policy]\nclearance = \"{policy}\"\n")
}

#[track_caller]
fn in_effect(change: ConfigurationChange) -> Vec<String> {
    match change {
        ConfigurationChange::InEffect { restart } => restart,
        ConfigurationChange::Refused { cause } => panic!("{cause}"),
    }
}

#[track_caller]
fn refused(change: ConfigurationChange) -> String {
    match change {
        ConfigurationChange::InEffect { restart } => panic!("in effect but for {restart:?}"),
        ConfigurationChange::Refused { cause } => cause.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_file_takes_effect_by_itself_and_a_bad_one_is_told_of() {
    let place = Place::new();
    let live = place.live();
    let mut changes = live.changes();
    let _watching = live.watch().unwrap();
    assert_eq!(place.clearance(&live).await, Classification::Confidential);

    place.replace(&with("PUBLIC"));
    assert!(in_effect(changes.recv().await.unwrap()).is_empty());
    assert_eq!(place.clearance(&live).await, Classification::Public);

    place.replace("[agent]\nmax_round = 3\n");
    let why = refused(changes.recv().await.unwrap());
    assert!(why.contains("did you mean `max_rounds`?"), "{why}");
    assert_eq!(place.clearance(&live).await, Classification::Public);

    fs::remove_file(place.file()).unwrap();
    refused(changes.recv().await.unwrap());
    assert_eq!(place.clearance(&live).await, Classification::Public);

    place.replace(&with("INTERNAL"));
    assert!(in_effect(changes.recv().await.unwrap()).is_empty());
    assert_eq!(place.clearance(&live).await, Classification::Internal);
}

#[tokio::test]
async fn each_change_is_told_of_once_and_the_rest_of_the_runtime_stays() {
    let place = Place::new();
    let live = place.live();
    let first = live.current();
    let mut events = first.events().subscribe();
    let request = SessionRequest::new(Which::Named("a".parse().unwrap())).workspace(place.path("work"));
    let mut open = first.session(request.clone()).await.unwrap();
    assert!(live.refresh().is_none());

    place.write(&with("INTERNAL"));
    assert!(in_effect(live.refresh().unwrap()).is_empty());
    assert!(live.refresh().is_none());
    // The same locks, the same store, the same events.
    let busy = live.current().session(request.clone()).await;
    assert!(matches!(busy, Err(RuntimeError::SessionBusy { .. })), "{busy:?}");
    assert_eq!(open.clearance(), Classification::Confidential);
    open.run("work", TurnOptions::default()).await.unwrap();
    drop(open);
    let mut again = live.current().session(request).await.unwrap();
    assert_eq!(again.clearance(), Classification::Internal);
    let report = again.run("work", TurnOptions::default()).await.unwrap();
    assert_eq!(report.answer, "Done.");
    let mut turns = 0;
    while let Ok(event) = events.try_recv() {
        turns += usize::from(event.kind.name() == "turn.finished");
    }
    assert_eq!(turns, 2);
}

#[tokio::test]
async fn what_needs_a_restart_is_named_or_refused() {
    let place = Place::new();
    let live = place.live();
    let changed = MODEL.replace("scenario.toml\"\n", "scenario.toml\"\ntimeout_s = 7\n");
    place.write(&format!(
        "{changed}[store]\ndurability = \"process\"\n[policy]\nclearance = \"PUBLIC\"\n"
    ));
    assert_eq!(
        in_effect(live.refresh().unwrap()),
        ["providers.s.timeout_s", "store.durability"]
    );
    assert_eq!(place.clearance(&live).await, Classification::Public);

    place.write(&MODEL.replace(
        "[tiers]\nlite = [\"s:m\"]",
        "[providers.t]\nkind = \"scripted\"\nscenario = \"scenario.toml\"\n[tiers]\nlite = [\"t:m\"]",
    ));
    let why = refused(live.refresh().unwrap());
    assert!(why.starts_with("t:m cannot be used before a restart"), "{why}");
    assert_eq!(place.clearance(&live).await, Classification::Public);
    // Asked again, it is looked at again.
    refused(live.reload());
}
