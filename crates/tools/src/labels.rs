//! Remembering the labels of files that tools wrote.

use crate::BoxFuture;
use std::path::Path;
use tidegate_policy::Label;

/// SHA-256 of a file's whole content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

/// What is known about a file a tool wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// The hash of the content that was written last.
    pub hash: ContentHash,
    /// The label of what was written.
    pub label: Label,
}

/// The store of file labels could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the labels of files cannot be {action}")]
pub struct FileLabelsError {
    /// `read` or `written`.
    pub action: &'static str,
    /// Why.
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Labels by canonical path. The runtime implements it over the store.
pub trait FileLabels: Send + Sync {
    /// What is known about the file at canonical `path`.
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>>;

    /// Records that content with `known.hash` and `known.label` is about to appear at canonical `path`.
    /// Durable when it returns; called before the content becomes visible.
    fn put<'a>(&'a self, path: &'a Path, known: KnownFile) -> BoxFuture<'a, Result<(), FileLabelsError>>;
}
