//! `list_files`.

use crate::entries::{Entry, Kind};
use crate::error::Failure;
use crate::path::{Asked, parse, shown};
use crate::place::exact_name;
use crate::resolve::Resolved;
use crate::stop::{Stop, blocking};
use crate::tool::{FileTool, Preparation, definition};
use crate::{FileError, Workspace, beneath};
use globset::{GlobBuilder, GlobMatcher};
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Label, Resource};
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, ToolDefinition, ToolError, ToolOutput};

/// How many entries are shown unless said otherwise.
const LIMIT: u32 = 1000;

/// How many entries are shown at most.
const MOST: u32 = 10_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path of the folder, relative to the workspace. Default: the workspace itself.
    path: Option<String>,
    /// A glob such as *.md (names in any folder) or src/**/*.rs (paths from the listed folder).
    pattern: Option<String>,
    /// Whether to list the folders in it too. Default: false, but true if the pattern has a /.
    recursive: Option<bool>,
    /// How many entries to show at most, up to 10000. Default: 1000.
    #[schemars(range(max = 10000))]
    limit: Option<NonZeroU32>,
}

/// The tool.
pub(crate) struct ListFiles;

impl FileTool for ListFiles {
    type Arguments = Arguments;

    fn definition() -> ToolDefinition {
        definition::<Arguments>("list_files", include_str!("../templates/list_files.txt"), &[])
    }

    fn touches(workspace: &Workspace, arguments: &Arguments) -> Option<Vec<Resource>> {
        Scope::touches(workspace, arguments.path.as_deref())
    }

    fn prepare(workspace: Arc<Workspace>, arguments: Arguments, context: CallContext) -> Preparation {
        Box::pin(async move {
            let pattern = arguments.pattern.as_deref().map(Pattern::new).transpose()?;
            let has_slash = arguments
                .pattern
                .as_deref()
                .is_some_and(|pattern| pattern.contains('/'));
            let listing = Listing {
                pattern,
                recursive: arguments.recursive.unwrap_or(has_slash),
                limit: arguments.limit.map_or(LIMIT, NonZeroU32::get).min(MOST) as usize,
            };
            let scope = Scope::find(&workspace, arguments.path.as_deref(), true, &context).await?;
            let call: Box<dyn PreparedCall> = Box::new(ListCall {
                workspace,
                scope,
                listing,
            });
            Ok(call)
        })
    }
}

/// A glob over paths relative to the folder that is listed or searched.
pub(crate) struct Pattern {
    glob: GlobMatcher,
    /// Without a slash it is for names, in whatever folder.
    names: bool,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|cause| {
                FileError::Glob {
                    glob: text.into(),
                    cause,
                }
                .labelled(Label::BOTTOM)
            })?;
        Ok(Self {
            glob: glob.compile_matcher(),
            names: !text.contains('/'),
        })
    }

    pub(crate) fn matches(&self, entry: &Entry, start: &Path) -> bool {
        if self.names {
            self.glob.is_match(entry.name())
        } else {
            self.glob
                .is_match(entry.path.strip_prefix(start).unwrap_or(&entry.path))
        }
    }
}

/// What is listed or searched.
pub(crate) struct Scope {
    pub(crate) asked: PathBuf,
    pub(crate) at: At,
    pub(crate) resources: Vec<Resource>,
}

pub(crate) enum At {
    /// Above the clearance, and not touched.
    Above(Label),
    /// A folder, held open so that it can be told whether it is still the same; and the labels of the links that led
    /// there.
    Folder {
        path: PathBuf,
        folder: OwnedFd,
        links: Label,
    },
    /// A file, where that is allowed.
    File { path: PathBuf, links: Label },
}

impl Scope {
    /// Resolves the path, none for the workspace itself. Nothing of what is in a folder is read.
    pub(crate) async fn find(
        workspace: &Arc<Workspace>,
        path: Option<&str>,
        only_folders: bool,
        context: &CallContext,
    ) -> Result<Self, Failure> {
        let asked = match path {
            None => PathBuf::new(),
            Some(text) => {
                let Asked { path, .. } =
                    parse(text, &workspace.roots()).map_err(|error| error.labelled(Label::BOTTOM))?;
                path
            }
        };
        let at = {
            let (workspace, asked, clearance) = (Arc::clone(workspace), asked.clone(), context.clearance);
            blocking(&context.cancel, move |stop| {
                find(&workspace, &asked, clearance, only_folders, stop)
            })
            .await?
        };
        let label = match &at {
            At::Above(label) => *label,
            At::Folder { path, links, .. } | At::File { path, links } => workspace.level(path).join(*links),
        };
        let resources = vec![Resource::Source {
            what: Workspace::reference(&asked),
            label,
        }];
        Ok(Self { asked, at, resources })
    }

    /// What looking at `path` touches as far as the path tells.
    pub(crate) fn touches(workspace: &Workspace, path: Option<&str>) -> Option<Vec<Resource>> {
        let asked = match path {
            None => PathBuf::new(),
            Some(text) => parse(text, &workspace.roots()).ok()?.path,
        };
        Some(vec![Resource::Source {
            what: Workspace::reference(&asked),
            label: workspace.level(&asked),
        }])
    }

    /// The place itself, whatever it was called.
    pub(crate) fn resolved(&self) -> Vec<String> {
        match &self.at {
            At::Above(_) => Vec::new(),
            At::Folder { path, .. } | At::File { path, .. } => vec![exact_name(path)],
        }
    }

    /// That the folder is still where it was.
    pub(crate) fn look_again(&self, workspace: &Workspace) -> Result<Vec<Resource>, ToolError> {
        if let At::Folder { path, folder, links } = &self.at {
            workspace
                .require_place(path, folder)
                .map_err(|error| error.labelled(workspace.level(path).join(*links)))?;
        }
        Ok(self.resources.clone())
    }
}

fn find(
    workspace: &Workspace,
    asked: &Path,
    clearance: Classification,
    only_folders: bool,
    stop: &Stop,
) -> Result<At, Failure> {
    match workspace.resolve(asked, clearance)? {
        Resolved::Above(label) => Ok(At::Above(label)),
        Resolved::Missing { path, parent, links } => {
            Err(workspace.missing(&path, &parent, links, clearance, stop))
        }
        Resolved::Found {
            path,
            kind: FileType::Directory,
            links,
        } => {
            let label = workspace.level(&path).join(links);
            let folder = workspace
                .open_resolved(&path, beneath::FOLDER)
                .map_err(|error| error.labelled(label))?;
            Ok(At::Folder { path, folder, links })
        }
        Resolved::Found {
            path,
            kind: FileType::RegularFile,
            links,
        } if !only_folders => Ok(At::File { path, links }),
        Resolved::Found { path, links, .. } => {
            let label = workspace.level(&path).join(links);
            Err(FileError::NotAFolder { path }.labelled(label))
        }
    }
}

struct Listing {
    pattern: Option<Pattern>,
    recursive: bool,
    limit: usize,
}

struct ListCall {
    workspace: Arc<Workspace>,
    scope: Scope,
    listing: Listing,
}

impl PreparedCall for ListCall {
    fn resources(&self) -> &[Resource] {
        &self.scope.resources
    }

    fn resolved(&self) -> Vec<String> {
        self.scope.resolved()
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(std::future::ready(self.scope.look_again(&self.workspace)))
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self {
                workspace,
                scope,
                listing,
            } = *self;
            let clearance = context.clearance;
            let output = blocking(&context.cancel, move |stop| match scope.at {
                At::Above(label) => Err(FileError::AboveClearance { path: scope.asked }.labelled(label)),
                At::File { path, links } => {
                    let label = workspace.level(&path).join(links);
                    Err(FileError::NotAFolder { path }.labelled(label))
                }
                At::Folder { path, links, .. } => list(&workspace, &path, links, &listing, clearance, stop),
            })
            .await?;
            Ok(output)
        })
    }
}

fn list(
    workspace: &Arc<Workspace>,
    start: &Path,
    links: Label,
    listing: &Listing,
    clearance: Classification,
    stop: &Stop,
) -> Result<ToolOutput, Failure> {
    let mut walk = workspace.walk_entries(start, listing.recursive, clearance, stop.clone());
    let mut lines = Vec::new();
    while let Some(entry) = walk.next().map_err(|failure| failure.joined(links))? {
        if !listing
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.matches(&entry, start))
        {
            continue;
        }
        if lines.len() == listing.limit {
            lines.push(format!(
                "[only the first {}; narrow path or pattern, or raise limit]",
                listing.limit
            ));
            break;
        }
        lines.push(line(&entry));
    }
    let label = walk.label().join(links);
    lines.extend(walk.into_notes().into_iter().map(|note| format!("[{note}]")));
    if lines.is_empty() {
        let nothing = if listing.pattern.is_some() {
            "[nothing matches]"
        } else {
            "[nothing in it]"
        };
        lines.push(nothing.into());
    }
    Ok(ToolOutput::text(lines.join("\n")).with_label(label))
}

fn line(entry: &Entry) -> String {
    let path = shown(&entry.path);
    match &entry.kind {
        Kind::File => path,
        Kind::Folder => format!("{path}/"),
        Kind::Link(target) => format!("{path} -> {}", shown(target)),
        Kind::Special(what) => format!("{path} ({what})"),
    }
}
