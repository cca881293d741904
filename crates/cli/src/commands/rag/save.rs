//! `tidegate rag save`.

use crate::args::{Global, RagSaveArgs};
use crate::commands::usage::usage;
use crate::environment;
use crate::exit::Exit;
use crate::interrupts;
use crate::memory::{self, OwnerMemory};
use crate::output;
use crate::progress::Progress;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_memory::{EmbedWork, MemoryError, Passages};
use tidegate_policy::{Label, SessionId, SessionName, SourceId, escaped};
use tidegate_runtime::{Runtime, RuntimeError, SessionRequest, Which};
use tidegate_store::SessionRecord;

pub(super) async fn run(global: &Global, args: RagSaveArgs) -> anyhow::Result<Exit> {
    if args.source.is_some() && args.files.len() > 1 {
        usage(
            "rag",
            "--source names one source, and there are several files; save them one by one, or leave it out",
        );
    }
    let owner = memory::open(global).await?;
    let session = session(global, &owner, &args.session).await?;
    let loaded = environment::configuration(global, Vec::new())?;
    let judging = Runtime::judging(
        &loaded,
        &environment::data_folder(global)?,
        &environment::variables(),
    )?
    .build()?;
    // All are looked at before the first is saved.
    let mut texts = Vec::new();
    for file in &args.files {
        let path = file
            .canonicalize()
            .with_context(|| format!("cannot read {}", file.display()))?;
        let label = judging.label_of_file(&session.session.workspace, &path).await?;
        texts.push(text(&owner, &args, path, label)?);
    }
    let cancel = interrupts::cancelling()?;
    for text in texts {
        let progress = Arc::new(Progress::begin("embedding chunks"));
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

fn text(owner: &OwnerMemory, args: &RagSaveArgs, path: PathBuf, label: Label) -> anyhow::Result<Text> {
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
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {shown}"))?;
    let content = String::from_utf8(bytes)
        .with_context(|| format!("{shown} is not UTF-8 text; convert it to text first"))?;
    let source = args.source.clone().unwrap_or_else(|| name_of(&path));
    Ok(Text {
        source,
        label,
        content,
        path,
    })
}

fn name_of(path: &Path) -> SourceId {
    let name = path.file_name().unwrap_or(path.as_os_str());
    SourceId::new(name.to_string_lossy().into_owned())
}

/// The session of this name or id; a new one of this name if there is none.
async fn session(global: &Global, owner: &OwnerMemory, given: &SessionName) -> anyhow::Result<SessionRecord> {
    match owner.reader.session(given.as_str()).await {
        Err(RuntimeError::UnknownSession { .. }) if given.as_str().parse::<SessionId>().is_err() => {
            let runtime = environment::runtime(global, Vec::new())
                .await
                .with_context(|| format!("there is no session {given} yet, and one cannot be started"))?;
            drop(
                runtime
                    .session(SessionRequest::new(Which::Named(given.clone())))
                    .await?,
            );
            Ok(owner.reader.session(given.as_str()).await?)
        }
        other => Ok(other?),
    }
}
