//! Placeholder for path classification.
use crate::Classification;
use std::path::{Path, PathBuf};

/// Which row of the table gave a path its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathRule {
    /// One of the program's own files: RESTRICTED as a source, never a sink.
    OwnFile,
    /// A pattern of `[policy.paths]`, as written.
    Pattern(String),
    /// A folder of the workspace named after a level.
    LevelFolder,
    /// The rest of the workspace: `[policy] workspace`.
    Workspace,
    /// Outside the workspace: CONFIDENTIAL.
    Outside,
}

/// What a path is as a source and as a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLabel {
    /// Its level.
    pub classification: Classification,
    /// Why.
    pub rule: PathRule,
    /// Whether unknown files there are TRUSTED (a folder marked so in the configuration).
    pub trusted: bool,
}

/// Classifies canonical paths. See `PathRules::builder`.
#[derive(Clone, Debug)]
pub struct PathRules {}

/// Builds [`PathRules`].
#[derive(Clone, Debug, Default)]
pub struct PathRulesBuilder {
    /// The workspace.
    pub workspace: PathBuf,
}

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("placeholder")]
pub struct PathRulesError {}

impl PathRules {
    /// Classifies a canonical absolute path.
    pub fn classify(&self, _path: &Path) -> PathLabel {
        PathLabel { classification: Classification::Restricted, rule: PathRule::Outside, trusted: false }
    }
}
