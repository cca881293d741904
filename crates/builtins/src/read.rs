//! `read_file`.

use crate::content::{Lines, Opened, Text};
use crate::error::Failure;
use crate::path::{parse_file, shown};
use crate::place::exact_name;
use crate::resolve::{Resolved, special};
use crate::stop::{Stop, blocking};
use crate::tool::{FileTool, Preparation, definition};
use crate::{FileError, Workspace};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Classification, Label, Resource};
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, ToolDefinition, ToolError, ToolOutput};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path of the file, relative to the workspace, as in notes/today.md.
    path: String,
    /// The first line to read, from 1. Default: the first.
    offset: Option<NonZeroU64>,
    /// How many lines to read. Default: all.
    limit: Option<NonZeroU64>,
}

/// The tool.
pub(crate) struct ReadFile;

impl FileTool for ReadFile {
    type Arguments = Arguments;

    fn definition() -> ToolDefinition {
        definition::<Arguments>("read_file", include_str!("../templates/read_file.txt"), &[])
    }

    fn touches(workspace: &Workspace, arguments: &Arguments) -> Option<Vec<Resource>> {
        let asked = parse_file(&arguments.path, &workspace.roots()).ok()?;
        Some(vec![source(&asked, workspace.level(&asked))])
    }

    fn prepare(workspace: Arc<Workspace>, arguments: Arguments, context: CallContext) -> Preparation {
        Box::pin(async move {
            let asked = parse_file(&arguments.path, &workspace.roots())
                .map_err(|error| error.labelled(Label::BOTTOM))?;
            let lines = Lines::of(arguments.offset, arguments.limit);
            let content = read(&workspace, &asked, lines, &context).await?;
            let resources = vec![source(&asked, content.label())];
            let call: Box<dyn PreparedCall> = Box::new(ReadCall {
                workspace,
                asked,
                lines,
                content,
                resources,
            });
            Ok(call)
        })
    }
}

/// What reading a file gave.
pub(crate) enum Content {
    /// It is above the clearance. Its content was not read; if its path is, it was not touched either.
    Above(Label),
    /// Its content.
    Read {
        file: Opened,
        text: Text,
        /// The label of the content.
        label: Label,
    },
}

impl Content {
    pub(crate) fn label(&self) -> Label {
        match self {
            Self::Above(label) | Self::Read { label, .. } => *label,
        }
    }
}

pub(crate) fn source(asked: &Path, label: Label) -> Resource {
    Resource::Source {
        what: Workspace::reference(asked),
        label,
    }
}

/// Opens and reads `asked` if the session may.
pub(crate) async fn read(
    workspace: &Arc<Workspace>,
    asked: &Path,
    lines: Lines,
    context: &CallContext,
) -> Result<Content, Failure> {
    let clearance = context.clearance;
    let opened = {
        let (workspace, asked) = (Arc::clone(workspace), asked.to_owned());
        blocking(&context.cancel, move |stop| {
            open(&workspace, &asked, clearance, stop)
        })
        .await?
    };
    let mut file = match opened {
        Ok(file) => file,
        Err(above) => return Ok(Content::Above(above)),
    };
    let known = workspace.known(&file.path).await;
    let least = file.least(&known);
    if !least.can_flow_to(clearance) {
        return Ok(Content::Above(least));
    }
    let (file, text, mut label) = blocking(&context.cancel, move |stop| {
        let text = file.read(lines, stop).map_err(|failure| failure.joined(least))?;
        let label = file.label(&known, || text.hash);
        Ok((file, text, label))
    })
    .await?;
    // A command may have begun to write it meanwhile.
    label = label.join(workspace.known(&file.path).await.least());
    if !label.can_flow_to(clearance) {
        return Ok(Content::Above(label));
    }
    Ok(Content::Read { file, text, label })
}

/// Opens `asked` for reading; `Err` with its label if it is above the clearance.
fn open(
    workspace: &Workspace,
    asked: &Path,
    clearance: Classification,
    stop: &Stop,
) -> Result<Result<Opened, Label>, Failure> {
    match workspace.resolve(asked, clearance)? {
        Resolved::Above(label) => Ok(Err(label)),
        Resolved::Missing { path, parent, links } => {
            Err(workspace.missing(&path, &parent, links, clearance, stop))
        }
        Resolved::Found {
            path,
            kind: FileType::RegularFile,
            links,
        } => {
            let file = workspace.open_file(&path, links)?;
            let level = file.level();
            Ok(if level.can_flow_to(clearance) {
                Ok(file)
            } else {
                Err(level)
            })
        }
        // Only regular files are opened: opening a pipe or a device may do something.
        Resolved::Found { path, kind, links } => {
            let label = workspace.level(&path).join(links);
            let error = match kind {
                FileType::Directory => FileError::IsFolder { path },
                kind => FileError::Special {
                    path,
                    kind: special(kind),
                },
            };
            Err(error.labelled(label))
        }
    }
}

struct ReadCall {
    workspace: Arc<Workspace>,
    asked: PathBuf,
    lines: Lines,
    content: Content,
    resources: Vec<Resource>,
}

impl PreparedCall for ReadCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        match &self.content {
            Content::Above(_) => Vec::new(),
            Content::Read { file, .. } => vec![exact_name(&file.path)],
        }
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(async move {
            look_again(&self.workspace, &mut self.content).await?;
            self.resources = vec![source(&self.asked, self.content.label())];
            Ok(self.resources.clone())
        })
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self {
                asked,
                lines,
                content,
                ..
            } = *self;
            match content {
                Content::Above(label) => {
                    Err(FileError::AboveClearance { path: asked }.labelled(label).into())
                }
                Content::Read { text, label, .. } => Ok(told(&asked, lines, text, label)?),
            }
        })
    }
}

/// Reads the label again. It may only rise: the bytes are those that were judged.
pub(crate) async fn look_again(workspace: &Arc<Workspace>, content: &mut Content) -> Result<(), Failure> {
    if let Content::Read { file, text, label } = content {
        // A few system calls on what is open already.
        file.look_again(workspace)?;
        let known = workspace.known(&file.path).await;
        *label = label.join(file.label(&known, || text.hash));
    }
    Ok(())
}

/// The text, with a first line that says which part it is if it is one.
fn told(asked: &Path, wanted: Lines, text: Text, label: Label) -> Result<ToolOutput, Failure> {
    let (text, facts) = text.into_string(asked, label)?;
    let lines = facts.lines;
    if wanted.first > lines.max(1) {
        return Err(FileError::PastTheEnd {
            path: asked.to_owned(),
            lines,
            offset: wanted.first,
        }
        .labelled(label));
    }
    let last = wanted.first.saturating_add(wanted.count - 1).min(lines);
    let output = if wanted.first == 1 && last == lines {
        text
    } else {
        format!(
            "[lines {} to {last} of {lines} of {}]\n{text}",
            wanted.first,
            shown(asked)
        )
    };
    Ok(ToolOutput::text(output).with_label(label))
}
