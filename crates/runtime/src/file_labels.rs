//! Labels of files, kept in the store.

use std::path::Path;
use std::sync::Arc;
use tidegate_store::{FileLabel, Store, Write};
use tidegate_tools::{BoxFuture, ContentHash, FileLabels, FileLabelsError, KnownFile};

/// [`FileLabels`] over a [`Store`].
pub(crate) struct StoredLabels(pub(crate) Arc<dyn Store>);

/// Paths that are not UTF-8 are keyed by their Debug form, which keeps every byte apart.
fn key(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned)
}

impl FileLabels for StoredLabels {
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>> {
        Box::pin(async move {
            let known = self.0.file_label(&key(path)).await;
            known
                .map(|known| {
                    known.map(|FileLabel { hash, label }| KnownFile {
                        hash: ContentHash(hash),
                        label,
                    })
                })
                .map_err(|cause| FileLabelsError {
                    action: "read",
                    cause: Box::new(cause),
                })
        })
    }

    fn put<'a>(&'a self, path: &'a Path, known: KnownFile) -> BoxFuture<'a, Result<(), FileLabelsError>> {
        Box::pin(async move {
            let label = FileLabel {
                hash: known.hash.0,
                label: known.label,
            };
            let written = self.0.commit(vec![Write::FileLabel(key(path), label)]).await;
            written.map(drop).map_err(|cause| FileLabelsError {
                action: "written",
                cause: Box::new(cause),
            })
        })
    }
}
