//! What the memories cost beside a bare scan over the same vectors: recall, opening, acknowledged writes, memory.
//!
//! Everything is over SQLite that waits for the disk. The embedder's part is measured apart: here its vectors are
//! prepared. Opening is measured in processes of their own, which tell how much memory they hold.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark ends by panicking"
)]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_memory::{EmbedWork, Memory, MemorySearch};
use tidegate_store::{Durability, RecordWrite, Records, SqliteStore};
use tidegate_testing::memories::{
    DIMENSION, NOW_MS, Prepared, Sample, model, question, record, scope, vector, writes, writes_a_second,
};

/// How often a question is asked.
const QUESTIONS: u64 = 200;
/// Memories that a recall is asked for: as many as the default.
const LIMIT: usize = 20;
/// Candidates of the bare scan: as many as a recall takes.
const CANDIDATES: usize = 60;
/// How many times the bare scan a recall may take.
const RATIO_LIMIT: f64 = 2.0;
/// Seconds that opening memories may take, from a closed store to the first answer.
const OPENING_LIMIT: f64 = 1.0;
/// Set in a process that only opens.
const OPEN: &str = "TIDEGATE_BENCH_OPEN";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    if let Ok(path) = std::env::var(OPEN) {
        return runtime.block_on(open_and_tell(Path::new(&path)));
    }
    println!("memory, release build, {DIMENSION} values a vector\n");
    for count in [10_000, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memories.sqlite");
        runtime.block_on(fill(&path, count));
        println!("{count} memories");
        opening(&path, "first opening, which keeps the words", None);
        for _ in 0..3 {
            opening(&path, "opening", Some(OPENING_LIMIT));
        }
        runtime.block_on(recall(&path, count));
        runtime.block_on(writing(&path));
        println!();
    }
}

async fn open(path: &Path) -> (Memory, SqliteStore) {
    let store = SqliteStore::open(path, Durability::Power).unwrap();
    let memory = Memory::builder(Arc::new(store.clone()), Arc::new(Prepared::new()))
        .clock(|| NOW_MS)
        .open()
        .await
        .unwrap();
    (memory, store)
}

async fn fill(path: &Path, count: u64) {
    let store = SqliteStore::open(path, Durability::Process).unwrap();
    store.write(vec![RecordWrite::SetModel(model())]).await.unwrap();
    for from in (0..count).step_by(1_000) {
        store
            .write(writes(from, (from + 1_000).min(count)))
            .await
            .unwrap();
    }
    store.close().await;
}

/// Opens in a process of its own.
fn opening(path: &Path, what: &str, limit: Option<f64>) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .env(OPEN, path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = told
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let verdict = limit.map_or(String::new(), |limit| {
        let verdict = if numbers[1] < limit { "within" } else { "OVER" };
        format!("  {verdict} {limit} s")
    });
    println!(
        "  {what:<40} {:>7.3} s to open, {:>7.3} s to the first answer, {:>6.0} MB resident{verdict}",
        numbers[0], numbers[1], numbers[2]
    );
}

async fn open_and_tell(path: &Path) {
    let start = Instant::now();
    let (memory, store) = open(path).await;
    let opened = start.elapsed();
    black_box(ask(&memory, &question(0)).await);
    let answered = start.elapsed();
    println!(
        "{} {} {}",
        opened.as_secs_f64(),
        answered.as_secs_f64(),
        resident_megabytes()
    );
    drop(memory);
    store.close().await;
}

/// What the process holds; 0 where that cannot be read.
fn resident_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1_024.0
}

async fn ask(memory: &Memory, text: &str) -> usize {
    let search = MemorySearch {
        limit: LIMIT,
        ..MemorySearch::new(text)
    };
    memory.recall(&scope(), search).await.unwrap().hits.len()
}

/// The scan that nothing can be without: every vector is multiplied, the best are kept.
fn bare(matrix: &[f32], query: &[f32]) -> Vec<(f32, usize)> {
    let mut best: Vec<(f32, usize)> = Vec::with_capacity(2 * CANDIDATES);
    let mut least = f32::NEG_INFINITY;
    for (number, row) in matrix.chunks_exact(DIMENSION).enumerate() {
        let mut sums = [0.0_f32; 8];
        for (left, right) in row.chunks_exact(8).zip(query.chunks_exact(8)) {
            for ((sum, a), b) in sums.iter_mut().zip(left).zip(right) {
                *sum += a * b;
            }
        }
        let score: f32 = sums.iter().sum();
        if score >= least {
            best.push((score, number));
            if best.len() == 2 * CANDIDATES {
                best.select_nth_unstable_by(CANDIDATES - 1, |a, b| b.0.total_cmp(&a.0));
                best.truncate(CANDIDATES);
                least = best[CANDIDATES - 1].0;
            }
        }
    }
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    best.truncate(CANDIDATES);
    best
}

async fn recall(path: &Path, count: u64) {
    let (memory, store) = open(path).await;
    let mut matrix = Vec::new();
    for number in 0..count {
        matrix.extend(&record(number).vectors.unwrap().dense[..]);
    }
    let (mut bare_times, mut recall_times, mut embed_times) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..QUESTIONS {
        let text = question(number);
        let start = Instant::now();
        let query = black_box(vector(&text));
        embed_times.push(start.elapsed());
        // The first time the embedder takes the vector in; from then on it is prepared.
        memory
            .embedder()
            .embed_query(text.clone(), EmbedWork::default())
            .await
            .unwrap();
        let start = Instant::now();
        black_box(bare(&matrix, &query));
        bare_times.push(start.elapsed());
        let start = Instant::now();
        black_box(ask(&memory, &text).await);
        recall_times.push(start.elapsed());
    }
    let bare = Sample::of(bare_times);
    let recall = Sample::of(recall_times);
    let ratio = recall.median() / bare.median();
    let verdict = if ratio < RATIO_LIMIT { "within" } else { "OVER" };
    println!("  {:<40} {}", "bare scan", bare);
    println!(
        "  {:<40} {}   ratio {ratio:.2} x  {verdict} {RATIO_LIMIT} x",
        "recall, vectors and words", recall
    );
    println!(
        "  {:<40} {}",
        "embedding the question (prepared)",
        Sample::of(embed_times)
    );
    drop(memory);
    store.close().await;
}

/// Writes that are durable and can be found when they return.
async fn writing(path: &Path) {
    let (memory, store) = open(path).await;
    for (series, (what, writers, named)) in [
        ("acknowledged writes, 1 writer", 1, true),
        ("acknowledged writes, 16 writers", 16, true),
        ("the same, unnamed: what is near is looked for", 1, false),
    ]
    .into_iter()
    .enumerate()
    {
        let a_second = writes_a_second(&memory, series as u64, writers, named, Duration::from_secs(3))
            .await
            .unwrap();
        println!("  {what:<46} {a_second:>8.0} a second");
    }
    println!(
        "  {:<46} {:>8.0} a second",
        "the disk alone: 8 kB and a sync",
        syncs_a_second(path)
    );
    drop(memory);
    store.close().await;
}

/// How often a second something small can be made durable at all, where the store lies.
fn syncs_a_second(path: &Path) -> f64 {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path.with_extension("syncs")).unwrap();
    let (start, mut done) = (Instant::now(), 0_u32);
    while start.elapsed() < Duration::from_secs(1) {
        file.write_all(&[1; 8_192]).unwrap();
        file.sync_data().unwrap();
        done += 1;
    }
    f64::from(done) / start.elapsed().as_secs_f64()
}
