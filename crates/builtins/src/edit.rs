//! `edit_file`.

use crate::content::{FileState, Lines};
use crate::error::Failure;
use crate::path::{parse_file, shown};
use crate::place::{Target, resources};
use crate::read::{Content, look_again, read, source};
use crate::tool::{FileTool, Preparation, definition, local_write};
use crate::write::{aim, parse_writable, require_size};
use crate::{FileError, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_policy::{Label, Resource};
use tidegate_tools::{
    BoxFuture, CallContext, PreparedCall, ToolDefinition, ToolError, ToolOutput, graphemes_within,
};

/// How many places are listed where a text occurs more than once.
const PLACES: usize = 10;

/// How many lines around the first change are shown.
const AROUND: usize = 2;

/// How many changed lines are shown, and how many characters of each.
const SHOWN_LINES: usize = 20;
const SHOWN_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path of the file, relative to the workspace, as in notes/today.md.
    path: String,
    /// The text to replace, exactly as it is in the file.
    old_text: String,
    /// The text to put in its place; may be empty.
    new_text: String,
    /// Whether to replace it everywhere. Default: false, and then it has to be in the file just once.
    #[serde(default)]
    replace_all: bool,
}

/// The tool.
pub(crate) struct EditFile;

impl FileTool for EditFile {
    type Arguments = Arguments;

    fn definition() -> ToolDefinition {
        let definition =
            definition::<Arguments>("edit_file", include_str!("../templates/edit_file.txt"), &["path"]);
        local_write(definition, &["old_text", "new_text", "replace_all"])
    }

    fn touches(workspace: &Workspace, arguments: &Arguments) -> Option<Vec<Resource>> {
        let asked = parse_file(&arguments.path, &workspace.roots()).ok()?;
        let mut touches = vec![source(&asked, workspace.level(&asked))];
        touches.extend(resources(&asked, &workspace.classify(&asked), Label::BOTTOM));
        Some(touches)
    }

    fn prepare(workspace: Arc<Workspace>, arguments: Arguments, context: CallContext) -> Preparation {
        Box::pin(async move {
            let Arguments {
                path,
                old_text,
                new_text,
                replace_all,
            } = arguments;
            let asked = parse_writable(&path, &workspace, new_text.len() as u64)
                .map_err(|error| error.labelled(Label::BOTTOM))?;
            let change = Change::new(&asked, old_text, new_text, replace_all)?;
            let content = read(&workspace, &asked, Lines::ALL, &context).await?;
            let (aim, aimed) = aim(&workspace, &asked, &context).await?;
            let mut call = EditCall {
                workspace,
                asked,
                change,
                content,
                aim,
                aimed,
                resources: Vec::new(),
            };
            call.require_one_file()?;
            call.join_resources();
            let call: Box<dyn PreparedCall> = Box::new(call);
            Ok(call)
        })
    }
}

struct EditCall {
    workspace: Arc<Workspace>,
    asked: PathBuf,
    change: Change,
    content: Content,
    aim: Result<Target, Label>,
    /// The resources of the place alone.
    aimed: Vec<Resource>,
    resources: Vec<Resource>,
}

impl EditCall {
    /// What is read has to be what is replaced.
    fn require_one_file(&self) -> Result<(), Failure> {
        match (&self.content, &self.aim) {
            (Content::Read { file, label, .. }, Ok(target)) if !target.replaces(file.state) => {
                Err(FileError::Changed {
                    path: self.asked.clone(),
                }
                .labelled(*label))
            }
            _ => Ok(()),
        }
    }

    fn join_resources(&mut self) {
        self.resources = vec![source(&self.asked, self.content.label())];
        self.resources.extend(self.aimed.iter().cloned());
    }
}

impl PreparedCall for EditCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        self.aim.iter().map(Target::exact_name).collect()
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(async move {
            look_again(&self.workspace, &mut self.content).await?;
            if let (Ok(target), Content::Read { file, .. }) = (&mut self.aim, &self.content) {
                self.workspace.look_again_at(target, Some(file.state))?;
                self.aimed = target.resources(&self.workspace, &self.asked);
            }
            self.join_resources();
            Ok(self.resources.clone())
        })
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self {
                workspace,
                asked,
                change,
                content,
                aim,
                ..
            } = *self;
            let above = |label| FileError::AboveClearance { path: asked.clone() }.labelled(label);
            let target = aim.map_err(above)?;
            let (state, text, label): (FileState, _, Label) = match content {
                Content::Above(label) => return Err(above(label).into()),
                Content::Read { file, text, label } => (file.state, text, label),
            };
            let label = label.join(target.success_label(&workspace));
            let (text, _) = text.into_string(&target.path, label)?;
            let changed = change.apply(&text).map_err(|error| error.with_label(label))?;
            require_size(&target.path, changed.text.len() as u64).map_err(|error| error.labelled(label))?;
            let written = context.label.join(label);
            workspace
                .put(target, Some(state), changed.text.into_bytes(), written, &context)
                .await
                .map_err(|failure| failure.joined(label))?;
            Ok(ToolOutput::text(changed.told).with_label(label))
        })
    }
}

/// A replacement.
struct Change {
    path: String,
    old: String,
    new: String,
    everywhere: bool,
}

struct Changed {
    text: String,
    told: String,
}

impl Change {
    fn new(path: &Path, old: String, new: String, everywhere: bool) -> Result<Self, Failure> {
        if old.is_empty() || old == new {
            return Err(FileError::NothingToReplace {
                path: path.to_owned(),
            }
            .labelled(Label::BOTTOM));
        }
        Ok(Self {
            path: shown(path),
            old,
            new,
            everywhere,
        })
    }

    fn apply(&self, text: &str) -> Result<Changed, ToolError> {
        let first = text.find(&self.old).ok_or_else(|| self.not_found(text))?;
        let (changed, count) = if self.everywhere {
            (
                text.replace(&self.old, &self.new),
                text.matches(&self.old).count(),
            )
        } else {
            let places = self.places(text);
            if places.len() > 1 {
                return Err(self.not_unique(text, &places));
            }
            (text.replacen(&self.old, &self.new, 1), 1)
        };
        let times = if count == 1 {
            "1 place".into()
        } else {
            format!("{count} places")
        };
        let told = format!(
            "edited {}, {times}; now:\n{}",
            self.path,
            excerpt(&changed, first, self.new.len())
        );
        Ok(Changed { text: changed, told })
    }

    /// Where the text occurs, overlapping occurrences too; no more than are told and one.
    fn places(&self, text: &str) -> Vec<usize> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(&self.old)) {
            let place = from + found;
            places.push(place);
            if places.len() > PLACES {
                break;
            }
            from = text.ceil_char_boundary(place + 1);
        }
        places
    }

    fn not_unique(&self, text: &str, places: &[usize]) -> ToolError {
        let lines: Vec<String> = places
            .iter()
            .take(PLACES)
            .map(|place| line_of(text, *place).to_string())
            .collect();
        let (count, more) = if places.len() > PLACES {
            (format!("more than {PLACES} times"), ", ...")
        } else {
            (format!("{} times", places.len()), "")
        };
        ToolError::new(format!(
            "old_text is in {} {count}, at lines {}{more}; take in lines around it until it is unique, or set replace_all",
            self.path,
            lines.join(", "),
        ))
    }

    fn not_found(&self, text: &str) -> ToolError {
        let hint = if text.contains("\r\n") && text.contains(&self.old.replace('\n', "\r\n")) {
            "; the file's lines end with \\r\\n, so those of old_text have to".to_owned()
        } else {
            self.similar(text)
                .unwrap_or_else(|| "; read the file to see what it holds now".to_owned())
        };
        ToolError::new(format!("old_text is not in {}{hint}", self.path))
    }

    /// The line that differs from the first of the old text by white space alone.
    fn similar(&self, text: &str) -> Option<String> {
        let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = self.old.lines().map(plain).find(|line| !line.is_empty())?;
        let (index, line) = text.lines().enumerate().find(|(_, line)| plain(line) == wanted)?;
        Some(format!(
            "; line {} is similar, mind its white space and what follows: {}",
            index + 1,
            shortened(line)
        ))
    }
}

/// The number of the line in which the byte at `place` is, from 1.
fn line_of(text: &str, place: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(place)
        .filter(|byte| **byte == b'\n')
        .count()
}

/// The lines of `text` from `start`, `length` bytes long, and some around it, numbered.
fn excerpt(text: &str, start: usize, length: usize) -> String {
    let (first, last) = (
        line_of(text, start),
        line_of(text, start + length.saturating_sub(1)),
    );
    let from = first.saturating_sub(AROUND).max(1);
    let to = last.saturating_add(AROUND);
    let mut lines: Vec<String> = text
        .lines()
        .enumerate()
        .skip(from - 1)
        .take((to - from + 1).min(SHOWN_LINES))
        .map(|(index, line)| format!("{}: {}", index + 1, shortened(line)))
        .collect();
    if to - from + 1 > SHOWN_LINES {
        lines.push("...".into());
    }
    lines.join("\n")
}

fn shortened(line: &str) -> String {
    let kept = graphemes_within(line, SHOWN_CHARS);
    if kept.len() == line.len() {
        line.into()
    } else {
        format!("{kept}...")
    }
}
