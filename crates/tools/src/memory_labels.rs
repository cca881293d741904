//! Labels of files for programs that keep none beyond their own end.

use crate::{BoxFuture, FileLabels, FileLabelsError, KnownFile, LabelQuery, PendingWrites};
use std::collections::BTreeMap;
use std::future::ready;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// [`FileLabels`] in memory. For tests, and for programs whose workspaces do not outlive them: a workspace that is
/// used again needs a store, or what tools wrote in it counts as if a person had.
#[derive(Debug, Default)]
pub struct MemoryLabels {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, KnownFile>,
    pending: BTreeMap<String, PendingWrites>,
}

impl MemoryLabels {
    /// Without any label.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut State) -> T,
    ) -> BoxFuture<'static, Result<T, FileLabelsError>> {
        Box::pin(ready(Ok(work(&mut self.state()))))
    }
}

impl FileLabels for MemoryLabels {
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>> {
        self.done(|state| state.files.get(path).copied())
    }

    fn find(&self, query: LabelQuery) -> BoxFuture<'_, Result<Vec<(PathBuf, KnownFile)>, FileLabelsError>> {
        self.done(|state| {
            let files = state.files.iter();
            let mut found: Vec<(PathBuf, KnownFile)> = files
                .filter(|(path, known)| query.asks_for(path, known.label))
                .map(|(path, known)| (path.clone(), *known))
                .collect();
            // Paths compare name by name, which is another order.
            found.sort_by(|(left, _), (right, _)| {
                left.as_os_str().as_bytes().cmp(right.as_os_str().as_bytes())
            });
            found.truncate(query.limit);
            found
        })
    }

    fn put(&self, files: Vec<(PathBuf, KnownFile)>) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        self.done(|state| state.files.extend(files))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, FileLabelsError>> {
        self.done(|state| state.pending.values().cloned().collect())
    }

    fn begin(&self, work: PendingWrites) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        self.done(|state| drop(state.pending.insert(work.id.clone(), work)))
    }

    fn settle(
        &self,
        id: String,
        files: Vec<(PathBuf, KnownFile)>,
    ) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        self.done(|state| {
            state.files.extend(files);
            state.pending.remove(&id);
        })
    }
}
