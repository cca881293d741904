//! `tidegate rag save`.

use crate::args::{Global, RagSaveArgs};
use crate::commands::usage::usage;
use crate::environment;
use crate::exit::Exit;
use crate::interrupts;
use crate::memory::{self, OwnerMemory};
use crate::output;
use crate::progress::{Progress, watched};
use anyhow::Context as _;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_memory::{EmbedWork, LARGEST_FILE, MemoryError, Passages, file_text};
use tidegate_policy::{Label, SessionId, SessionName, SourceId, escaped};
use tidegate_runtime::{Runtime, RuntimeError};
use tidegate_store::SessionRecord;

/// Characters of a name beside a progress bar.
const MOST_OF_NAME: usize = 40;

pub(super) async fn run(global: &Global, args: RagSaveArgs) -> anyhow::Result<Exit> {
    if args.source.is_some() && args.files.len() > 1 {
        usage(
            "rag",
            "--source names one source, and there are several files; save them one by one, or leave it out",
        );
    }
    let owner = memory::open(global).await?;
    let sources = sources(&args);
    let there = session(&owner, &args.session).await?;
    let workspace = match &there {
        Some(record) => record.session.workspace.clone(),
        // A new one begins in this folder.
        None => Path::new(".")
            .canonicalize()
            .context("cannot read the current folder")?,
    };
    let loaded = environment::configuration(global, Vec::new())?;
    let judging = Runtime::judging(
        &loaded,
        &environment::data_folder(global)?,
        &environment::variables(),
    )?
    .build()?;
    // All are looked at and read before the first is saved.
    let mut texts = Vec::new();
    for (file, source) in args.files.iter().zip(sources) {
        let path = file
            .canonicalize()
            .with_context(|| format!("cannot read {}", file.display()))?;
        let label = judging.label_of_file(&workspace, &path).await?;
        texts.push(text(&owner, &args, source, path, label).await?);
    }
    let cancel = interrupts::cancelling()?;
    let session = match there {
        Some(record) => record,
        None => begun(global, &owner, &args.session).await?,
    };
    let all = texts.len();
    for (number, text) in texts.into_iter().enumerate() {
        let shown = output::shortened(text.source.as_str(), MOST_OF_NAME);
        let which = match all {
            1 => shown,
            _ => format!("{shown} ({} of {all})", number + 1),
        };
        let progress = Arc::new(Progress::begin(format!("embedding chunks of {which}")));
        let watched = Arc::clone(&progress);
        let work = EmbedWork {
            cancel: Arc::clone(&cancel),
            progress: Arc::new(move |done| watched.done(done as u64)),
        };
        let scope = owner.scope_in(session.session.id, text.label);
        let saved = owner
            .memory
            .save_session_context(&scope, &text.source, Passages::Text(text.content), work)
            .await;
        drop(progress);
        let saved = match saved {
            Err(MemoryError::Cancelled) => {
                output::tell(&format!(
                    "cancelled; {} was not saved",
                    escaped(text.source.as_str())
                ));
                return Ok(Exit::Cancelled);
            }
            other => other.with_context(|| format!("{} was not saved", text.path.display()))?,
        };
        owner.memory.flush().await?;
        if global.json {
            output::json(&serde_json::json!({
                "source_id": text.source,
                "session": session.session.id,
                "file": text.path.display().to_string(),
                "label": text.label,
                "chunks": saved.chunks,
                "replaced": saved.replaced,
                "also_saved_as": saved.beside,
                "embedded": saved.embedded,
            }))?;
            continue;
        }
        let chunks = match saved.chunks {
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        let how = if saved.replaced { "saved again" } else { "saved" };
        output::line(&format!(
            "{how} as {}: {chunks} · {}",
            escaped(text.source.as_str()),
            text.label
        ))?;
        for label in &saved.beside {
            output::aside(&format!(
                "{} stays as {label} too: one of another label is another source; `tidegate rag delete` deletes both",
                escaped(text.source.as_str())
            ));
        }
        let taint = session.session.taint.label().classification;
        if !text.label.can_flow_to(taint) {
            output::aside(&format!(
                "the session is {taint}: its model finds this once it has read {} data, or with [memory] recall = \
                 \"escalate\"",
                text.label.classification
            ));
        }
    }
    Ok(Exit::Ok)
}

/// A text to be saved.
struct Text {
    path: PathBuf,
    source: SourceId,
    label: Label,
    content: String,
}

async fn text(
    owner: &OwnerMemory,
    args: &RagSaveArgs,
    source: SourceId,
    path: PathBuf,
    label: Label,
) -> anyhow::Result<Text> {
    let shown = path.display();
    if let Some(level) = args.level {
        anyhow::ensure!(
            label.classification.can_flow_to(level),
            "{shown} is {}, and --level {level} would lower it; leave it out, or move the file ([policy.paths])",
            label.classification
        );
    }
    let raised = args.level.map(Label::trusted);
    let label = raised.map_or(label, |raised| label.join(raised));
    owner.check_level(label.classification)?;
    let unreadable = || format!("cannot read {shown}");
    let metadata = path.metadata().with_context(unreadable)?;
    anyhow::ensure!(
        metadata.is_file(),
        "{shown} is no file; name the files one by one"
    );
    // Of one that is too large not more is read than shows it.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).with_context(unreadable)?;
    file.take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .with_context(unreadable)?;
    let reading = file_text(shown.to_string(), bytes);
    let name = output::shortened(source.as_str(), MOST_OF_NAME);
    let read = watched(format!("reading {name}"), reading).await?;
    Ok(Text {
        source,
        label,
        content: read.text,
        path,
    })
}

/// What each file is saved as. Two that would take each other's place are refused.
fn sources(args: &RagSaveArgs) -> Vec<SourceId> {
    let named = |file: &PathBuf| args.source.clone().unwrap_or_else(|| name_of(file));
    let sources: Vec<SourceId> = args.files.iter().map(named).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = sources.iter().find(|source| !seen.insert(source.as_str())) {
        usage(
            "rag",
            &format!(
                "several of the files would be saved as {}, one in the place of the other; save them one by one with \
                 --source",
                escaped(twice.as_str())
            ),
        );
    }
    sources
}

fn name_of(path: &Path) -> SourceId {
    let name = path.file_name().unwrap_or(path.as_os_str());
    SourceId::new(name.to_string_lossy().into_owned())
}

/// The session of this name or id, if there is one or none can be begun.
async fn session(owner: &OwnerMemory, given: &SessionName) -> anyhow::Result<Option<SessionRecord>> {
    match owner.reader.session(given.as_str()).await {
        Err(RuntimeError::UnknownSession { .. }) if given.as_str().parse::<SessionId>().is_err() => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// A new session of this name. It needs no model until it is run.
async fn begun(global: &Global, owner: &OwnerMemory, name: &SessionName) -> anyhow::Result<SessionRecord> {
    let runtime = environment::runtime_without_model(global, &owner.memory)?;
    runtime.begin_without_models(name.clone()).await?;
    Ok(owner.reader.session(name.as_str()).await?)
}
