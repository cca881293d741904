//! The command line.

mod memory;

pub(crate) use memory::*;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use tidegate_message::{EventKind, ModelPolicy};
use tidegate_policy::{ApprovalId, Classification, EventId, Hook, Integrity, SessionName};

/// Agents that keep secrets: data moves up in classification and never down.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 ok, 1 error, 2 usage, 3 blocked by policy, 4 pending question, 5 awaiting approval, 130 cancelled.
Logs: set TIDEGATE_LOG (for example TIDEGATE_LOG=debug); they go to standard error.
New here? Run: tidegate demo, then: tidegate init";

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Use this configuration file and no other.
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    pub(crate) config: Option<PathBuf>,
    // The variable is read elsewhere: clap would take an empty one for a mistake.
    /// Where the program keeps its data [default: $TIDEGATE_DATA_DIR, or the platform's data folder].
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print one JSON object (one per line for streams) instead of text.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,
}

const EVERYWHERE: &str = "Options of every command";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See it work: an offline tour, no key and no service needed.
    Demo(DemoArgs),
    /// Run one task in a new or a named session.
    Run(RunArgs),
    /// Talk with it: line editing, history, streaming.
    Chat(ChatArgs),
    /// Show calls that wait for the owner, grant and refuse them.
    Approvals {
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// List, show, export and delete sessions, as far as the user local may read them.
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// What is remembered over all sessions: write, find, forget, release it.
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Large texts of a session: save, find, delete them.
    Rag {
        #[command(subcommand)]
        command: RagCommand,
    },
    /// Models that embed texts on this machine: which there are, fetching and trying them.
    Models {
        #[command(subcommand)]
        command: ModelsCommand,
    },
    /// What happened, as far as you may read it: every model call, tool call and policy decision.
    Events(EventsArgs),
    /// What models were sent, byte for byte, and what changed between two turns.
    Prompt {
        #[command(subcommand)]
        command: PromptCommand,
    },
    /// What model calls cost, in tokens, and how much of the input came from a cache.
    Usage(UsageArgs),
    /// Check rules, try calls, explain decisions.
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Measure: how much work goes through, how much harm is stopped.
    Eval {
        #[command(subcommand)]
        command: EvalCommand,
    },
    /// Show and check the configuration.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Write a first tidegate.toml: asks for an endpoint and a model.
    Init(InitArgs),
    /// Look at each component: what it is, whether it works, what to do.
    Doctor,
    /// Print completions for a shell.
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
}

const COMPLETIONS: &str = "\
For example:
  bash: tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate
  zsh:  tidegate completions zsh > ~/.zfunc/_tidegate     (with ~/.zfunc in $fpath)
  fish: tidegate completions fish > ~/.config/fish/completions/tidegate.fish";

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the tour's folder here instead of in the system's temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do; `-` reads it from standard input.
    #[arg(required_unless_present = "resume", conflicts_with = "resume", value_parser = task)]
    pub(crate) task: Option<String>,
    // An id has the characters of a name.
    /// Continue the session of this name or id, or start one of this name: 1 to 64 of A-Z a-z 0-9 _ -.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// Finish the session's interrupted turn; with nothing to finish, print its last answer.
    #[arg(long, requires = "session")]
    pub(crate) resume: bool,
    /// Grant this call that waits, and go on with it; may be given more than once.
    #[arg(long, value_name = "ID", requires = "resume")]
    pub(crate) approve: Vec<ApprovalId>,
    /// Attach this file: text, a document or an image; may be given more than once. A text below 32 KiB is in the message; a
    /// longer one is kept for the session, and the model searches it. What is in it is not your word: it is UNTRUSTED, of
    /// the level of its place.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) attach: Vec<PathBuf>,
    /// The answer has to be JSON that fits the JSON schema in this file; the model may correct it once.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Answer the model's question, and go on: your own words, or the number of a choice.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "resume",
        allow_hyphen_values = true,
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    pub(crate) answer: Option<String>,
    /// Which question is answered, if several wait [default: the oldest].
    #[arg(long, value_name = "ID", requires = "answer")]
    pub(crate) question: Option<ApprovalId>,
    /// How the model is chosen: auto, auto_pro, a tier (LITE, FLASH, PRO) or provider:model.
    #[arg(long, value_name = "POLICY")]
    pub(crate) model_policy: Option<ModelPolicy>,
    /// The level of the text of the task, or of the answer.
    #[arg(long, value_name = "LEVEL", default_value = "PUBLIC")]
    pub(crate) level: Classification,
    /// The folder the tools may reach [default: the session's, or the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Continue the session of this name or id, or start one of this name: 1 to 64 of A-Z a-z 0-9 _ -.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// How the model is chosen: auto, auto_pro, a tier (LITE, FLASH, PRO) or provider:model.
    #[arg(long, value_name = "POLICY")]
    pub(crate) model_policy: Option<ModelPolicy>,
    /// The folder the tools may reach [default: the session's, or the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait and that you may see, with everything they would do.
    List,
    /// Let a call run, once.
    Grant(ApprovalArg),
    /// Do not let it run; the model is told.
    Refuse(ApprovalArg),
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalArg {
    /// The id of the approval: a_ and 32 hex digits.
    pub(crate) id: ApprovalId,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// The figures of the policy over recorded traces: benign work allowed, attacks stopped.
    Policy(TracesArgs),
    /// How much a search of session RAG finds of what it should, on a file of conversations.
    Memory(EvalMemoryArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TracesArgs {
    /// The tools of the traces: a JSON list.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// Recorded traces, one JSON object a line.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The address of an OpenAI-compatible endpoint, up to and including /v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model's name as the endpoint knows it.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The level of workspace files that no pattern names [default: INTERNAL].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) workspace_level: Option<Classification>,
    /// The name of the variable that holds the endpoint's key; never the key itself.
    #[arg(long, value_name = "NAME")]
    pub(crate) key_env: Option<String>,
    /// Ask nothing: take the defaults for what is not given.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Write in the place of a file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the one used last first.
    List,
    /// Show one session: state, taint and where it came from, turns, usage.
    Show(SessionArg),
    /// Print what was said, also what was compacted since.
    History(HistoryArgs),
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
pub(crate) struct HistoryArgs {
    /// A session's name or id.
    pub(crate) session: String,
    /// Only messages with these words, in any script; the last letters of a word may be left out.
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
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

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Print the system prompt of a session; with --turn, a request as it was sent.
    #[command(after_help = PROMPT_SHOW)]
    Show(PromptShowArgs),
    /// Compare the first requests of two turns: how far they are the same, and what differs.
    Diff(PromptDiffArgs),
}

const PROMPT_SHOW: &str = "\
Written to a file or a pipe, it is what was sent byte for byte; at a terminal, what could play with it is escaped.
Values of secrets are taken out, and the session has to be within what the user local may read.
For example: tidegate prompt show --session work --turn 3 > request.json";

#[derive(Debug, Args)]
pub(crate) struct PromptShowArgs {
    /// The session's name or id.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: String,
    /// The first request of this turn, from 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: Option<u32>,
    /// The request of this round of the turn [default: 1].
    #[arg(long, value_name = "N", requires = "turn", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) round: Option<u32>,
    /// Which try of that round: after a failure a request is sent again, perhaps to another model [default: 1].
    #[arg(long, value_name = "N", requires = "turn", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct PromptDiffArgs {
    /// The one turn, from 1.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) from: u32,
    /// The other turn.
    #[arg(value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) to: u32,
    /// The session's name or id.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What is added up.
    #[arg(long, value_name = "WHAT", default_value = "model")]
    pub(crate) by: UsageBy,
    /// Of this session only: a name or id.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

/// What tokens are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UsageBy {
    /// Each session.
    Session,
    /// Each model.
    Model,
    /// Each tier; `auxiliary` for summaries, `fixed` for models that were named.
    Tier,
    /// Each day, in the system's time zone.
    Day,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Of this session only: a name or id.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Of this kind only: `tool.finished`, or `tool` for `tool.started` and `tool.finished`.
    #[arg(long, value_name = "KIND", value_parser = kind)]
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
    /// Trust a tidegate.toml in a working folder with the scenarios and templates it names, or one file, as they are now.
    Trust {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check the custom rules and show them in the order they are looked at.
    Check {
        /// Check the rules of this tidegate.toml instead of the one in use.
        file: Option<PathBuf>,
    },
    /// Show what rules may look at.
    Fields {
        /// At this hook; without it, the hooks there are.
        #[arg(value_parser = hook)]
        hook: Option<Hook>,
    },
    /// Show what the gate would say to a call; nothing is run.
    Simulate(SimulateArgs),
    /// Let exactly the bytes of a refused call go exactly there, once: shows them and asks.
    Release {
        /// The id of the decision that refused it by no-write-down.
        event: EventId,
    },
    /// Judge recorded traces step by step, as a session would.
    Replay(TracesArgs),
    /// Explain a decision: what wanted to flow where, which rule decided, what would make it possible.
    Explain {
        /// The event's id, a session's id and a number: s_…:12, as `tidegate events` prints them.
        event: EventId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments as JSON.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The level of the session that would call it.
    #[arg(long, value_name = "LEVEL", default_value = "PUBLIC")]
    pub(crate) taint: Classification,
    /// Whether that session has read anything untrusted.
    #[arg(long, value_name = "INTEGRITY", default_value = "TRUSTED")]
    pub(crate) integrity: Integrity,
    /// What the owner would have asked for: it licenses calls.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// As if somebody were there to be asked.
    #[arg(long)]
    pub(crate) attended: bool,
    /// In whose name [default: local].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The workspace folder [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

fn hook(text: &str) -> Result<Hook, String> {
    let known = Hook::ALL.into_iter().find(|hook| hook.as_str() == text);
    known.ok_or_else(|| format!("there are: {}", Hook::ALL.map(Hook::as_str).join(", ")))
}

/// A task says something.
fn task(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        return Err("the task is empty; say what to do");
    }
    Ok(text.to_owned())
}

/// A kind of event, or the part of its name before the dot.
fn kind(text: &str) -> Result<String, String> {
    let is_known = |name: &&str| **name == *text || name.split('.').next() == Some(text);
    if EventKind::NAMES.iter().any(is_known) {
        return Ok(text.to_owned());
    }
    Err(format!("there are: {}", EventKind::NAMES.join(", ")))
}
