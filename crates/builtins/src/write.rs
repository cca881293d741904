//! `write_file`.

use crate::content::WHOLE;
use crate::error::Failure;
use crate::path::{is_temporary_name, parse_file, shown};
use crate::place::{Aim, Target, resources};
use crate::stop::blocking;
use crate::tool::{FileTool, Preparation, definition, local_write};
use crate::{FileError, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Label, Resource};
use tidegate_tools::{BoxFuture, CallContext, PreparedCall, ToolDefinition, ToolError, ToolOutput};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path of the file, relative to the workspace, as in notes/today.md.
    path: String,
    /// The whole new content.
    content: String,
}

/// The tool.
pub(crate) struct WriteFile;

impl FileTool for WriteFile {
    type Arguments = Arguments;

    fn definition() -> ToolDefinition {
        let definition = definition::<Arguments>(
            "write_file",
            include_str!("../templates/write_file.txt"),
            &["path"],
        );
        local_write(definition, &["content"])
    }

    fn touches(workspace: &Workspace, arguments: &Arguments) -> Option<Vec<Resource>> {
        let asked = parse_file(&arguments.path, &workspace.roots()).ok()?;
        Some(resources(&asked, &workspace.classify(&asked), Label::BOTTOM))
    }

    fn prepare(workspace: Arc<Workspace>, arguments: Arguments, context: CallContext) -> Preparation {
        Box::pin(async move {
            let Arguments { path, content } = arguments;
            let asked = parse_writable(&path, &workspace, content.len() as u64)
                .map_err(|error| error.labelled(Label::BOTTOM))?;
            let (aim, resources) = aim(&workspace, &asked, &context).await?;
            let call: Box<dyn PreparedCall> = Box::new(WriteCall {
                workspace,
                asked,
                content,
                aim,
                resources,
            });
            Ok(call)
        })
    }
}

/// A path for a file that is to be `size` bytes long.
pub(crate) fn parse_writable(path: &str, workspace: &Workspace, size: u64) -> Result<PathBuf, FileError> {
    let path = parse_file(path, &workspace.roots())?;
    if path.iter().any(is_temporary_name) {
        return Err(FileError::TemporaryName { path });
    }
    require_size(&path, size)?;
    Ok(path)
}

/// What is written can be read again.
pub(crate) fn require_size(path: &Path, size: u64) -> Result<(), FileError> {
    if size <= WHOLE {
        return Ok(());
    }
    Err(FileError::TooLarge {
        path: path.to_owned(),
        size,
        limit: WHOLE,
        action: "written; write less",
    })
}

/// Resolves `asked` to a place to write to; `None` and its resources if that is above the clearance.
pub(crate) async fn aim(
    workspace: &Arc<Workspace>,
    asked: &Path,
    context: &CallContext,
) -> Result<(Result<Target, Label>, Vec<Resource>), Failure> {
    let (workspace, asked, clearance) = (Arc::clone(workspace), asked.to_owned(), context.clearance);
    blocking(&context.cancel, move |_| {
        match workspace.aim(&asked, clearance)? {
            Aim::At(target) => {
                let resources = target.resources(&workspace, &asked);
                Ok((Ok(target), resources))
            }
            Aim::Above(resources, label) => Ok((Err(label), resources)),
        }
    })
    .await
}

struct WriteCall {
    workspace: Arc<Workspace>,
    asked: PathBuf,
    content: String,
    aim: Result<Target, Label>,
    resources: Vec<Resource>,
}

impl PreparedCall for WriteCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        self.aim.iter().map(Target::exact_name).collect()
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(async move {
            if let Ok(target) = &mut self.aim {
                self.workspace.look_again_at(target, None)?;
                self.resources = target.resources(&self.workspace, &self.asked);
            }
            Ok(self.resources.clone())
        })
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self {
                workspace,
                asked,
                content,
                aim,
                ..
            } = *self;
            let target =
                aim.map_err(|label| FileError::AboveClearance { path: asked.clone() }.labelled(label))?;
            let label = target.success_label(&workspace);
            let written = format!("wrote {} bytes to {}", content.len(), shown(&target.path));
            workspace
                .put(target, None, content.into_bytes(), context.label, &context)
                .await?;
            Ok(ToolOutput::text(written).with_label(label))
        })
    }
}
