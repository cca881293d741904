//! The tool.

use super::journal::{begin, settle_forgotten};
use super::own::require_out_of_reach;
use super::process::{Finished, MOST_OUTPUT, Stopped, run};
use super::reach::{Reach, access};
use super::record::{settle, written};
use super::told::told;
use super::{CommandError, CommandSettings, confinement_available};
use crate::confine::{Access, CommandLimits, Confinement, Plan, View, environment};
use crate::error::Failure;
use crate::path::{parse, shown};
use crate::place::exact_name;
use crate::recorded::MOST_LABELS;
use crate::resolve::{Resolved, special};
use crate::stop::blocking;
use crate::tool::definition;
use crate::{FileError, Workspace};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_policy::{
    ActionClass, Classification, Label, PathRule, Resource, ResourceKind, ResourceRef, Role, SinkLevel,
};
use tidegate_tools::{
    BoxFuture, CallContext, Cancel, NeverCancelled, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput,
};
use tokio::sync::{OnceCell, oneshot};

/// How long a command may run if nothing else is said, in seconds.
const TIMEOUT: u64 = 120;

/// How long a command may run at most, in seconds.
const MOST_TIMEOUT: u64 = 600;

/// How long the tool takes beyond that to stop the command and record what it wrote.
const AFTERWARDS: Duration = Duration::from_secs(60);

/// The level of what lies outside the workspace.
const OUTSIDE: Classification = Classification::Confidential;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command line, as for sh -c.
    command: String,
    /// The folder to run it in, relative to the workspace. A folder of a higher level makes the command work at that
    /// level. Default: the workspace.
    folder: Option<String>,
    /// What it gets as standard input. Default: nothing.
    #[schemars(length(max = 1_000_000))]
    stdin: Option<String>,
    /// Seconds after which it is stopped. Default: 120.
    #[schemars(range(min = 1, max = MOST_TIMEOUT))]
    timeout_s: Option<u64>,
}

/// The tool `run_command`, for role ADMIN, consequential; the control arguments are `command`, `folder` and `stdin`.
///
/// A **confined** command works at one level: the highest of the context's, of the workspace's and of its folder's. It
/// reads what is at most of that level and writes what is exactly of it; outside the workspace it reads the
/// system's software, and everything else only if it works at CONFIDENTIAL (the level of what is outside) or above.
/// So that level is its level as a source and as a sink, and no command can carry anything down. What it wrote is
/// recorded with that level, UNTRUSTED.
///
/// Where the system cannot confine (tried once, at the first call), a command is RESTRICTED as a source and PUBLIC as a
/// sink, which leaves it to sessions that hold nothing yet and may read everything.
///
/// See [`confine`](crate::confine) for what confining is.
pub fn run_command(settings: CommandSettings) -> Arc<dyn Tool> {
    let mut definition = definition::<Arguments>(
        "run_command",
        include_str!("../../templates/run_command.txt"),
        &["command", "folder", "stdin"],
    );
    // Everything about it decides what it does: the owner's own words, whole, or the owner is asked.
    definition.policy.integrity.action = ActionClass::LocalWrite;
    definition.policy.role = Role::Admin;
    definition.timeout = Some(Duration::from_secs(MOST_TIMEOUT) + AFTERWARDS);
    Arc::new(RunCommand {
        definition,
        commands: Arc::new(Commands {
            settings,
            confines: OnceCell::new(),
        }),
    })
}

struct RunCommand {
    definition: ToolDefinition,
    commands: Arc<Commands>,
}

struct Commands {
    settings: CommandSettings,
    confines: OnceCell<bool>,
}

impl Tool for RunCommand {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        Box::pin(async move {
            // The schema was checked; what is left are rules of the types that no schema can express.
            let arguments = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
                ToolError::new(format!("arguments of {}: {error}", self.definition.spec.name))
            })?;
            check(&arguments, &self.commands.settings.workspace)
                .map_err(|error| error.told(Label::BOTTOM))?;
            let confined = self.commands.confines().await;
            let mut call = CommandCall {
                commands: Arc::clone(&self.commands),
                folder: PathBuf::new(),
                level: context.label.classification,
                above: None,
                reach: None,
                confined,
                resources: Vec::new(),
                arguments,
                context: context.clone(),
            };
            call.look().await?;
            let call: Box<dyn PreparedCall> = Box::new(call);
            Ok(call)
        })
    }
}

fn check(arguments: &Arguments, workspace: &Workspace) -> Result<(), CommandError> {
    let problem = if arguments.command.trim().is_empty() {
        Some("is empty")
    } else if arguments.command.contains('\0') {
        Some("holds a zero byte")
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(CommandError::Command { problem });
    }
    let seconds = arguments.timeout_s.unwrap_or(TIMEOUT);
    if !(1..=MOST_TIMEOUT).contains(&seconds) {
        return Err(CommandError::Timeout {
            given: seconds,
            most: MOST_TIMEOUT,
        });
    }
    let root = workspace.root();
    let of_the_system = ["/dev", "/proc", "/sys", "/private"]
        .iter()
        .any(|folder| root.starts_with(folder));
    if root == Path::new("/") || of_the_system {
        return Err(CommandError::Root {
            root: root.to_owned(),
        });
    }
    Ok(())
}

impl Commands {
    /// Whether commands are confined. Tried once.
    async fn confines(&self) -> bool {
        let try_it = || async {
            self.settings.confined && confinement_available(&self.settings.launcher).await.is_ok()
        };
        *self.confines.get_or_init(try_it).await
    }
}

struct CommandCall {
    commands: Arc<Commands>,
    arguments: Arguments,
    context: CallContext,
    confined: bool,
    /// The folder to run it in, relative to the workspace, without links.
    folder: PathBuf,
    /// What a confined command works at.
    level: Classification,
    /// The label of a folder the session may not read; nothing was looked at.
    above: Option<Label>,
    reach: Option<Reach>,
    resources: Vec<Resource>,
}

/// What looking at the workspace gave.
enum Looked {
    Above(Label),
    At {
        folder: PathBuf,
        level: Classification,
        reach: Result<Reach, CommandError>,
    },
}

impl CommandCall {
    /// Resolves the folder and looks through the workspace.
    async fn look(&mut self) -> Result<(), ToolError> {
        let workspace = Arc::clone(&self.commands.settings.workspace);
        let folder = match &self.arguments.folder {
            Some(folder) => {
                parse(folder, &workspace.roots())
                    .map_err(|error| error.labelled(Label::BOTTOM))?
                    .path
            }
            None => PathBuf::new(),
        };
        let (context, confined) = (self.context.clone(), self.confined);
        let own = self.commands.settings.own_files.clone();
        let looked = blocking(&self.context.cancel, move |stop| {
            let (clearance, produced_by) = (context.clearance, context.label.classification);
            let (folder, label) = match folder_at(&workspace, &folder, clearance, stop)? {
                Ok(found) => found,
                Err(above) => return Ok(Looked::Above(above)),
            };
            let workspace_level = workspace.level(Path::new("")).classification;
            let level = produced_by.max(workspace_level).max(label.classification);
            if !confined {
                // What it can reach is not for this walk to say; it only tells which files change.
                let reach = Reach::of(&workspace, Classification::Restricted, stop)?;
                return Ok(Looked::At { folder, level, reach });
            }
            if !level.can_flow_to(clearance) {
                return Ok(Looked::Above(Label::untrusted(level)));
            }
            let level = match raised(&workspace, level) {
                Ok(level) => level,
                Err(error) => {
                    return Ok(Looked::At {
                        folder,
                        level,
                        reach: Err(error),
                    });
                }
            };
            if !level.can_flow_to(clearance) {
                return Ok(Looked::Above(Label::untrusted(level)));
            }
            let reach = Reach::of(&workspace, level, stop)?.and_then(|reach| {
                require_out_of_reach(&own, &workspace, &reach)?;
                Ok(reach)
            });
            Ok(Looked::At { folder, level, reach })
        })
        .await?;
        let label = match looked {
            Looked::Above(label) => {
                self.above = Some(label);
                label
            }
            Looked::At { folder, level, reach } => {
                let label = Label::untrusted(level);
                self.reach = Some(reach.map_err(|error| error.told(label))?);
                self.folder = folder;
                self.level = level;
                self.label()
            }
        };
        let what = ResourceRef {
            kind: ResourceKind::Command,
            name: self.arguments.command.clone(),
        };
        let sink = if self.confined {
            label.classification
        } else {
            Classification::Public
        };
        self.resources = vec![
            Resource::Source {
                what: what.clone(),
                label,
            },
            Resource::Sink {
                what,
                level: SinkLevel::Level(sink),
            },
        ];
        Ok(())
    }

    /// The label of what the command can read, and so of what it says and writes.
    fn label(&self) -> Label {
        if self.confined {
            Label::untrusted(self.level)
        } else {
            Label::UNREADABLE
        }
    }

    fn plan(&self, private: Option<&Path>) -> Plan {
        let workspace = &self.commands.settings.workspace;
        Plan {
            command: self.arguments.command.clone(),
            folder: workspace.absolute(&self.folder),
            stdin: self.arguments.stdin.clone(),
            environment: environment(private),
            limits: self.commands.settings.limits,
            confinement: self.confined.then(|| self.confinement()),
        }
    }

    fn confinement(&self) -> Confinement {
        let settings = &self.commands.settings;
        let mut views: BTreeMap<PathBuf, View> = settings
            .own_files
            .iter()
            .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
            .map(hidden)
            .collect();
        let of_workspace = self
            .reach
            .iter()
            .flat_map(|reach| reach.views(&settings.workspace));
        for view in of_workspace {
            // Hidden stays hidden.
            views.entry(view.path.clone()).or_insert(view);
        }
        Confinement {
            whole_system: OUTSIDE.can_flow_to(self.level),
            software: settings.software.clone(),
            // A folder sorts before what is in it.
            views: views.into_values().collect(),
        }
    }
}

/// The level a command works at that would work at `level` if only paths counted: what is recorded of files and
/// folders it would see counts as well.
fn raised(workspace: &Workspace, level: Classification) -> Result<Classification, CommandError> {
    let hides = |path: &Path, level| access(workspace, path, level) == Access::Hidden;
    workspace
        .raised(level, hides)
        .map_err(|cause| CommandError::LabelsUnread { cause })?
        .ok_or(CommandError::TooLarge {
            what: "more files recorded above this command's level",
            limit: MOST_LABELS,
        })
}

fn hidden(path: PathBuf) -> (PathBuf, View) {
    let view = View {
        path: path.clone(),
        access: Access::Hidden,
        required: false,
        own: true,
    };
    (path, view)
}

/// The folder `asked` names, without links, and the label of it and of the links that led there; `Err` with its label
/// if it is above the clearance or the program's own.
fn folder_at(
    workspace: &Workspace,
    asked: &Path,
    clearance: Classification,
    stop: &crate::stop::Stop,
) -> Result<Result<(PathBuf, Label), Label>, Failure> {
    match workspace.resolve(asked, clearance)? {
        Resolved::Above(label) => Ok(Err(label)),
        Resolved::Missing { path, parent, links } => {
            Err(workspace.missing(&path, &parent, links, clearance, stop))
        }
        Resolved::Found { path, kind, links } => {
            let class = workspace.classify(&path);
            let label = class.unknown_file().join(links);
            if matches!(class.rule, PathRule::OwnFile | PathRule::NotCanonical) {
                return Ok(Err(label));
            }
            match kind {
                FileType::Directory => Ok(Ok((path, label))),
                FileType::RegularFile => Err(FileError::NotAFolder { path }.labelled(label)),
                kind => Err(FileError::Special {
                    path,
                    kind: special(kind),
                }
                .labelled(label)),
            }
        }
    }
}

impl PreparedCall for CommandCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        // Whether it is confined decides what a grant of it means.
        vec![
            exact_name(&self.folder),
            format!("confined: {}, level: {}", self.confined, self.level),
        ]
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        Box::pin(async move {
            if self.above.is_none() {
                self.look().await?;
            }
            Ok(self.resources.clone())
        })
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // In a task of its own, which stops the command and records what it wrote also if nobody waits any more.
            let (waiting, abandoned) = oneshot::channel::<()>();
            let label = self.label();
            let ended = tokio::spawn(async move {
                let stop = Until {
                    cancel: context.cancel,
                    abandoned: tokio::sync::Mutex::new(abandoned),
                };
                self.run_to_its_end(&stop).await
            })
            .await;
            drop(waiting);
            ended.unwrap_or_else(|_| Err(CommandError::Lost.told(label)))
        })
    }
}

/// The call's cancellation, or the end of whoever waited for it.
struct Until {
    cancel: Arc<dyn Cancel>,
    abandoned: tokio::sync::Mutex<oneshot::Receiver<()>>,
}

impl Cancel for Until {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut abandoned = self.abandoned.lock().await;
            tokio::select! {
                () = self.cancel.cancelled() => {}
                // Nothing is ever sent; the sender is dropped.
                _ = &mut *abandoned => {}
            }
        })
    }
}

impl CommandCall {
    async fn run_to_its_end(self: Box<Self>, stop: &dyn Cancel) -> Result<ToolOutput, ToolError> {
        let mut label = self.label();
        if let Some(above) = self.above {
            let path = PathBuf::from(self.arguments.folder.as_deref().unwrap_or("."));
            return Err(CommandError::AboveClearance { path }.told(above));
        }
        let private = match self.private_folder() {
            Ok(private) => private,
            Err(error) => return Err(error.told(label)),
        };
        let plan = self.plan(private.as_ref().map(|folder| folder.path()));
        let seconds = self.arguments.timeout_s.unwrap_or(TIMEOUT);
        let settings = &self.commands.settings;
        let not_begun = |cause| CommandError::NotBegun { cause }.told(label);
        settle_forgotten(&settings.workspace).await.map_err(not_begun)?;
        let reach = self.reach.as_ref().filter(|_| self.confined);
        let id = begin(&settings.workspace, reach, label, &self.context)
            .await
            .map_err(not_begun)?;
        let ran = run(&settings.launcher, &plan, Duration::from_secs(seconds), stop).await;
        drop(private);
        let mut notes = String::new();
        // Also where the launcher failed: nobody knows what had run by then.
        self.record_what_changed(id, &mut label, &mut notes).await?;
        ran.and_then(|finished| told_end(finished, seconds, &settings.limits))
            .map(|text| ToolOutput::text(text + &notes).with_label(label))
            .map_err(|error| error.told(label))
    }

    /// A home for a command that is not confined; a confined one has its own in memory.
    fn private_folder(&self) -> Result<Option<tempfile::TempDir>, CommandError> {
        if self.confined {
            return Ok(None);
        }
        tempfile::Builder::new()
            .prefix("tidegate-command-")
            .tempdir()
            .map(Some)
            .map_err(|cause| CommandError::Pipe {
                action: "given a private folder",
                cause,
            })
    }

    /// Labels what the command wrote. Raises `label` to the level of what appeared while it ran, which it could see.
    async fn record_what_changed(
        &self,
        id: String,
        label: &mut Label,
        notes: &mut String,
    ) -> Result<(), ToolError> {
        let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
        let workspace = Arc::clone(&self.commands.settings.workspace);
        let level = if self.confined {
            self.level
        } else {
            Classification::Restricted
        };
        let now = {
            let workspace = Arc::clone(&workspace);
            let confined = self.confined;
            blocking(&never, move |stop| {
                let reach = Reach::of(&workspace, level, stop)?;
                let recorded = if confined {
                    raised(&workspace, level)
                } else {
                    Ok(level)
                };
                Ok(reach.and_then(|reach| Ok((reach, recorded?))))
            })
            .await?
        };
        // Without knowing what changed, all that can be said is what everything may be; and all that could be written
        // goes on counting as written.
        let (after, recorded) = now.map_err(|error| error.told(Label::UNREADABLE))?;
        if recorded > label.classification {
            *label = label.join(Label::untrusted(recorded));
            notes.push_str(&format!(
                "\n[this counts as {recorded}: something recorded as {recorded} appeared while the command ran]"
            ));
        }
        let Some(before) = &self.reach else {
            return Ok(());
        };
        if let Some((path, appeared)) = after
            .appeared_since(before, &workspace)
            .max_by_key(|(_, level)| *level)
            .filter(|(_, appeared)| self.confined && *appeared > label.classification)
        {
            *label = label.join(Label::untrusted(appeared));
            notes.push_str(&format!(
                "\n[this counts as {appeared}: {} appeared while the command ran]",
                shown(path)
            ));
        }
        let written = {
            let label = *label;
            let changed = after.changed_since(before);
            let workspace = Arc::clone(&workspace);
            blocking(&never, move |stop| written(&workspace, changed, label, stop)).await?
        };
        let label = *label;
        settle(&workspace, id, written)
            .await
            .map_err(|cause| CommandError::Labels { label, cause }.told(label))
    }
}

fn told_end(finished: Finished, seconds: u64, limits: &CommandLimits) -> Result<String, CommandError> {
    let output = || finished.output.text();
    match finished.stopped {
        Some(Stopped::Cancelled) => Err(CommandError::Cancelled { output: output() }),
        Some(Stopped::TimedOut) => Err(CommandError::TimedOut {
            seconds,
            most: MOST_TIMEOUT,
            output: output(),
        }),
        Some(Stopped::TooMuchOutput) => Err(CommandError::TooMuchOutput {
            limit: MOST_OUTPUT,
            output: output(),
        }),
        None => Ok(told(finished.ended()?, &finished.output, limits)),
    }
}
