//! What can go wrong with an index.

use std::io;
use std::path::PathBuf;
use tidegate_memory::IndexError;

/// Why an index did not do what it was asked. Inside an [`IndexError`] it is the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QdrantError {
    /// The engine in the process refused or failed.
    #[error("the engine failed at {action}: {problem}")]
    Engine {
        /// What it was doing.
        action: &'static str,
        /// What it says, in one line.
        problem: String,
    },
    /// The engine in the process panicked. The index is closed, and opened again when it is next needed.
    #[error("the engine broke off at {action}: {problem}; it is opened again when it is next needed")]
    Panicked {
        /// What it was doing.
        action: &'static str,
        /// What it says, in one line.
        problem: String,
    },
    /// The folder cannot be used.
    #[error("the folder {} of the index cannot be used: {action}", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What failed.
        action: &'static str,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// What is in the folder is no index, or not a whole one. Nothing was changed.
    #[error(
        "the index in {} is damaged: {problem}. Nothing is lost, the records have everything; `tidegate memory reindex` \
         makes it anew",
        .path.display()
    )]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It was used before it was opened, or after it failed.
    #[error("the index is not open")]
    NotOpen,
    /// The thread that writes has ended.
    #[error("the thread that writes the index has ended; start the program again")]
    Stopped,
    /// Work on another thread ended before it was done.
    #[error("a search ended before it was done: {problem}")]
    Interrupted {
        /// What was wrong.
        problem: String,
    },
    /// A vector that cannot be one of the model's.
    #[error("a vector of {found} values was given to an index of vectors of {expected}")]
    Dimension {
        /// Its length.
        found: usize,
        /// The length of the others.
        expected: usize,
    },
    /// The address of a server that cannot be one.
    #[error("the address {url} of the index cannot be used: {problem}")]
    Address {
        /// The address, without what may be secret.
        url: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
    /// A setting outside its bounds.
    #[error("{name} is {given}; {valid}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What was given.
        given: String,
        /// What is valid.
        valid: &'static str,
    },
    /// The server answered with an error, or did not answer.
    #[error("the server answered {action} with {code}: {problem}")]
    Server {
        /// What was asked.
        action: &'static str,
        /// The gRPC status code.
        code: String,
        /// What it says, in one line.
        problem: String,
    },
    /// The server does not accept the key.
    #[error("the server refuses the API key ({code}); set the right one in `[memory.index] api_key`")]
    Refused {
        /// The gRPC status code.
        code: String,
    },
    /// A collection of that name is there, and is not one of ours.
    #[error(
        "the server has a collection {collection} with {points} points that Tidegate did not make. Nothing was changed; \
         set another `prefix` in `[memory.index]`"
    )]
    ForeignCollection {
        /// Its name.
        collection: String,
        /// How many points it holds.
        points: u64,
    },
    /// The server went back to an earlier state while it was in use, as after a restored backup.
    #[error(
        "the server has gone back to position {found} from {expected}; what it lacks is sent again from the records"
    )]
    WentBack {
        /// Where it is.
        found: u64,
        /// Where it was.
        expected: u64,
    },
    /// Something of the client that should not happen.
    #[error("the client failed at {action}: {problem}")]
    Client {
        /// What it was doing.
        action: &'static str,
        /// What it says, in one line.
        problem: String,
    },
}

impl QdrantError {
    /// As the error of the index `index`.
    pub(crate) fn of(self, index: &str) -> IndexError {
        let (index, is_damaged) = (index.to_owned(), matches!(self, Self::Damaged { .. }));
        let cause = Box::new(self);
        if is_damaged {
            IndexError::Damaged { index, cause }
        } else {
            IndexError::Failed { index, cause }
        }
    }
}

/// The first line of a text, at most 300 characters of it: engines and servers add traces and copies of requests.
pub(crate) fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    line.trim().chars().take(300).collect()
}
