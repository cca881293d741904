//! The `tidegate` program, built for the tests that run it.

use crate::workspace::{cargo, root};
use cargo_metadata::Message;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Why there is no program to run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Cargo could not be started.
    #[error("cannot start cargo to build the program; is it on the path?")]
    NotStarted(#[source] io::Error),
    /// The program does not build.
    #[error("`cargo build -p tidegate-cli --locked` failed; run it to see why. It said: {stderr}")]
    Failed {
        /// What cargo wrote to standard error.
        stderr: String,
    },
    /// What cargo said cannot be read.
    #[error("cannot read the messages of `cargo build --message-format=json`")]
    Unreadable(#[source] io::Error),
    /// Cargo built no such program.
    #[error("package tidegate-cli built no executable named `tidegate`; is its [[bin]] still called that?")]
    NoExecutable,
}

/// The program `tidegate`, as it is in this checkout: cargo builds it at the first call in a process, into the
/// target folder of the tests and with their environment, but for what tells of the package under test; later calls give the same path at once.
///
/// A package cannot name the executable of another one (`CARGO_BIN_EXE_tidegate` is for tests of `tidegate-cli`
/// alone), hence this. When several test processes ask at once, cargo lets one build and the others wait.
///
/// # Errors
/// If it cannot be built; the same error for every call in the process.
pub fn tidegate_binary() -> Result<&'static Path, &'static ProgramError> {
    static BINARY: OnceLock<Result<PathBuf, ProgramError>> = OnceLock::new();
    BINARY.get_or_init(build).as_deref()
}

fn build() -> Result<PathBuf, ProgramError> {
    let mut build = Command::new(cargo());
    // What cargo tells a test of its package is nothing to another build: build scripts that look at it would run again,
    // and all that depends on their crates would be compiled anew.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_package) {
            build.env_remove(name);
        }
    }
    let output = build
        .args([
            "build",
            "-p",
            "tidegate-cli",
            "--locked",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(root())
        .output()
        .map_err(ProgramError::NotStarted)?;
    if !output.status.success() {
        return Err(ProgramError::Failed {
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let mut executable = None;
    for message in Message::parse_stream(Cursor::new(output.stdout)) {
        if let Message::CompilerArtifact(artifact) = message.map_err(ProgramError::Unreadable)?
            && artifact.target.name == "tidegate"
            && let Some(path) = artifact.executable
        {
            executable = Some(path.into_std_path_buf());
        }
    }
    executable.ok_or(ProgramError::NoExecutable)
}
