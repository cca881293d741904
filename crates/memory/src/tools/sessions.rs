//! The tools of session RAG.

use super::artifacts::note;
use super::context::{SessionOwner, failed, notice, period, said, scope, time};
use crate::{EmbedWork, Memory, Passage, Passages, Period, Scope, SessionSearch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_policy::{Label, SourceId};
use tidegate_store::SourceRecord;
use tidegate_tools::{CallContext, IntoOutput, Tool, ToolError, ToolOutput, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Save {
    /// The text.
    text: String,
    /// A name for it, as in notes-2026-11.
    source_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// What to find. Default: the list of sources.
    query: Option<String>,
    /// Only in this source of this session.
    source_id: Option<String>,
    /// In all sessions of the user. Default: false.
    global_search: Option<bool>,
    /// At most so many hits. Default: 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Only what is from then or later: ISO 8601; a date alone is the whole day, no zone is UTC.
    start_date: Option<String>,
    /// Only what is from then or earlier: ISO 8601; a date alone is the whole day, no zone is UTC.
    end_date: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// The name of the source.
    source_id: String,
}

pub(super) fn save(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/save_session_context.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Save, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move {
            let scope = scope(&owner, &context).await?;
            let source = SourceId::from(arguments.source_id.trim());
            let work = EmbedWork::until(Arc::clone(&context.cancel));
            let text = Passages::Text(arguments.text);
            let saved = memory
                .save_session_context(&scope, &source, text, work)
                .await
                .map_err(failed)?;
            let mut told = json!({
                "source_id": source,
                "chunks": saved.chunks,
                "replaced": saved.replaced,
            });
            if !saved.beside.is_empty() {
                // What else is called so and can be read here stays: replacing it would be a write to its label.
                add(&mut told, "also_saved_as", &saved.beside);
            }
            if !saved.embedded {
                note(
                    &mut told,
                    "found by its words alone: the embedder may not see texts of this label",
                );
            }
            Ok(told.into_output()?.with_label(context.label))
        }
    };
    Arc::new(TypedTool::new("save_session_context", description, work).source(Label::BOTTOM))
}

fn add(told: &mut Value, field: &str, labels: &[Label]) {
    if let Value::Object(fields) = told {
        let labels: Vec<String> = labels.iter().map(Label::to_string).collect();
        fields.insert(field.to_owned(), labels.into());
    }
}

pub(super) fn search(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/search_sessions_context.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Search, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move { run_search(&memory, &owner, arguments, &context).await }
    };
    Arc::new(TypedTool::new("search_sessions_context", description, work).source(Label::BOTTOM))
}

async fn run_search(
    memory: &Memory,
    owner: &Arc<dyn SessionOwner>,
    arguments: Search,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let scope = scope(owner, context).await?;
    let period = period(arguments.start_date.as_deref(), arguments.end_date.as_deref())?;
    let source = said(arguments.source_id.as_deref()).map(|source| SourceId::from(source.trim()));
    let global = arguments.global_search.unwrap_or(false);
    let limit = arguments.limit.unwrap_or(20);
    let Some(query) = said(arguments.query.as_deref()) else {
        return listed(memory, &scope, source.as_ref(), global, period, limit).await;
    };
    let search = SessionSearch {
        source,
        global,
        limit,
        period,
        cancel: Arc::clone(&context.cancel),
        ..SessionSearch::new(query)
    };
    let found = memory
        .search_session_context(&scope, search)
        .await
        .map_err(failed)?;
    let passages: Vec<Value> = found
        .passages
        .iter()
        .map(|passage| told_passage(passage, &scope))
        .collect();
    let mut told = json!({ "passages": passages });
    if let Some(notice) = notice(memory) {
        note(&mut told, notice);
    }
    Ok(told.into_output()?.with_label(found.label))
}

fn told_passage(passage: &Passage, scope: &Scope) -> Value {
    let mut told = json!({
        "source_id": passage.key.source,
        "lines": [passage.lines.0, passage.lines.1],
        "characters": [passage.characters.0, passage.characters.1],
        "label": passage.key.label.to_string(),
        "text": passage.text,
        "time": time(passage.time_ms),
    });
    if let (Value::Object(fields), false) = (&mut told, passage.key.chat == scope.chat) {
        fields.insert("session".into(), (*passage.key.chat).into());
    }
    told
}

async fn listed(
    memory: &Memory,
    scope: &Scope,
    source: Option<&SourceId>,
    global: bool,
    period: Period,
    limit: usize,
) -> Result<ToolOutput, ToolError> {
    let listing = memory
        .session_sources(scope, global && source.is_none())
        .await
        .map_err(failed)?;
    let sources: Vec<SourceRecord> = listing
        .sources
        .into_iter()
        .filter(|found| source.is_none_or(|source| *source == found.key.source))
        .filter(|found| period.holds(found.saved_ms))
        .collect();
    let label = Label::join_all(sources.iter().map(|source| source.key.label));
    let told: Vec<Value> = sources
        .iter()
        .take(limit)
        .map(|source| told_source(source, scope))
        .collect();
    let told = json!({ "sources": told, "total": sources.len() });
    Ok(told.into_output()?.with_label(label))
}

fn told_source(source: &SourceRecord, scope: &Scope) -> Value {
    let mut told = json!({
        "source_id": source.key.source,
        "saved_at": time(source.saved_ms),
        "characters": source.characters,
        "chunks": source.chunks,
        "tags": source.tags,
        "preview": source.preview,
        "label": source.key.label.to_string(),
    });
    if let (Value::Object(fields), false) = (&mut told, source.key.chat == scope.chat) {
        fields.insert("session".into(), (*source.key.chat).into());
    }
    told
}

pub(super) fn delete(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/delete_session_context_source.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Delete, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move {
            let scope = scope(&owner, &context).await?;
            let source = SourceId::from(arguments.source_id.trim());
            let deleted = memory
                .delete_session_source(&scope, &source)
                .await
                .map_err(failed)?;
            let mut told = json!({ "deleted": source });
            if !deleted.kept.is_empty() {
                // This session may not write to them.
                add(&mut told, "kept", &deleted.kept);
            }
            Ok(told.into_output()?.with_label(deleted.label))
        }
    };
    let tool = TypedTool::new("delete_session_context_source", description, work);
    Arc::new(tool.source(Label::BOTTOM).consequential(["source_id"]))
}
