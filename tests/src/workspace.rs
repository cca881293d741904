//! Reading the workspace as it lies on the disk.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Why the workspace could not be looked at. A rule that is broken is a finding, not an error.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A file or folder of the workspace could not be read.
    #[error("cannot read {path}; the tests need the whole checkout, not only a packaged crate")]
    Unreadable {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// `cargo metadata` failed.
    #[error("`cargo metadata` failed; run it in the workspace's folder to see why")]
    Metadata(#[from] cargo_metadata::Error),
    /// A command could not be started.
    #[error("cannot start `{command}`; is cargo on the path?")]
    NotStarted {
        /// The command line.
        command: String,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A command ended with an error.
    #[error("`{command}` failed; run it in the workspace's folder. It said: {stderr}")]
    Failed {
        /// The command line.
        command: String,
        /// What it wrote to standard error.
        stderr: String,
    },
}

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is, from the workspace's folder, with `/` between the names on every system.
    pub path: String,
    /// What it holds. Bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl File {
    /// A file that need not exist.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The workspace's folder.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The cargo that runs the tests, or the one on the path.
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Every file of the workspace, in the order of the paths: what a commit would hold. Left out are hidden files and
/// folders (other than the settings for cargo and the checks), cargo's output and links.
pub fn files() -> Result<Vec<File>, WorkspaceError> {
    let mut files = Vec::new();
    collect(root(), "", &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<(), WorkspaceError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        |cause| WorkspaceError::Unreadable { path, cause }
    };
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let entry = entry.map_err(unreadable(folder))?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(unreadable(&path))?;
        if name.starts_with('.')
            && !matches!(
                name.as_str(),
                ".cargo" | ".ci" | ".config" | ".github" | ".gitignore"
            )
        {
            continue;
        }
        let relative = format!("{prefix}{name}");
        // Cargo marks its output folders with this file, whatever they are called.
        if kind.is_dir() && !path.join("CACHEDIR.TAG").exists() {
            collect(&path, &format!("{relative}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(&path).map_err(unreadable(&path))?;
            files.push(File {
                path: relative,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    Ok(())
}

/// Findings as a list, one a line, for a failing test to print.
pub fn listing<T: fmt::Display>(findings: &[T]) -> String {
    findings.iter().map(|finding| format!("\n  {finding}")).collect()
}
