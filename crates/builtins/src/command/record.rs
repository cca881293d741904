//! The labels of what a command wrote.

use super::CommandError;
use crate::Workspace;
use crate::content::{WHOLE, hash};
use crate::error::Failure;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use tidegate_policy::{Classification, Label};
use tidegate_tools::{ContentHash, KnownFile};

/// How many files get a record although their path tells the same.
const MOST_RECORDS: usize = 1_000;

/// A file a command wrote.
#[derive(Debug)]
pub(crate) struct Written {
    path: PathBuf,
    hash: ContentHash,
}

/// Those of the files a command `changed` that are to be recorded with `label`: the first thousand, and
/// beyond that all whose path alone would promise less secrecy or more trust.
pub(crate) fn written(
    workspace: &Workspace,
    changed: Vec<PathBuf>,
    label: Label,
    stop: &Stop,
) -> Result<Vec<Written>, Failure> {
    let mut found = Vec::new();
    for path in changed {
        stop.check()?;
        let told_by_path = label.is_within(workspace.level(&path));
        if found.len() < MOST_RECORDS || !told_by_path {
            let hash = content_hash(workspace, &path, stop);
            found.push(Written { path, hash });
        }
    }
    Ok(found)
}

/// The hash of a file that can be read whole, else one that no file has. What a command wrote is UNTRUSTED whether or
/// not the hash is that of the file, so that nothing depends on it.
fn content_hash(workspace: &Workspace, path: &Path, stop: &Stop) -> ContentHash {
    const UNKNOWN: ContentHash = ContentHash([0; 32]);
    let Ok(mut file) = workspace.open_file(path, Label::BOTTOM) else {
        return UNKNOWN;
    };
    if file.state.size > WHOLE {
        return UNKNOWN;
    }
    file.read_whole(stop).map_or(UNKNOWN, |bytes| hash(&bytes))
}

/// Records the labels, never a lower level than a file is known to have.
pub(crate) async fn record(
    workspace: &Workspace,
    written: Vec<Written>,
    label: Label,
) -> Result<(), CommandError> {
    let failed = |cause| CommandError::Labels { label, cause };
    let _one_at_a_time = workspace.writing().lock().await;
    for Written { path, hash } in written {
        let path = workspace.absolute(&path);
        let old = workspace.labels().get(&path).await.map_err(failed)?;
        let least = old.map_or(Classification::Public, |old| old.label.classification);
        let label = label.join(Label::trusted(least));
        workspace
            .labels()
            .put(&path, KnownFile { hash, label })
            .await
            .map_err(failed)?;
    }
    Ok(())
}
