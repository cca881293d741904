//! Measures retrieval on a file of conversations: `cargo run --example evaluate -- FILE [hybrid|lexical|dense]`.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use tidegate_memory::evaluation::{evaluate, read_conversations};
use tidegate_memory::{HashedEmbedder, Memory, MemorySettings, Mode};
use tidegate_store::MemoryRecords;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file")?;
    let mode = match arguments.next().as_deref() {
        Some("lexical") => Mode::Lexical,
        Some("dense") => Mode::Dense,
        _ => Mode::Hybrid,
    };
    let settings = MemorySettings {
        mode,
        ..MemorySettings::default()
    };
    let memory = Memory::builder(Arc::new(MemoryRecords::new()), Arc::new(HashedEmbedder::new()))
        .settings(settings)
        .open()
        .await?;
    let conversations = read_conversations(BufReader::new(File::open(file)?))?;
    let report = evaluate(&memory, &conversations, |_, _| {}).await?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
