//! Labels of files, kept in the store.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_store::{FileLabel, FileLabelRange, PendingPlace, Store, StoreError, Write};
use tidegate_tools::{
    BoxFuture, ContentHash, FileLabels, FileLabelsError, KnownFile, LabelQuery, PendingWrites,
};

/// [`FileLabels`] over a [`Store`].
pub(crate) struct StoredLabels(pub(crate) Arc<dyn Store>);

/// Marks a byte that is no UTF-8, written behind it as two hexadecimal digits. It is in no path.
const ESCAPE: char = '\0';

/// A path as the store knows it. What is in a folder begins with the folder's path there, too; paths that are not
/// UTF-8 are told apart by every byte.
fn key(path: &[u8]) -> String {
    let mut key = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        key.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _infallible = write!(key, "{ESCAPE}{byte:02x}");
        }
    }
    key
}

pub(crate) fn key_of(path: &Path) -> String {
    key(path.as_os_str().as_bytes())
}

/// The path of a key.
fn path_of(key: &str) -> PathBuf {
    let mut parts = key.split(ESCAPE);
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        bytes.extend(u8::from_str_radix(digits, 16));
        bytes.extend_from_slice(rest.as_bytes());
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn failed(action: &'static str) -> impl Fn(StoreError) -> FileLabelsError {
    move |cause| FileLabelsError {
        action,
        cause: Box::new(cause),
    }
}

fn known(label: FileLabel) -> KnownFile {
    KnownFile {
        hash: ContentHash(label.hash),
        label: label.label,
    }
}

fn writes(files: Vec<(PathBuf, KnownFile)>) -> Vec<Write> {
    let write = |(path, known): (PathBuf, KnownFile)| {
        let label = FileLabel {
            hash: known.hash.0,
            label: known.label,
        };
        Write::FileLabel(key_of(&path), label)
    };
    files.into_iter().map(write).collect()
}

impl StoredLabels {
    async fn commit(&self, writes: Vec<Write>) -> Result<(), FileLabelsError> {
        if writes.is_empty() {
            return Ok(());
        }
        self.0.commit(writes).await.map(drop).map_err(failed("written"))
    }
}

impl FileLabels for StoredLabels {
    fn get<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Option<KnownFile>, FileLabelsError>> {
        Box::pin(async move {
            let label = self.0.file_label(&key_of(path)).await;
            label.map(|label| label.map(known)).map_err(failed("read"))
        })
    }

    fn find(&self, query: LabelQuery) -> BoxFuture<'_, Result<Vec<(PathBuf, KnownFile)>, FileLabelsError>> {
        Box::pin(async move {
            let (from, until) = query.range();
            let range = FileLabelRange {
                from: key(&from),
                until: key(&until),
                not_within: query.not_within,
                limit: query.limit,
            };
            let found = self.0.file_labels(range).await.map_err(failed("read"))?;
            let found = found
                .into_iter()
                .map(|(key, label)| (path_of(&key), known(label)));
            Ok(found.collect())
        })
    }

    fn put(&self, files: Vec<(PathBuf, KnownFile)>) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        Box::pin(self.commit(writes(files)))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, FileLabelsError>> {
        Box::pin(async move {
            let pending = self.0.pending_writes().await.map_err(failed("read"))?;
            let places = |places: Vec<PendingPlace>| {
                let places = places.into_iter();
                places
                    .map(|place| (path_of(&place.path), place.writable))
                    .collect()
            };
            let pending = pending.into_iter().map(|pending| PendingWrites {
                id: pending.id,
                since_ms: pending.since_ms,
                label: pending.label,
                places: places(pending.places),
            });
            Ok(pending.collect())
        })
    }

    fn begin(&self, work: PendingWrites) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        let place = |(path, writable): (PathBuf, bool)| PendingPlace {
            path: key_of(&path),
            writable,
        };
        let pending = tidegate_store::PendingWrites {
            id: work.id,
            since_ms: work.since_ms,
            label: work.label,
            places: work.places.into_iter().map(place).collect(),
        };
        Box::pin(self.commit(vec![Write::PendingWrites(pending)]))
    }

    fn settle(
        &self,
        id: String,
        files: Vec<(PathBuf, KnownFile)>,
    ) -> BoxFuture<'_, Result<(), FileLabelsError>> {
        let mut all = writes(files);
        all.push(Write::WritesSettled(id));
        Box::pin(self.commit(all))
    }
}

#[cfg(test)]
mod tests {
    use super::{key, key_of, path_of};
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::PathBuf;

    proptest! {
        #[test]
        fn a_path_comes_back_from_its_key_and_begins_with_that_of_its_folder(
            folder in proptest::collection::vec(1_u8.., 0..12),
            name in proptest::collection::vec(1_u8.., 0..12),
        ) {
            let folder = [folder.as_slice(), b"/"].concat();
            let path = PathBuf::from(OsString::from_vec([folder.as_slice(), &name].concat()));
            prop_assert_eq!(path_of(&key_of(&path)), path.clone());
            prop_assert!(key_of(&path).starts_with(&key(&folder)));
        }
    }
}
