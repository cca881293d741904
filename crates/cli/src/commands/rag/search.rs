//! `tidegate rag search`.

use super::{called, known_source, session};
use crate::args::{Global, RagSearchArgs};
use crate::memory;
use crate::output;
use serde::Serialize;
use tidegate_memory::{Passage, SessionSearch};
use tidegate_policy::{Classification, Label, SourceId, escaped};

/// What is printed with `--json`.
#[derive(Serialize)]
struct ShownPassage<'a> {
    source_id: &'a SourceId,
    session: &'a str,
    name: String,
    text: &'a str,
    /// First and last line, from 1.
    lines: (u32, u32),
    label: Label,
    time: String,
    score: f32,
}

impl<'a> ShownPassage<'a> {
    fn of(passage: &'a Passage, name: String) -> Self {
        Self {
            source_id: &passage.key.source,
            session: &passage.key.chat,
            name,
            text: &passage.text,
            lines: passage.lines,
            label: passage.key.label,
            time: super::super::time(passage.time_ms),
            score: passage.score,
        }
    }
}

pub(super) async fn run(global: &Global, args: &RagSearchArgs) -> anyhow::Result<()> {
    let period = memory::period("rag", &args.period);
    let owner = memory::open(global).await?;
    let scope = match &args.session {
        Some(given) => owner.scope_in(session(&owner, given).await?, Label::BOTTOM),
        None => owner.scope(Classification::Public),
    };
    let search = SessionSearch {
        source: args.source.clone(),
        global: args.global,
        limit: args.limit,
        period,
        ..SessionSearch::new(args.query.as_str())
    };
    let found = owner.memory.search_session_context(&scope, search).await;
    let found = match (found, &args.session) {
        (Err(error), Some(session)) => return Err(known_source(error, session)),
        (found, _) => found?,
    };
    let mut shown = Vec::with_capacity(found.passages.len());
    for passage in &found.passages {
        let name = called(&owner.reader, &passage.key.chat).await?;
        shown.push(ShownPassage::of(passage, name));
    }
    if global.json {
        return output::json(&serde_json::json!({
            "passages": shown,
            "label": found.label,
            "embedder": owner.memory.embedder().model().id,
            "index": owner.memory.index().0,
        }));
    }
    if shown.is_empty() {
        output::line("nothing found; tidegate rag sources lists what is saved")?;
    }
    for passage in shown {
        let (first, last) = passage.lines;
        let lines = if first == last {
            format!("line {first}")
        } else {
            format!("lines {first}-{last}")
        };
        output::line(&format!(
            "── {} · {lines} · session {} · {}",
            escaped(passage.source_id.as_str()),
            passage.name,
            passage.label
        ))?;
        output::body(passage.text.trim_end())?;
    }
    memory::tell_of_hashed(&owner);
    Ok(())
}
