//! The crates that decide have no means to act: neither an async runtime nor a network nor a database is in their
//! dependency tree.

use crate::{WorkspaceError, cargo, root};
use std::process::Command;

/// Brought in by tokio, reqwest and rusqlite, or one of them: what could do I/O.
pub const MEANS_TO_ACT: [&str; 8] = [
    "tokio",
    "reqwest",
    "rusqlite",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "rustls",
    "ureq",
];

/// A crate that a pure crate must not depend on, at whatever distance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} depends on {dependency} ({features}); `cargo tree --package {name} --edges normal --target all \
     --invert {dependency}` shows how"
)]
pub struct PurityFinding {
    /// The crate that has to be pure.
    pub name: String,
    /// What it depends on.
    pub dependency: String,
    /// Which of its features were on.
    pub features: Features,
}

/// The features a dependency tree is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// Those on by default.
    Default,
    /// All the crate has.
    All,
}

impl std::fmt::Display for Features {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Default => "default features",
            Self::All => "all features",
        })
    }
}

/// What `cargo tree` prints of the crate's normal dependencies on every platform, one a line.
pub fn tree(name: &str, features: Features) -> Result<String, WorkspaceError> {
    let mut arguments = vec![
        "tree",
        "--package",
        name,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--target",
        "all",
        "--locked",
    ];
    match features {
        Features::Default => {}
        Features::All => arguments.push("--all-features"),
    }
    let command = || format!("cargo {}", arguments.join(" "));
    let output = Command::new(cargo())
        .args(&arguments)
        .current_dir(root())
        .output()
        .map_err(|cause| WorkspaceError::NotStarted {
            command: command(),
            cause,
        })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(WorkspaceError::Failed {
            command: command(),
            stderr,
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The names in a tree as [`tree`] gives it: `serde v1.0.0 (proc-macro)` is `serde`.
pub fn names(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().filter_map(|line| line.split_whitespace().next())
}

/// Every crate of `forbidden` that is in the tree of `name`, once.
pub fn check(name: &str, features: Features, tree: &str, forbidden: &[&str]) -> Vec<PurityFinding> {
    forbidden
        .iter()
        .filter(|dependency| names(tree).any(|found| found == **dependency))
        .map(|dependency| PurityFinding {
            name: name.to_owned(),
            dependency: (*dependency).to_owned(),
            features,
        })
        .collect()
}
