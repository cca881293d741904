//! Measures retrieval with a real model: `cargo run --release --example evaluate_local -- FILE MODELS [hybrid|lexical|dense]
//! [SHARE]`. MODELS is a models folder or that of one model; SHARE is that of the dense vectors, from 0 to 1.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tidegate_embed::{Auto, FolderOptions, LibraryPlaces};
use tidegate_memory::evaluation::{evaluate, read_conversations};
use tidegate_memory::{Memory, MemorySettings, Mode};
use tidegate_store::MemoryRecords;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file")?;
    let folder = PathBuf::from(arguments.next().ok_or("name the models folder")?);
    let mode = match arguments.next().as_deref() {
        Some("lexical") => Mode::Lexical,
        Some("dense") => Mode::Dense,
        _ => Mode::Hybrid,
    };
    let share = arguments.next().map(|share| share.parse()).transpose()?;
    let is_model = folder.join("config.json").is_file();
    let models = if is_model {
        folder.parent().map(PathBuf::from).unwrap_or_default()
    } else {
        folder.clone()
    };
    let auto = Auto {
        model_dir: Some(if is_model { folder } else { models.join("minilm") }),
        options: FolderOptions {
            dense_share: share,
            ..FolderOptions::default()
        },
        library: LibraryPlaces {
            models: Some(models.clone()),
            ..LibraryPlaces::default()
        }
        .with_environment(),
        models,
        recorded: None,
    };
    let started = Instant::now();
    let (embedder, chosen) = auto.open()?;
    eprintln!(
        "{}; {} in {:?}",
        chosen.why,
        embedder.model().id,
        started.elapsed()
    );
    let settings = MemorySettings {
        mode,
        ..MemorySettings::default()
    };
    let memory = Memory::builder(Arc::new(MemoryRecords::new()), embedder)
        .settings(settings)
        .open()
        .await?;
    let conversations = read_conversations(BufReader::new(File::open(file)?))?;
    let report = evaluate(&memory, &conversations, |_, _| {}).await?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
