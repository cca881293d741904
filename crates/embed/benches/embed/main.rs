//! What embedding costs beside the bare model: the same ONNX session with the same tokenizer and as many threads, and
//! nothing around it. The bare session makes no vectors of what comes out of it; the embedder does.
//!
//! The bare model computes in a process of its own: threads of ONNX Runtime that have just computed wait busily, and
//! would take the processor from the other session. The two take turns, so that whatever else the machine does weighs on
//! both.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark ends by panicking"
)]

mod bare;
mod texts;

use bare::{Bare, BareProcess};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use texts::{Case, cases};
use tidegate_embed::{Auto, Choice, LibraryPlaces};
use tidegate_memory::{EmbedWork, Embedder};

/// How often the two take turns, after one turn each that is not counted.
const TURNS: usize = 7;

/// How many times the bare model's time embedding may take.
const RATIO_LIMIT: f64 = 1.2;

/// Set in the process of the bare model: the models folder.
const BARE: &str = "TIDEGATE_BENCH_BARE_MODEL";

fn main() -> ExitCode {
    if let Some(models) = std::env::var_os(BARE) {
        Bare::open(Path::new(&models)).serve();
        return ExitCode::SUCCESS;
    }
    let models = models();
    let places = LibraryPlaces {
        models: Some(models.clone()),
        ..LibraryPlaces::default()
    };
    let minilm = models.join("minilm");
    let missing = match places.find() {
        Err(error) => Some(error.to_string()),
        Ok(_) if !minilm.is_dir() => Some(format!("the model is not there: {}", minilm.display())),
        Ok(_) => None,
    };
    if let Some(missing) = missing {
        eprintln!(
            "error: {missing}\nThis benchmark needs all-MiniLM-L6-v2; `cargo xtask models` fetches it."
        );
        return ExitCode::FAILURE;
    }
    let (embedder, chosen) = Auto {
        models: models.clone(),
        library: places,
        ..Auto::default()
    }
    .open_lazily()
    .unwrap();
    assert_eq!(
        chosen.choice,
        Choice::Minilm,
        "another model is in {}",
        models.display()
    );

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut bare = BareProcess::start(&models, BARE);
    println!(
        "embed, release build, {} on {} threads, medians\n",
        embedder.model().id,
        std::thread::available_parallelism().unwrap()
    );
    println!(
        "{:<34} {:>11} {:>11} {:>6}   bare, padded together",
        "", "embedder", "bare model", "ratio"
    );
    for case in cases() {
        runtime.block_on(compare(&embedder, &mut bare, &case));
    }
    ExitCode::SUCCESS
}

/// Where `cargo xtask models` puts them, or what `TIDEGATE_TEST_MODELS` says.
fn models() -> PathBuf {
    match std::env::var_os("TIDEGATE_TEST_MODELS") {
        Some(models) => models.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    }
}

async fn compare(embedder: &Arc<dyn Embedder>, bare: &mut BareProcess, case: &Case) {
    let (mut embedded, mut alone, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let times = [
            embed(embedder, case).await,
            bare.run(case.name, false, case.runs),
            bare.run(case.name, true, case.runs),
        ];
        if turn > 0 {
            for (all, times) in [&mut embedded, &mut alone, &mut together].into_iter().zip(times) {
                all.extend(times);
            }
        }
    }
    let (embedded, alone, together) = (median(embedded), median(alone), median(together));
    let ratio = embedded / alone;
    let verdict = if ratio <= RATIO_LIMIT { "within" } else { "OVER" };
    let other = if case.texts.len() > 1 {
        format!("   {together:.2} ms")
    } else {
        String::new()
    };
    println!(
        "{:<34} {embedded:>8.2} ms {alone:>8.2} ms {ratio:>6.2}{other}   {verdict} {RATIO_LIMIT}",
        case.name
    );
}

async fn embed(embedder: &Arc<dyn Embedder>, case: &Case) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..case.runs {
        let texts = case.texts.clone();
        let start = Instant::now();
        // As a program asks: from a task, not from the thread that waits for the end.
        let embedder = Arc::clone(embedder);
        let made = tokio::spawn(async move { embedder.embed_documents(texts, EmbedWork::default()).await });
        assert_eq!(made.await.unwrap().unwrap().len(), case.texts.len());
        times.push(start.elapsed());
    }
    times
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}
