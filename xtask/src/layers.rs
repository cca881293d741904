//! `cargo xtask layers`: the crates in their order.

use anyhow::Context;
use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use xshell::{Shell, cmd};

/// Prints every crate with its level and the crates of the workspace it depends on, then runs the test that they
/// only lead downwards.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(shell.current_dir())
        .no_deps()
        .exec()
        .context("cannot read the workspace; is every Cargo.toml valid?")?;
    let mut packages = metadata.workspace_packages();
    packages.sort_by_key(|package| (level(package), package.name.to_string()));
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default();

    println!("level  {:width$}  depends on", "crate");
    for package in &packages {
        let level = level(package).map_or_else(|| "none".to_owned(), |level| level.to_string());
        println!(
            "{level:>5}  {:width$}  {}",
            package.name,
            dependencies(package, &names).join(", ")
        );
    }
    println!();
    cmd!(shell, "cargo test --package tidegate-tests --test layers").run()?;
    Ok(())
}

fn level(package: &Package) -> Option<u64> {
    package.metadata.get("tidegate")?.get("level")?.as_u64()
}

/// The dependencies the order is about: on crates of the workspace, not only for tests.
fn dependencies<'a>(package: &'a Package, names: &[&str]) -> Vec<&'a str> {
    let mut dependencies: Vec<&str> = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| names.contains(name))
        .collect();
    dependencies.sort_unstable();
    dependencies.dedup();
    dependencies
}
