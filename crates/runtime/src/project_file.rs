//! The project file of a workspace: found, labelled, and told whether the owner has approved it.

use crate::RuntimeError;
use crate::open::path_rules;
use crate::runtime::Shared;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tidegate_policy::{Integrity, Label, Origin, PathRule, ToolName};
use tidegate_prompt::project_file_candidates;

/// Bytes of a project file that are read: a prompt holds far less of it.
const MOST_BYTES: u64 = 1 << 20;

/// A project file as it lies there.
#[derive(Debug)]
pub(crate) struct FoundProjectFile {
    /// Its name, relative to the workspace if it is in it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// TRUSTED only if it is approved.
    pub(crate) label: Label,
    /// Whether the owner approved it, as it is now.
    pub(crate) is_approved: bool,
}

impl FoundProjectFile {
    /// Where its text came from.
    pub(crate) fn origin(&self) -> Origin {
        Origin::Tool {
            tool: ToolName::new("project_file"),
            resources: vec![self.name.clone()],
            source: None,
        }
    }
}

/// The project file that counts for a workspace, if there is one.
pub(crate) async fn find(
    shared: &Shared,
    workspace: &Path,
) -> Result<Option<FoundProjectFile>, RuntimeError> {
    if !shared.file_tools {
        return Ok(None);
    }
    let root = workspace
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok());
    for path in project_file_candidates(workspace, root) {
        let Some(content) = read(&path)? else { continue };
        let Some(mut label) = recorded_label(shared, workspace, &path).await? else {
            continue;
        };
        let is_approved = match &shared.trusted_files {
            Some(trusted) => trusted.is_trusted(&path, &content)?,
            None => false,
        };
        label.integrity = if is_approved {
            Integrity::Trusted
        } else {
            Integrity::Untrusted
        };
        let name = path.strip_prefix(workspace).ok().or_else(|| {
            let root = root?;
            path.strip_prefix(root).ok()
        });
        return Ok(Some(FoundProjectFile {
            name: name.unwrap_or(&path).display().to_string(),
            text: String::from_utf8_lossy(&content).into_owned(),
            label,
            is_approved,
        }));
    }
    Ok(None)
}

/// What its place says of a file, and what is recorded of it; none if it may not be read at all.
pub(crate) async fn recorded_label(
    shared: &Shared,
    workspace: &Path,
    path: &Path,
) -> Result<Option<Label>, RuntimeError> {
    let Some(mut label) = level(shared, workspace, path)? else {
        return Ok(None);
    };
    if let Some(key) = path.to_str()
        && let Some(known) = shared.store.file_label(key).await?
    {
        label = label.join(known.label);
    }
    for pending in shared.store.pending_writes().await? {
        let may_have_written =
            |place: &tidegate_store::PendingPlace| place.writable && path.starts_with(&place.path);
        if pending.places.iter().any(may_have_written) {
            label = label.join(pending.label);
        }
    }
    Ok(Some(label))
}

/// What its place says of it; none if it may not be read at all.
fn level(shared: &Shared, workspace: &Path, path: &Path) -> Result<Option<Label>, RuntimeError> {
    let class = path_rules(shared, workspace)?.classify(path);
    Ok(match class.rule {
        PathRule::OwnFile | PathRule::NotCanonical => None,
        // Above the workspace and in its repository, or named by the owner: as the workspace's own files.
        PathRule::Outside => Some(Label::trusted(shared.configuration.policy.workspace)),
        PathRule::Pattern(_) | PathRule::LevelFolder | PathRule::Workspace => Some(class.unknown_file()),
    })
}

/// The first bytes of a file. None of what is no file of its own: what a link leads to may be anything.
fn read(path: &PathBuf) -> Result<Option<Vec<u8>>, RuntimeError> {
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let unreadable = |cause| RuntimeError::Folder {
        what: "project file",
        path: path.clone(),
        hint: "make it readable, or move it away",
        cause,
    };
    let mut content = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES)
        .read_to_end(&mut content)
        .map_err(unreadable)?;
    Ok(Some(content))
}
