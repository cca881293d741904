//! The labels of what a command wrote.

use super::reach::Change;
use crate::Workspace;
use crate::content::{WHOLE, hash};
use crate::error::Failure;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use tidegate_policy::Label;
use tidegate_tools::{ContentHash, FileLabelsError, KnownFile, PendingWrites};

/// How many files get a record although their path tells the same.
const MOST_RECORDS: usize = 1_000;

/// Those of the things a command `changed` that are to be recorded with `label`, by absolute path: the first thousand,
/// and beyond that all whose path alone would promise less secrecy or more trust.
pub(crate) fn written(
    workspace: &Workspace,
    changed: Vec<Change>,
    label: Label,
    stop: &Stop,
) -> Result<Vec<(PathBuf, KnownFile)>, Failure> {
    let mut found = Vec::new();
    for Change { path, is_file } in changed {
        stop.check()?;
        let told_by_path = label.is_within(workspace.level(&path));
        if found.len() < MOST_RECORDS || !told_by_path {
            let hash = if is_file {
                content_hash(workspace, &path, stop)
            } else {
                ContentHash::NONE
            };
            found.push((workspace.absolute(&path), KnownFile { hash, label }));
        }
    }
    Ok(found)
}

/// Those of all things there are that the work could have written and whose path alone would promise less secrecy or
/// more trust.
pub(crate) fn perhaps_written(
    workspace: &Workspace,
    everything: Vec<Change>,
    work: &PendingWrites,
) -> Vec<(PathBuf, KnownFile)> {
    let label = work.label;
    let hash = ContentHash::NONE;
    let everything = everything.into_iter().filter_map(|Change { path, .. }| {
        let told_by_path = label.is_within(workspace.level(&path));
        let path = workspace.absolute(&path);
        (!told_by_path && work.can_write(&path)).then_some((path, KnownFile { hash, label }))
    });
    everything.collect()
}

/// The hash of a file that can be read whole, else one that no file has. What a command wrote is UNTRUSTED whether or
/// not the hash is that of the file, so that nothing depends on it.
fn content_hash(workspace: &Workspace, path: &Path, stop: &Stop) -> ContentHash {
    let Ok(mut file) = workspace.open_file(path, Label::BOTTOM) else {
        return ContentHash::NONE;
    };
    if file.state.size > WHOLE {
        return ContentHash::NONE;
    }
    file.read_whole(stop)
        .map_or(ContentHash::NONE, |bytes| hash(&bytes))
}

/// Records the labels, never a lower level than a file is known to have, and that the work of this id is over.
pub(crate) async fn settle(
    workspace: &Workspace,
    id: String,
    written: Vec<(PathBuf, KnownFile)>,
) -> Result<(), FileLabelsError> {
    let _one_at_a_time = workspace.writing().lock().await;
    let written = workspace.never_lower(written).await?;
    workspace.labels().settle(id, written).await
}
