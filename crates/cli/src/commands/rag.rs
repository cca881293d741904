//! `tidegate rag`: large texts of a session, to be searched.

mod save;
mod search;

use crate::args::{Global, RagCommand, RagDeleteArgs, RagPurgeArgs, RagSourcesArgs};
use crate::exit::Exit;
use crate::memory::{self, OwnerMemory};
use crate::output;
use serde::Serialize;
use tidegate_memory::MemoryError;
use tidegate_policy::{Label, SessionId, SessionName, SourceId, escaped};
use tidegate_runtime::{Reader, RuntimeError};
use tidegate_store::SourceRecord;

pub(crate) async fn run(global: &Global, command: RagCommand) -> anyhow::Result<Exit> {
    match command {
        RagCommand::Save(args) => return save::run(global, args).await,
        RagCommand::Search(args) => search::run(global, &args).await?,
        RagCommand::Sources(args) => sources(global, &args).await?,
        RagCommand::Delete(args) => delete(global, &args).await?,
        RagCommand::Purge(args) => purge(global, &args).await?,
    }
    Ok(Exit::Ok)
}

/// The session of this name or id.
async fn session(owner: &OwnerMemory, given: &SessionName) -> anyhow::Result<SessionId> {
    let record = owner.reader.session(given.as_str()).await?;
    Ok(record.session.id)
}

/// What a session is called on the command line: its name, if it has one and may be seen.
async fn called(reader: &Reader, chat: &str) -> anyhow::Result<String> {
    if chat.parse::<SessionId>().is_err() {
        return Ok(escaped(chat).into_owned());
    }
    let name = match reader.session(chat).await {
        Ok(record) => record.session.name,
        Err(RuntimeError::UnknownSession { .. } | RuntimeError::AboveReader { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(name.map_or_else(|| chat.to_owned(), |name| name.to_string()))
}

/// The error in the words of the command line.
fn known_source(error: MemoryError, session: &SessionName) -> anyhow::Error {
    match error {
        MemoryError::UnknownSource { source_id } => anyhow::anyhow!(
            "there is no source {source_id:?} in session {session}; `tidegate rag sources --session {session}` lists them"
        ),
        other => other.into(),
    }
}

/// What is printed of a source with `--json`.
#[derive(Serialize)]
struct ShownSource<'a> {
    source_id: &'a SourceId,
    session: &'a str,
    name: String,
    label: Label,
    saved: String,
    characters: u64,
    chunks: u32,
    tags: &'a [String],
    preview: &'a str,
}

impl<'a> ShownSource<'a> {
    fn of(source: &'a SourceRecord, name: String) -> Self {
        Self {
            source_id: &source.key.source,
            session: &source.key.chat,
            name,
            label: source.key.label,
            saved: super::time(source.saved_ms),
            characters: source.characters,
            chunks: source.chunks,
            tags: &source.tags,
            preview: &source.preview,
        }
    }
}

async fn sources(global: &Global, args: &RagSourcesArgs) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let scope = match &args.session {
        Some(given) => owner.scope_in(session(&owner, given).await?, Label::BOTTOM),
        None => owner.scope(tidegate_policy::Classification::Public),
    };
    let listing = owner
        .memory
        .session_sources(&scope, args.session.is_none())
        .await?;
    let mut shown = Vec::with_capacity(listing.sources.len());
    for source in &listing.sources {
        let name = called(&owner.reader, &source.key.chat).await?;
        shown.push(ShownSource::of(source, name));
    }
    if global.json {
        return output::json(&serde_json::json!({ "sources": shown, "label": listing.label }));
    }
    if shown.is_empty() {
        return output::line("nothing is saved yet; save something: tidegate rag save FILE --session NAME");
    }
    for (one, source) in shown.iter().zip(&listing.sources) {
        let chunks = match one.chunks {
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        output::line(&format!(
            "{}  in session {}",
            escaped(one.source_id.as_str()),
            one.name
        ))?;
        output::line(&format!(
            "    {} · {chunks}, {} characters · {}",
            one.label,
            one.characters,
            super::local_time(source.saved_ms)
        ))?;
        output::line(&format!("    {}", escaped(one.preview)))?;
    }
    Ok(())
}

async fn delete(global: &Global, args: &RagDeleteArgs) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let scope = owner.scope_in(session(&owner, &args.session).await?, Label::BOTTOM);
    let source = escaped(args.source.as_str());
    let deleted = owner.memory.delete_session_source(&scope, &args.source).await;
    let deleted = deleted.map_err(|error| known_source(error, &args.session))?;
    owner.erase_from_index().await?;
    if global.json {
        return output::json(&serde_json::json!({
            "source_id": args.source,
            "deleted": deleted.deleted.len(),
            "labels": deleted.deleted,
        }));
    }
    for label in deleted.deleted {
        output::line(&format!("deleted {source} · {label}"))?;
    }
    Ok(())
}

async fn purge(global: &Global, args: &RagPurgeArgs) -> anyhow::Result<()> {
    let owner = memory::open(global).await?;
    let session = session(&owner, &args.session).await?;
    let scope = owner.scope_in(session, Label::BOTTOM);
    let deleted = owner.memory.delete_session_sources(&scope).await?;
    owner.erase_from_index().await?;
    if global.json {
        return output::json(&serde_json::json!({ "session": session, "deleted": deleted }));
    }
    output::line(&format!(
        "deleted everything saved in session {}: {deleted} in all",
        args.session
    ))
}
