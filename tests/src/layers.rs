//! The order of the crates: a crate depends only on crates of a lower level, never on its own.
//!
//! A crate states its level in its manifest (`[package.metadata.tidegate] level = N`). Normal and build dependencies
//! are held to it, for every platform and feature; dev-dependencies are outside, since what only tests use cannot
//! reach a program.

use crate::{File, WorkspaceError, cargo, files, root};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use std::collections::BTreeMap;
use std::path::Path;

/// What the rule has to know of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The crate's name.
    pub name: String,
    /// Its manifest, from the workspace's folder.
    pub manifest: String,
    /// The level in its manifest, if a whole number from 0 is there.
    pub level: Option<u64>,
    /// Names of what it depends on, of whatever origin, with the kind of each dependency.
    pub dependencies: Vec<(String, DependencyKind)>,
}

/// Breaches of the rule, each with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerFinding {
    /// A crate states no level.
    #[error(
        "{manifest}: {name} has no `[package.metadata.tidegate] level = N`; give it one above what it depends on"
    )]
    NoLevel {
        /// The crate.
        name: String,
        /// Its manifest.
        manifest: String,
    },
    /// A dependency that does not lead downwards.
    #[error(
        "{name} (level {level}) depends on {dependency} (level {dependency_level}), which is not below it; \
         move what is needed into a lower crate, or turn the dependency round"
    )]
    NotBelow {
        /// The crate with the dependency.
        name: String,
        /// Its level.
        level: u64,
        /// The crate it depends on.
        dependency: String,
        /// The level of that crate.
        dependency_level: u64,
    },
    /// A manifest in the workspace's folder that is no member, so that nothing is known of its dependencies.
    #[error("{manifest} is not a member of the workspace, so nobody checks it; add it to `members`")]
    NotLookedAt {
        /// The manifest.
        manifest: String,
    },
}

/// What `cargo metadata` says of the members of the workspace, in the order of their names.
pub fn layers() -> Result<Vec<Layer>, WorkspaceError> {
    let mut layers = members(&metadata_of(root())?);
    // Packages that cannot be members, such as fuzz targets, are workspaces of their own and keep the levels all the same.
    for file in files()?.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let is_root = file.text.lines().any(|line| line.trim() == "[workspace]");
        if let (true, Some((folder, _))) = (is_root, file.path.rsplit_once('/')) {
            let others = members(&metadata_of(&root().join(folder))?);
            layers.extend(others.into_iter().map(|layer| Layer {
                manifest: format!("{folder}/{}", layer.manifest),
                ..layer
            }));
        }
    }
    layers.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(layers)
}

/// Without the dependencies' own metadata: it answers from the manifests alone, with no network and no lock file.
fn metadata_of(folder: &Path) -> Result<Metadata, WorkspaceError> {
    let mut command = MetadataCommand::new();
    command.cargo_path(cargo()).current_dir(folder).no_deps();
    Ok(command.exec()?)
}

/// The members of the workspace that `metadata` describes.
pub fn members(metadata: &Metadata) -> Vec<Layer> {
    let mut layers: Vec<Layer> = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Layer {
            name: package.name.to_string(),
            manifest: match package.manifest_path.strip_prefix(&metadata.workspace_root) {
                Ok(relative) => relative.as_str().replace('\\', "/"),
                Err(_) => package.manifest_path.to_string(),
            },
            level: package
                .metadata
                .get("tidegate")
                .and_then(|table| table.get("level")?.as_u64()),
            dependencies: package
                .dependencies
                .iter()
                .map(|dependency| (dependency.name.clone(), dependency.kind))
                .collect(),
        })
        .collect();
    layers.sort_by(|left, right| left.name.cmp(&right.name));
    layers
}

/// Every breach in `layers`, and every manifest among `files` that is none of theirs.
pub fn check(layers: &[Layer], files: &[File]) -> Vec<LayerFinding> {
    let mut findings = Vec::new();
    let levels: BTreeMap<&str, u64> = layers
        .iter()
        .filter_map(|layer| Some((layer.name.as_str(), layer.level?)))
        .collect();
    for layer in layers {
        let Some(level) = layer.level else {
            findings.push(LayerFinding::NoLevel {
                name: layer.name.clone(),
                manifest: layer.manifest.clone(),
            });
            continue;
        };
        for (dependency, kind) in &layer.dependencies {
            if *kind == DependencyKind::Development {
                continue;
            }
            // A crate without a level is a finding of its own; a name that is no member comes from outside.
            if let Some(dependency_level) = levels.get(dependency.as_str()).copied()
                && dependency_level >= level
            {
                findings.push(LayerFinding::NotBelow {
                    name: layer.name.clone(),
                    level,
                    dependency: dependency.clone(),
                    dependency_level,
                });
            }
        }
    }
    for file in files {
        let is_package = file.name() == "Cargo.toml" && file.path != "Cargo.toml";
        if is_package && !layers.iter().any(|layer| layer.manifest == file.path) {
            findings.push(LayerFinding::NotLookedAt {
                manifest: file.path.clone(),
            });
        }
    }
    findings
}
