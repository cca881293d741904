//! Killed for good: processes of their own that get a SIGKILL before or after each write, and at moments nobody chose.

use crate::common::*;
use crate::crash::{prepare, reopened, state, works};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tidegate_memory::{EmbedWork, Memory, MemoryListing, Passages};
use tidegate_store::{ChunkQuery, Durability, RecordWrite, Records, RecordsCommit, SqliteStore, StoreError};
use tidegate_tools::BoxFuture;

/// What the child does: `work <name> <before|after> <write>` or `on and on`.
const ERRAND: &str = "TIDEGATE_MEMORY_ERRAND";
/// Over which file.
const FILE: &str = "TIDEGATE_MEMORY_FILE";

/// How often the child that goes on and on is killed.
const KILLS: usize = 12;

/// Records that kill their process at a write.
struct Deadly {
    inner: Arc<dyn Records>,
    after: bool,
    left: AtomicUsize,
}

fn die() {
    kill_process(getpid(), Signal::KILL).unwrap();
}

impl Records for Deadly {
    tidegate_testing::delegate_records!(inner: memories, history, chunks, memory_sources, resources, model, unstaged, mark, changes, keeps_words, outlines, scan_items, scan_vectors, vectors, statistics);

    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>> {
        Box::pin(async move {
            let is_last = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
            if is_last && !self.after {
                die();
            }
            let done = self.inner.write(writes).await;
            if is_last {
                die();
            }
            done
        })
    }
}

/// This test again, as a process of its own.
fn child(errand: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killed::the_child", "--nocapture"])
        .env(ERRAND, errand)
        .env(FILE, file)
        .stdin(Stdio::null());
    command
}

/// What the other tests start and kill; by itself it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_child() {
    let (Ok(errand), Ok(file)) = (std::env::var(ERRAND), std::env::var(FILE)) else {
        return;
    };
    let store = SqliteStore::open(PathBuf::from(&file), Durability::Process).unwrap();
    let words: Vec<&str> = errand.split(' ').collect();
    match words[..] {
        ["work", what, side, write] => {
            let (_, work) = works().into_iter().find(|(name, _)| *name == what).unwrap();
            let records: Arc<dyn Records> = Arc::new(Deadly {
                inner: Arc::new(store.clone()),
                after: side == "after",
                left: AtomicUsize::new(write.parse().unwrap()),
            });
            work(&records).await.unwrap();
            store.close().await;
        }
        _ => on_and_on(Arc::new(store)).await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_or_after_any_write_everything_is_old_or_new() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = folder.path().join("prepared.sqlite");
    let store = SqliteStore::open(&prepared, Durability::Process).unwrap();
    let records: Arc<dyn Records> = Arc::new(store.clone());
    prepare(&records).await;
    let old = state(&reopened(&records).await).await;
    store.close().await;
    for (what, _) in works() {
        let mut kills = 0;
        let mut seen = BTreeSet::new();
        for side in ["before", "after"] {
            for write in 1.. {
                let path = folder.path().join(format!("{what}-{side}-{write}.sqlite"));
                std::fs::copy(&prepared, &path).unwrap();
                let ended = child(&format!("work {what} {side} {write}"), &path)
                    .output()
                    .unwrap();
                let store = SqliteStore::open(&path, Durability::Process).unwrap();
                let records: Arc<dyn Records> = Arc::new(store.clone());
                let found = state(&reopened(&records).await).await;
                store.close().await;
                assert_eq!(orphans(&path), 0, "{what} killed {side} write {write}");
                seen.insert(found);
                if ended.status.signal() == Some(9) {
                    kills += 1;
                    continue;
                }
                let told = String::from_utf8_lossy(&ended.stderr);
                assert!(ended.status.success(), "{what}: {told}");
                break;
            }
        }
        assert!(kills >= 2, "{what} was killed {kills} times");
        assert!(seen.contains(&old), "{what} never left the old");
        assert_eq!(seen.len(), 2, "{what}: only the old and the new: {seen:#?}");
    }
}

/// Rows that belong to nothing.
fn orphans(path: &Path) -> i64 {
    let file = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| -> i64 { file.query_row(sql, [], |row| row.get(0)).unwrap() };
    count(
        "SELECT count(*) FROM memory_chunks c WHERE NOT EXISTS (SELECT 1 FROM memory_sources s WHERE s.number = c.source)",
    ) + count(
        "SELECT count(*) FROM memory_sources s WHERE s.chunks <> (SELECT count(*) FROM memory_chunks c WHERE c.source = s.number)",
    ) + count(
        "SELECT count(*) FROM memory_vectors v WHERE v.collection = 0 AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = v.id)",
    ) + count(
        "SELECT count(*) FROM memory_vectors v WHERE v.collection = 1 AND NOT EXISTS (SELECT 1 FROM memory_chunks c WHERE c.id = v.id)",
    ) + count(
        "SELECT count(*) FROM memory_versions v WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = v.memory)",
    ) + count(
        "SELECT count(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM memory_journal j WHERE j.collection = 0 AND j.id = m.id)",
    ) + count(
        "SELECT count(*) FROM memory_chunks c WHERE NOT EXISTS (SELECT 1 FROM memory_journal j WHERE j.collection = 1 AND j.id = c.id)",
    )
}

/// Sixteen writers that write, replace and tell each time that something was acknowledged, until somebody kills them.
async fn on_and_on(records: Arc<dyn Records>) {
    let memory = over(&records).open().await.unwrap();
    let writers = (0..16).map(|writer| {
        let memory = memory.clone();
        tokio::spawn(async move {
            for round in 0_u32.. {
                let name = format!("w{writer}");
                remember(
                    &memory,
                    &ada(),
                    named(&name, &format!("tide {writer} round {round}")),
                )
                .await;
                tell(&format!("memory {name} {round}"));
                remember(
                    &memory,
                    &ada(),
                    named("shared", &format!("tide of {writer} in round {round}")),
                )
                .await;
                if writer < 4 {
                    let text = format!("Writer {writer} in round {round} says so. ").repeat(40);
                    let source = format!("s{writer}");
                    memory
                        .save_session_context(
                            &ada(),
                            &source.as_str().into(),
                            Passages::Text(text),
                            EmbedWork::default(),
                        )
                        .await
                        .unwrap();
                    tell(&format!("source {source} {round}"));
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{line}").unwrap();
    output.flush().unwrap();
}

/// Kills the child when it has told `lines` lines; gives all that it told.
fn killed_after(mut child: Child, lines: usize) -> Vec<String> {
    let pid = Pid::from_child(&child);
    let mut told = Vec::new();
    let began = Instant::now();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Ok(line) = line else { break };
        if line.starts_with("memory ") || line.starts_with("source ") {
            told.push(line);
        }
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "the child does nothing"
        );
        if told.len() == lines {
            // What it tells until it is dead is read too: that was acknowledged as well.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_among_sixteen_writers_nothing_acknowledged_is_lost_and_nothing_is_half() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    for kill in 0..KILLS {
        let child = child("on and on", &path).stdout(Stdio::piped()).spawn().unwrap();
        let told = killed_after(child, 3 + kill * 7);
        let store = SqliteStore::open(&path, Durability::Process).unwrap();
        let records: Arc<dyn Records> = Arc::new(store.clone());
        let memory = over(&records).open().await.unwrap();
        check_acknowledged(&memory, &records, &told).await;
        // The next begins at round 0 again: what it finds must not be taken for its own.
        memory.purge_session(&"ada".into(), "s_1").await.unwrap();
        let names = memory.memory_index(&ada(), all()).await.unwrap();
        for item in names.themes.iter().flat_map(|theme| &theme.items) {
            memory.forget(&ada(), &item.memory.memory_id).await.unwrap();
        }
        let left = memory.statistics().await.unwrap();
        assert_eq!((left.memories, left.chunks, left.sources), (0, 0, 0));
        store.close().await;
        assert_eq!(orphans(&path), 0);
    }
}

fn all() -> MemoryListing {
    MemoryListing {
        limit: 100,
        ..MemoryListing::default()
    }
}

async fn check_acknowledged(memory: &Memory, records: &Arc<dyn Records>, told: &[String]) {
    let index = memory.memory_index(&ada(), all()).await.unwrap();
    let facts: Vec<(&str, &str)> = index
        .themes
        .iter()
        .flat_map(|theme| &theme.items)
        .map(|item| (item.memory.memory_id.as_str(), item.memory.fact.as_str()))
        .collect();
    let chunks = records.chunks(ChunkQuery::default()).await.unwrap();
    for line in told {
        let words: Vec<&str> = line.split(' ').collect();
        let round: u32 = words[2].parse().unwrap();
        let found: u32 = match words[0] {
            "memory" => {
                let (_, fact) = facts.iter().find(|(name, _)| *name == words[1]).unwrap();
                fact.rsplit(' ').next().unwrap().parse().unwrap()
            }
            _ => {
                let of_source = chunks
                    .iter()
                    .filter(|chunk| chunk.key.source.as_str() == words[1]);
                let rounds: BTreeSet<u32> = of_source.flat_map(|chunk| rounds_of(&chunk.text)).collect();
                assert_eq!(rounds.len(), 1, "{line}: half of one and half of another");
                *rounds.first().unwrap()
            }
        };
        assert!(found >= round, "{line} was acknowledged, and {found} is found");
    }
    // What is there can be found, and is counted once.
    let found = recall(memory, &ada(), "tide").await;
    assert_eq!(found.hits.is_empty(), facts.is_empty());
}

/// The rounds of which a chunk tells.
fn rounds_of(text: &str) -> Vec<u32> {
    text.split("in round ")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next().unwrap().parse().ok())
        .collect()
}
