//! `search_files`.

use crate::content::{Known, Opened, WHOLE, hash};
use crate::entries::{Entry, Kind};
use crate::error::Failure;
use crate::list::{At, Pattern, Scope};
use crate::path::shown;
use crate::stop::{Stop, blocking};
use crate::tool::{FileTool, Preparation, definition};
use crate::{FileError, Workspace};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use tidegate_policy::{Classification, Integrity, Label, Resource};
use tidegate_tools::{
    BoxFuture, CallContext, ContentHash, PreparedCall, ToolDefinition, ToolError, ToolOutput,
    graphemes_within,
};
use tokio::runtime::Handle;

/// How many matching lines are shown unless said otherwise.
const LIMIT: u32 = 200;

/// How many matching lines are shown at most.
const MOST: u32 = 2000;

/// How much is searched in one call, in bytes.
const TOTAL: u64 = 256 << 20;

/// How many characters of a line are shown, and how many of them from before the match.
const SHOWN: usize = 300;
const BEFORE: usize = 100;

/// How large a compiled expression may be, in bytes.
const EXPRESSION: usize = 1 << 20;

/// The bytes at the start of a file that decide whether it is binary before the rest is looked at.
const HEAD: usize = 8 << 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The regular expression, matched within single lines; no look-around, no back-references.
    pattern: String,
    /// Path of the folder or file to search, relative to the workspace. Default: the workspace itself.
    path: Option<String>,
    /// Search only files that match this glob, such as *.md (names in any folder) or src/**/*.rs.
    glob: Option<String>,
    /// Whether upper and lower case are the same. Default: false.
    #[serde(default)]
    case_insensitive: bool,
    /// How many lines to show at most, up to 2000. Default: 200.
    #[schemars(range(max = 2000))]
    limit: Option<NonZeroU32>,
}

/// The tool.
pub(crate) struct SearchFiles;

impl FileTool for SearchFiles {
    type Arguments = Arguments;

    fn definition() -> ToolDefinition {
        definition::<Arguments>("search_files", include_str!("../templates/search_files.txt"), &[])
    }

    fn touches(workspace: &Workspace, arguments: &Arguments) -> Option<Vec<Resource>> {
        Scope::touches(workspace, arguments.path.as_deref())
    }

    fn prepare(workspace: Arc<Workspace>, arguments: Arguments, context: CallContext) -> Preparation {
        Box::pin(async move {
            let expression = RegexBuilder::new(&arguments.pattern)
                .case_insensitive(arguments.case_insensitive)
                .size_limit(EXPRESSION)
                .dfa_size_limit(EXPRESSION)
                .build()
                .map_err(|cause| {
                    FileError::Expression {
                        cause: Box::new(cause),
                    }
                    .labelled(Label::BOTTOM)
                })?;
            let glob = arguments.glob.as_deref().map(Pattern::new).transpose()?;
            let limit = arguments.limit.map_or(LIMIT, NonZeroU32::get).min(MOST) as usize;
            let scope = Scope::find(&workspace, arguments.path.as_deref(), false, &context).await?;
            let wanted = Wanted {
                expression,
                glob,
                limit,
            };
            let call: Box<dyn PreparedCall> = Box::new(SearchCall {
                workspace,
                scope,
                wanted,
            });
            Ok(call)
        })
    }
}

struct Wanted {
    expression: Regex,
    glob: Option<Pattern>,
    limit: usize,
}

struct SearchCall {
    workspace: Arc<Workspace>,
    scope: Scope,
    wanted: Wanted,
}

impl PreparedCall for SearchCall {
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
                wanted,
            } = *self;
            let clearance = context.clearance;
            // The labels of files are asked for asynchronously, from within the blocking work.
            let runtime = Handle::current();
            let output = blocking(&context.cancel, move |stop| {
                let mut search = Search::new(&workspace, &wanted, clearance, stop, &runtime);
                match &scope.at {
                    At::Above(label) => {
                        return Err(FileError::AboveClearance { path: scope.asked }.labelled(*label));
                    }
                    At::Folder { path, links, .. } => search.folder(path, *links)?,
                    At::File { path, links } => search.named_file(path, *links)?,
                }
                Ok(search.told())
            })
            .await?;
            Ok(output)
        })
    }
}

struct Search<'a> {
    workspace: &'a Arc<Workspace>,
    wanted: &'a Wanted,
    clearance: Classification,
    stop: &'a Stop,
    runtime: &'a Handle,
    label: Label,
    lines: Vec<String>,
    bytes: u64,
    binary: usize,
    large: usize,
    unreadable: usize,
    notes: Vec<String>,
}

/// Whether to go on.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Enough,
}

impl<'a> Search<'a> {
    fn new(
        workspace: &'a Arc<Workspace>,
        wanted: &'a Wanted,
        clearance: Classification,
        stop: &'a Stop,
        runtime: &'a Handle,
    ) -> Self {
        Self {
            workspace,
            wanted,
            clearance,
            stop,
            runtime,
            label: Label::BOTTOM,
            lines: Vec::new(),
            bytes: 0,
            binary: 0,
            large: 0,
            unreadable: 0,
            notes: Vec::new(),
        }
    }

    fn folder(&mut self, start: &Path, links: Label) -> Result<(), Failure> {
        self.label = self.label.join(links);
        let mut walk = self
            .workspace
            .walk_entries(start, true, self.clearance, self.stop.clone());
        while let Some(entry) = walk.next().map_err(|failure| failure.joined(self.label))? {
            if self.is_wanted(&entry, start) && self.file(&entry.path)? == Then::Enough {
                break;
            }
        }
        self.label = self.label.join(walk.label());
        self.notes.extend(walk.into_notes());
        Ok(())
    }

    fn is_wanted(&self, entry: &Entry, start: &Path) -> bool {
        entry.kind == Kind::File
            && self
                .wanted
                .glob
                .as_ref()
                .is_none_or(|glob| glob.matches(entry, start))
    }

    /// A file that was named is looked at like the others, but of what it cannot be it is said why.
    fn named_file(&mut self, path: &Path, links: Label) -> Result<(), Failure> {
        self.label = self.workspace.level(path).join(links);
        self.file(path).map(drop)
    }

    fn file(&mut self, path: &Path) -> Result<Then, Failure> {
        self.stop.check()?;
        let mut file = match self.workspace.open_file(path, Label::BOTTOM) {
            Ok(file) => file,
            // Gone or replaced since its folder was read.
            Err(Failure {
                error: FileError::Changed { .. } | FileError::Special { .. },
                ..
            }) => return Ok(Then::GoOn),
            Err(_) => {
                self.unreadable += 1;
                return Ok(Then::GoOn);
            }
        };
        let known = self.runtime.block_on(self.workspace.known(path));
        let least = file.least(&known);
        // Its folder may list it, but what is in it is not for this session: no trace of it.
        if !least.can_flow_to(self.clearance) {
            return Ok(Then::GoOn);
        }
        if file.state.size > WHOLE {
            self.label = self.label.join(least);
            self.large += 1;
            return Ok(Then::GoOn);
        }
        let bytes = match file.read_whole(self.stop) {
            Ok(bytes) => bytes,
            Err(failure) if matches!(failure.error, FileError::Cancelled { .. }) => return Err(failure),
            Err(failure) => {
                self.label = self.label.join(failure.label);
                self.unreadable += 1;
                return Ok(Then::GoOn);
            }
        };
        // A command may have begun to write it meanwhile.
        let least = self.runtime.block_on(self.workspace.known(path)).least();
        if !least.can_flow_to(self.clearance) {
            return Ok(Then::GoOn);
        }
        self.label = self
            .label
            .join(least)
            .join(self.content_label(&file, &known, &bytes));
        self.bytes += bytes.len() as u64;
        if bytes.iter().take(HEAD).any(|byte| *byte == 0) {
            self.binary += 1;
            return Ok(Then::GoOn);
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) if !text.contains('\0') => {
                if self.lines_of(path, text)? == Then::Enough {
                    return Ok(Then::Enough);
                }
            }
            Ok(_) | Err(_) => self.binary += 1,
        }
        if self.bytes > TOTAL {
            self.notes
                .push(format!("stopped after {} MiB; narrow path or glob", TOTAL >> 20));
            return Ok(Then::Enough);
        }
        Ok(Then::GoOn)
    }

    fn content_label(&self, file: &Opened, known: &Known, bytes: &[u8]) -> Label {
        file.label(known, || match self.label.integrity {
            // The hash decides about integrity alone, and that is lost already: no need to compute it.
            Integrity::Untrusted => ContentHash([0; 32]),
            Integrity::Trusted => hash(bytes),
        })
    }

    fn lines_of(&mut self, path: &Path, text: &str) -> Result<Then, Failure> {
        let mut name = None;
        for (index, line) in text.lines().enumerate() {
            if index % 4096 == 0 {
                self.stop.check()?;
            }
            let Some(found) = self.wanted.expression.find(line) else {
                continue;
            };
            if self.lines.len() == self.wanted.limit {
                let limit = self.wanted.limit;
                self.notes.push(format!(
                    "only the first {limit} lines; narrow pattern, path or glob, or raise limit"
                ));
                return Ok(Then::Enough);
            }
            let name = name.get_or_insert_with(|| shown(path));
            self.lines
                .push(format!("{name}:{}: {}", index + 1, around(line, found.start())));
        }
        Ok(Then::GoOn)
    }

    fn told(mut self) -> ToolOutput {
        if self.lines.is_empty() {
            self.notes.insert(0, "no line matches".into());
        }
        for (count, why) in [
            (self.binary, "binary"),
            (self.large, "over 16 MiB"),
            (self.unreadable, "not readable"),
        ] {
            match count {
                0 => {}
                1 => self.notes.push(format!("1 file was passed over: {why}")),
                count => self.notes.push(format!("{count} files were passed over: {why}")),
            }
        }
        self.lines
            .extend(self.notes.into_iter().map(|note| format!("[{note}]")));
        ToolOutput::text(self.lines.join("\n")).with_label(self.label)
    }
}

/// The part of a long line around the byte where the match begins.
fn around(line: &str, at: usize) -> String {
    let before = line.get(..at).unwrap_or_default();
    let left_out = before.chars().count().saturating_sub(BEFORE);
    // A line that fits is shown whole, wherever the match is.
    let whole = graphemes_within(line, SHOWN);
    if whole.len() == line.len() || left_out == 0 {
        let more = if whole.len() == line.len() { "" } else { "..." };
        return format!("{whole}{more}");
    }
    let start = graphemes_within(line, left_out).len();
    let rest = line.get(start..).unwrap_or_default();
    let kept = graphemes_within(rest, SHOWN);
    let more = if kept.len() == rest.len() { "" } else { "..." };
    format!("...{kept}{more}")
}
