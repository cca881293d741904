//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use tidegate_message::ModelPolicy;
use tidegate_policy::Classification;

/// Agents that keep secrets: data moves up in classification and never down.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, propagate_version = true, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 ok, 1 error, 2 usage, 3 blocked by policy, 4 pending question, 5 awaiting approval, 130 cancelled.
Logs: set TIDEGATE_LOG (for example TIDEGATE_LOG=debug); they go to standard error.
New here? Run: tidegate demo";

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Use this configuration file and no other.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the program keeps its data [default: the platform's data folder].
    #[arg(long, global = true, value_name = "DIR", env = "TIDEGATE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print one JSON object (one per line for streams) instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See it work: an offline tour, no key and no service needed.
    Demo(DemoArgs),
    /// Run one task in a new or a named session.
    Run(RunArgs),
    /// List, show, export and delete sessions.
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// What happened: every model call, tool call and policy decision.
    Events(EventsArgs),
    /// Show and check the configuration.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the tour's folder here instead of in the system's temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do; `-` reads it from standard input.
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) task: Option<String>,
    /// Continue the session of this name, or start one: 1 to 64 of A-Z a-z 0-9 _ -.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Finish the session's interrupted turn; with nothing to finish, print its last answer.
    #[arg(long, requires = "session")]
    pub(crate) resume: bool,
    /// How the model is chosen: auto, auto_pro, a tier (LITE, FLASH, PRO) or provider:model.
    #[arg(long, value_name = "POLICY")]
    pub(crate) model_policy: Option<ModelPolicy>,
    /// The level of the task's text.
    #[arg(long, value_name = "LEVEL", default_value = "PUBLIC")]
    pub(crate) level: Classification,
    /// The folder the tools may reach [default: the session's, or the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the one used last first.
    List,
    /// Show one session: state, taint and where it came from, turns, usage.
    Show(SessionArg),
    /// Print what was said.
    History(SessionArg),
    /// Print everything that is stored of a session as JSON.
    Export(ExportArgs),
    /// Erase a session's content. Its events stay, with hashes in the place of content.
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionArg {
    /// A session's name or id.
    pub(crate) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A session's name or id.
    pub(crate) session: String,
    /// Write it to this new file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// A session's name or id.
    pub(crate) session: String,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Of this session only: a name or id.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Of this kind only: `tool.finished`, or `tool` for all of them.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Go on with what happens from now on, until interrupted.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value and where it came from.
    Show,
    /// Check the configuration and say what has no effect.
    Check {
        /// Check this file instead of the one in use.
        file: Option<PathBuf>,
    },
    /// Print the JSON schema of tidegate.toml: every key, its meaning and default.
    Schema,
    /// Trust a tidegate.toml in a working folder, as it is now.
    Trust {
        /// The file.
        file: PathBuf,
    },
}
