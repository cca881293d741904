//! A real process, killed with signal 9 at each step of the thread that writes.

use crate::common::*;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_memory::{
    EmbedWork, Embedder as _, HashedEmbedder, Memory, MemoryListing, Passages, VectorIndex as _,
};
use tidegate_qdrant::{EmbeddedIndex, EmbeddedSettings, Step};
use tidegate_store::{Durability, Records, SqliteStore};

const FOLDER: &str = "TIDEGATE_TEST_FOLDER";
const STEP: &str = "TIDEGATE_TEST_STEP";

/// What the process does, in order.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Remember(&'static str, &'static str),
    Forget(&'static str),
    Save(&'static str),
    Drop(&'static str),
    Flush,
    Optimise,
}

const DEEDS: [Deed; 13] = [
    Deed::Remember("m1", "the first tide"),
    Deed::Remember("m2", "a second ferry"),
    Deed::Remember("m3", "some third harbour"),
    Deed::Save("s1"),
    Deed::Flush,
    Deed::Remember("m1", "another first lighthouse"),
    Deed::Forget("m2"),
    Deed::Flush,
    Deed::Optimise,
    Deed::Save("s2"),
    Deed::Drop("s1"),
    Deed::Remember("m4", "no fourth anchor"),
    Deed::Flush,
];

/// What there should be after so many deeds: facts, and sources.
fn expected(deeds: usize) -> (Vec<String>, Vec<String>) {
    let (mut facts, mut sources) = (
        std::collections::BTreeMap::new(),
        std::collections::BTreeSet::new(),
    );
    for deed in &DEEDS[..deeds] {
        match deed {
            Deed::Remember(name, text) => drop(facts.insert(*name, (*text).to_owned())),
            Deed::Forget(name) => drop(facts.remove(name)),
            Deed::Save(source) => drop(sources.insert((*source).to_owned())),
            Deed::Drop(source) => drop(sources.remove(*source)),
            Deed::Flush | Deed::Optimise => {}
        }
    }
    let mut facts: Vec<String> = facts.into_values().collect();
    facts.sort_unstable();
    (facts, sources.into_iter().collect())
}

fn settings(folder: &Path) -> EmbeddedSettings {
    EmbeddedSettings {
        rest: None,
        graph_from_kilobytes: 1,
        ..EmbeddedSettings::new(folder.join("index"))
    }
}

fn records(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("store.sqlite"), Durability::Process).unwrap()
}

/// The process: run by the test below, as a test of its own that does nothing otherwise.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let last: usize = std::env::var(STEP).unwrap().parse().unwrap();
    let steps = AtomicUsize::new(0);
    let on_step = move |step: Step| {
        if steps.fetch_add(1, Ordering::SeqCst) == last {
            eprintln!("killed after step {last}: {step:?}");
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    };
    let index = EmbeddedIndex::with(EmbeddedSettings {
        on_step: Some(Arc::new(on_step)),
        ..settings(folder)
    });
    let index = Arc::new(index.unwrap());
    let mut done = std::fs::File::create(folder.join("done")).unwrap();
    let work = async {
        let records: Arc<dyn Records> = Arc::new(records(folder));
        let memory = dense(&records, Arc::clone(&index) as _).await;
        for deed in DEEDS {
            match deed {
                Deed::Remember(name, text) => remember(&memory, name, text).await,
                Deed::Forget(name) => drop(memory.forget(&ada(), &name.into()).await.unwrap()),
                Deed::Save(source) => {
                    let text = Passages::Text(format!("A text of {source}. ").repeat(30));
                    memory
                        .save_session_context(&ada(), &source.into(), text, EmbedWork::default())
                        .await
                        .unwrap();
                }
                Deed::Drop(source) => drop(
                    memory
                        .delete_session_source(&ada(), &source.into())
                        .await
                        .unwrap(),
                ),
                Deed::Flush => memory.flush().await.unwrap(),
                Deed::Optimise => drop(index.optimise().await.unwrap()),
            }
            done.write_all(b".").unwrap();
        }
    };
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

/// Facts and sources by the records.
async fn there(memory: &Memory) -> (Vec<String>, Vec<String>) {
    let index = memory
        .memory_index(&ada(), MemoryListing::default())
        .await
        .unwrap();
    let items = index.themes.into_iter().flat_map(|theme| theme.items);
    let mut facts: Vec<String> = items.map(|item| item.memory.fact).collect();
    facts.sort_unstable();
    let sources = memory.session_sources(&ada(), true).await.unwrap().sources;
    let mut sources: Vec<String> = sources
        .into_iter()
        .map(|source| source.key.source.to_string())
        .collect();
    sources.sort_unstable();
    (facts, sources)
}

async fn check(folder: &Path, step: usize) {
    let store = records(folder);
    let records: Arc<dyn Records> = Arc::new(store.clone());
    let done = std::fs::read(folder.join("done")).unwrap().len();
    let index = Arc::new(EmbeddedIndex::with(settings(folder)).unwrap());
    let memory = dense(&records, Arc::clone(&index) as _).await;
    assert_eq!(
        memory.index(),
        ("embedded", true),
        "step {step}: it is opened and caught up"
    );
    let found = there(&memory).await;
    let next = expected((done + 1).min(DEEDS.len()));
    assert!(
        found == expected(done) || found == next,
        "step {step}, {done} deeds: {found:?}"
    );
    for fact in &found.0 {
        let hits = recalled(&memory, &ada(), fact).await;
        assert_eq!(hits.first(), Some(fact), "step {step}: it is found by its vector");
        assert_eq!(
            hits.len(),
            found.0.len(),
            "step {step}: and nothing else is there: {hits:?}"
        );
    }
    let chunks = memory.statistics().await.unwrap().chunks;
    assert_eq!(
        counts(&*index).await,
        (found.0.len() as u64, chunks),
        "step {step}: nothing is orphaned"
    );
    drop((memory, index));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_each_step_everything_is_found_after_the_next_start_and_nothing_is_orphaned() {
    for step in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::the_process_that_is_killed", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(STEP, step.to_string())
            .output()
            .unwrap();
        let was_killed = ended.status.code().is_none();
        assert!(
            was_killed || ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        check(folder.path(), step).await;
        if !was_killed {
            assert!(step > 25, "there were {step} steps");
            return;
        }
    }
}

#[tokio::test]
async fn what_was_not_flushed_is_not_behind_the_position_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    // The steps of making it are four; the sixth is a change after the first flush would be none: the fifth is the first
    // change, which is not flushed.
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::the_process_that_is_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .env(STEP, "5")
        .output()
        .unwrap();
    assert!(ended.status.code().is_none());
    let index = EmbeddedIndex::with(settings(folder.path())).unwrap();
    index.open(HashedEmbedder::new().model()).await.unwrap();
    assert_eq!(index.position().await.unwrap(), 0);
}
