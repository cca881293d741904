//! `tidegate eval memory`.

use crate::args::{EvalMemoryArgs, Global};
use crate::environment;
use crate::exit::Exit;
use crate::memory;
use crate::output;
use crate::progress::Progress;
use anyhow::Context as _;
use std::io::BufReader;
use std::sync::Arc;
use tidegate_memory::evaluation::{Measures, Report, evaluate, read_conversations};
use tidegate_memory::{Memory, MemorySettings};
use tidegate_policy::escaped;
use tidegate_store::MemoryRecords;

/// Measures on records of its own: nothing of the user's is touched.
pub(super) async fn run(global: &Global, args: &EvalMemoryArgs) -> anyhow::Result<Exit> {
    let shown = args.file.display();
    let file = std::fs::File::open(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let conversations = read_conversations(BufReader::new(file))
        .with_context(|| format!("{shown} is no file of conversations (docs/memory.md has the form)"))?;
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    let embedder = memory::embedder_named(&loaded, &data, args.embedder.as_deref()).await?;
    let settings = MemorySettings {
        mode: args.mode.into(),
        ..MemorySettings::default()
    };
    let memory = Memory::builder(Arc::new(MemoryRecords::new()), embedder)
        .settings(settings)
        .open()
        .await?;
    let progress = Progress::begin("storing and asking");
    let report = evaluate(&memory, &conversations, |done, of| {
        progress.set(done as u64, of as u64);
    })
    .await?;
    drop(progress);
    if global.json {
        output::json(&report)?;
    } else {
        show(&report)?;
    }
    Ok(Exit::Ok)
}

fn show(report: &Report) -> anyhow::Result<()> {
    output::line(&format!(
        "{} · {} · {} turns stored in {:.1} s · {} questions in {:.1} s (p50 {:.1} ms, p95 {:.1} ms)\n",
        report.embedder,
        report.mode.as_str(),
        report.turns,
        report.seconds_store,
        report.questions,
        report.seconds_query,
        report.query_ms.p50,
        report.query_ms.p95,
    ))?;
    output::line(
        "category     questions  recall@5  recall@10  recall@20   hit@10  nDCG@10     MRR   (percent)",
    )?;
    for (category, measures) in &report.categories {
        line(&escaped(category), measures)?;
    }
    line("1 to 4", &report.categories_1_4)
}

fn line(name: &str, measures: &Measures) -> anyhow::Result<()> {
    output::line(&format!(
        "{name:<12} {:>9}  {:>8.1}  {:>9.1}  {:>9.1}  {:>7.1}  {:>7.1}  {:>6.1}",
        measures.questions,
        measures.recall_at_5,
        measures.recall_at_10,
        measures.recall_at_20,
        measures.hit_at_10,
        measures.ndcg_at_10,
        measures.mrr
    ))
}
