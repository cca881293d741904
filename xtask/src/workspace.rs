//! Where the commands run, and with which cargo.

use anyhow::Context;
use std::path::Path;
use std::process::Command;
use xshell::Shell;

/// A shell in the workspace's folder, whatever folder the command was called from.
pub(crate) fn shell() -> anyhow::Result<Shell> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package
        .parent()
        .context("the package xtask is not in a folder of the workspace")?;
    let shell = Shell::new().context("cannot find out the working folder")?;
    shell.change_dir(root);
    Ok(shell)
}

/// What `program --version` prints, or `None` if the program is not installed. A subcommand of cargo goes by
/// `["cargo", "fmt"]`.
pub(crate) fn version(program: &[&str]) -> Option<String> {
    let (name, rest) = program.split_first()?;
    let output = Command::new(name).args(rest).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}
