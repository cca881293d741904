//! `cargo xtask ci`: everything a commit has to pass, in the order in which it fails fastest.

use crate::workspace::version;
use anyhow::{Context, bail};
use std::time::{Duration, Instant};
use xshell::{Cmd, Shell, cmd};

const BYTES_PER_GB: u64 = 1_000_000_000;

/// What a run from an empty target folder leaves in it, measured and rounded up.
const NEEDED_GB: u64 = 14;

/// Runs every step and stops at the first that fails.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let begin = Instant::now();
    tools()?;
    if std::env::var_os("CI").is_some() {
        // Nothing is built a second time there: what incremental builds keep would only fill the disk.
        shell.set_var("CARGO_INCREMENTAL", "0");
    }
    space()?;
    let is_deny_there = version(&["cargo", "deny"]).is_some();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for (name, command) in steps(shell, is_deny_there) {
        println!("\n== {name}");
        let start = Instant::now();
        command.run().with_context(|| {
            format!(
                "step `{name}` failed after {}; the steps after it were not run",
                seconds(start.elapsed())
            )
        })?;
        println!("== {name}: passed in {}", seconds(start.elapsed()));
        times.push((name, start.elapsed()));
    }

    println!("\nEvery step passed:");
    for (name, time) in times {
        println!("{:>9}  {name}", seconds(time));
    }
    println!("{:>9}  in all", seconds(begin.elapsed()));
    if !is_deny_there {
        println!(
            "Skipped: dependencies, since cargo-deny is not installed (`cargo install cargo-deny --locked`)."
        );
    }
    Ok(())
}

/// What a commit has to pass. The tests include those in documentation, and those of the workspace's own structure
/// (package `tidegate-tests`).
fn steps(shell: &Shell, is_deny_there: bool) -> Vec<(&'static str, Cmd<'_>)> {
    let mut steps = vec![
        ("format", cmd!(shell, "cargo fmt --all --check")),
        (
            "lints",
            cmd!(
                shell,
                "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings"
            ),
        ),
        ("tests", cmd!(shell, "cargo test --workspace --locked")),
        (
            "documentation",
            cmd!(shell, "cargo doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"),
        ),
    ];
    if is_deny_there {
        // Without advisories: their database comes from the network at every run.
        steps.push((
            "dependencies",
            cmd!(shell, "cargo deny check bans licenses sources"),
        ));
    }
    steps
}

/// Names the versions at work, or what to install.
fn tools() -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for (program, component) in [
        (["rustc"].as_slice(), None),
        (["cargo"].as_slice(), None),
        (["cargo", "fmt"].as_slice(), Some("rustfmt")),
        (["cargo", "clippy"].as_slice(), Some("clippy")),
    ] {
        match version(program) {
            Some(version) => println!("{version}"),
            None => missing.extend(component),
        }
    }
    if !missing.is_empty() {
        let missing = missing.join(" ");
        bail!(
            "missing parts of the toolchain: {missing}; install them with `rustup component add {missing}`"
        );
    }
    Ok(())
}

/// Says how much room there is for build results, since a linker that runs out of it does not.
fn space() -> anyhow::Result<()> {
    let target = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .exec()?
        .target_directory;
    std::fs::create_dir_all(&target)?;
    let file_system = rustix::fs::statvfs(target.as_std_path())
        .with_context(|| format!("cannot tell the free space at {target}"))?;
    let free = file_system.f_bavail.saturating_mul(file_system.f_frsize) / BYTES_PER_GB;
    println!("free space for build results: {free} GB");
    if free < NEEDED_GB {
        println!(
            "warning: a run from nothing takes up to {NEEDED_GB} GB; if linking fails with a bus error, \
             make room or point CARGO_TARGET_DIR to a larger disk"
        );
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
