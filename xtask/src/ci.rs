//! `cargo xtask ci`: everything a commit has to pass, in the order in which it fails fastest.

use crate::models;
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
    let mut skipped: Vec<String> = Vec::new();
    for (name, work) in steps(shell, is_deny_there) {
        println!("\n== {name}");
        let start = Instant::now();
        let command = match work {
            Work::Command(command) => command,
            Work::Models => {
                if let Err(cause) = models::run(shell) {
                    println!("== {name}: not fetched ({cause:#}); going on without");
                    skipped.push(WITHOUT_MODELS.to_owned());
                }
                continue;
            }
        };
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
        skipped.push("licences and sources of dependencies: cargo-deny is not installed (`cargo install cargo-deny --locked`)".to_owned());
    }
    print!("{}", told(&skipped));
    Ok(())
}

/// What was not looked at, so that nobody takes it for passed; nothing if all was.
fn told(skipped: &[String]) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let rule = "=".repeat(80);
    let lines: String = skipped
        .iter()
        .map(|what| format!("  SKIPPED  {what}\n"))
        .collect();
    format!("\n{rule}\nNOT EVERYTHING WAS CHECKED\n{lines}{rule}\n")
}

/// What a step does.
enum Work<'a> {
    /// A command that has to succeed.
    Command(Cmd<'a>),
    /// Fetches what some tests compute with. Where there is no network these tests skip themselves.
    Models,
}

/// What is not tested where the models cannot be fetched.
const WITHOUT_MODELS: &str = "tests with all-MiniLM-L6-v2 and with ONNX Runtime: they could not be fetched, and pass without \
                              testing anything (`cargo xtask models` says why)";

/// What a commit has to pass. The tests include those in documentation, and those of the workspace's own structure
/// (package `tidegate-tests`).
fn steps(shell: &Shell, is_deny_there: bool) -> Vec<(&'static str, Work<'_>)> {
    let mut steps = vec![
        ("format", Work::Command(cmd!(shell, "cargo fmt --all --check"))),
        (
            "lints",
            Work::Command(cmd!(
                shell,
                "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings"
            )),
        ),
        ("models", Work::Models),
        (
            "tests",
            Work::Command(cmd!(shell, "cargo test --workspace --locked")),
        ),
        (
            "documentation",
            Work::Command(
                cmd!(shell, "cargo doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"),
            ),
        ),
    ];
    if is_deny_there {
        // Without advisories: their database comes from the network at every run.
        steps.push((
            "dependencies",
            Work::Command(cmd!(shell, "cargo deny check bans licenses sources")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_fetched_before_the_tests_that_need_them() {
        let shell = Shell::new().unwrap();
        let names: Vec<&str> = steps(&shell, true).iter().map(|(name, _)| *name).collect();
        let place = |name| names.iter().position(|found| *found == name).unwrap();
        assert!(place("models") < place("tests"), "{names:?}");
    }

    #[test]
    fn what_was_skipped_stands_out_at_the_end() {
        assert_eq!(told(&[]), "");
        let told = told(&[WITHOUT_MODELS.to_owned(), "more".to_owned()]);
        assert!(told.contains("\nNOT EVERYTHING WAS CHECKED\n"), "{told}");
        assert_eq!(told.matches("  SKIPPED  ").count(), 2, "{told}");
        assert!(told.contains("all-MiniLM-L6-v2"), "{told}");
    }
}
