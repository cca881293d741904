//! The tools of meta-artifacts.

use super::context::{SessionOwner, failed, notice, origin, period, said, scope, time};
use crate::{ArtifactIndex, Memory, MemoryListing, MemorySearch, NewMemory, Outcome, RecalledMemory};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId};
use tidegate_store::MemoryRecord;
use tidegate_tools::{CallContext, IntoOutput, Tool, ToolError, ToolOutput, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Update {
    /// The group the fact belongs to.
    artifact_name: String,
    /// The fact: one self-contained sentence.
    fact: String,
    /// 1 (a detail) to 5 (a rule for all that follows). Default: 3.
    #[schemars(range(min = 1, max = 5))]
    importance: Option<u8>,
    /// A name for the fact, or the name of the one that is replaced. Default: a new name.
    memory_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// What to recall. Default: an index of everything.
    query: Option<String>,
    /// Only facts of this group.
    artifact_name: Option<String>,
    /// At most so many facts. Default: 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Only facts written or confirmed then or later: ISO 8601; a date alone is the whole day, no zone is UTC.
    start_date: Option<String>,
    /// Only facts written or confirmed then or earlier: ISO 8601; a date alone is the whole day, no zone is UTC.
    end_date: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// The name of the fact.
    memory_id: String,
}

pub(super) fn update(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let names: Vec<String> = memory
        .settings()
        .artifact_names
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let description = include_str!("../../templates/update_meta_artifact.txt")
        .trim_end()
        .replace("{artifact_names}", &names.join(", "));
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Update, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move { run_update(&memory, &owner, arguments, &context).await }
    };
    Arc::new(TypedTool::new("update_meta_artifact", description, work).source(Label::BOTTOM))
}

async fn run_update(
    memory: &Memory,
    owner: &Arc<dyn SessionOwner>,
    arguments: Update,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let scope = scope(owner, context).await?;
    let mut new = NewMemory::new(arguments.artifact_name, arguments.fact);
    new.importance = arguments.importance.unwrap_or(3);
    new.memory_id = said(arguments.memory_id.as_deref()).map(|name| MemoryId::from(name.trim()));
    let written = memory.remember(&scope, new, &context.cancel).await.map_err(failed)?;
    let outcome = match written.outcome {
        Outcome::Created => "kept as a new fact",
        Outcome::Replaced => "replaced; the earlier text is kept as history",
        Outcome::Refreshed => "was known already; its date was renewed",
        Outcome::Merged => "made one with a fact that said nearly the same",
    };
    let mut told = json!({
        "memory_id": written.memory_id,
        "outcome": outcome,
        "label": written.label.to_string(),
    });
    if !written.embedded {
        note(
            &mut told,
            "found by its words alone: the embedder may not see texts of this label",
        );
    }
    Ok(told.into_output()?.with_label(written.label))
}

pub(super) fn search(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/search_meta_artifacts.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Search, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move { run_search(&memory, &owner, arguments, &context).await }
    };
    Arc::new(TypedTool::new("search_meta_artifacts", description, work).source(Label::BOTTOM))
}

async fn run_search(
    memory: &Memory,
    owner: &Arc<dyn SessionOwner>,
    arguments: Search,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let scope = scope(owner, context).await?;
    let period = period(arguments.start_date.as_deref(), arguments.end_date.as_deref())?;
    let artifact_name = said(arguments.artifact_name.as_deref()).map(str::to_owned);
    let limit = arguments.limit.unwrap_or(20);
    let Some(query) = said(arguments.query.as_deref()) else {
        let listing = MemoryListing {
            artifact_name,
            limit,
            period,
            trusted_only: false,
        };
        let index = memory.memory_index(&scope, listing).await.map_err(failed)?;
        let label = index.label;
        return Ok(told_index(&index).into_output()?.with_label(label));
    };
    let search = MemorySearch {
        artifact_name,
        limit,
        period,
        cancel: Arc::clone(&context.cancel),
        ..MemorySearch::new(query)
    };
    let found = memory.recall(&scope, search).await.map_err(failed)?;
    let used: Vec<MemoryRecord> = found.hits.iter().map(|hit| hit.memory.clone()).collect();
    memory.renew(&scope, &used).await.map_err(failed)?;
    let facts: Vec<Value> = found.hits.iter().map(told_hit).collect();
    let mut told = json!({ "facts": facts });
    if let Some(notice) = notice(memory) {
        note(&mut told, notice);
    }
    Ok(told.into_output()?.with_label(found.label))
}

fn told_hit(hit: &RecalledMemory) -> Value {
    let mut told = told_memory(&hit.memory, &hit.also_at);
    if let (Value::Object(fields), 1..) = (&mut told, hit.alike) {
        fields.insert("said_alike".into(), hit.alike.into());
    }
    told
}

fn told_memory(memory: &MemoryRecord, also_at: &[Label]) -> Value {
    let mut told = json!({
        "memory_id": memory.memory_id,
        "artifact_name": memory.artifact_name,
        "fact": memory.fact,
        "importance": memory.importance,
        "updated_at": time(memory.updated_ms),
        "label": memory.label.to_string(),
        "from": origin(&memory.provenance),
    });
    if let Value::Object(fields) = &mut told {
        if !memory.tags.is_empty() {
            fields.insert("tags".into(), json!(memory.tags));
        }
        if !also_at.is_empty() {
            let labels: Vec<String> = also_at.iter().map(ToString::to_string).collect();
            fields.insert("also_known_below_as".into(), json!(labels));
        }
    }
    told
}

fn told_index(index: &ArtifactIndex) -> Value {
    let themes: Vec<Value> = index
        .themes
        .iter()
        .map(|theme| {
            let items: Vec<Value> = theme
                .items
                .iter()
                .map(|item| told_memory(&item.memory, &item.also_at))
                .collect();
            let tags: serde_json::Map<String, Value> =
                theme.tags.iter().map(|(tag, count)| (tag.clone(), (*count).into())).collect();
            json!({
                "artifact_name": theme.artifact_name,
                "count": theme.count,
                "tags": tags,
                "facts": items,
            })
        })
        .collect();
    json!({ "total": index.total, "themes": themes })
}

pub(super) fn delete(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/delete_meta_artifact_item.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Delete, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move { run_delete(&memory, &owner, arguments, &context).await }
    };
    let tool = TypedTool::new("delete_meta_artifact_item", description, work);
    Arc::new(tool.source(Label::BOTTOM).consequential(["memory_id"]))
}

async fn run_delete(
    memory: &Memory,
    owner: &Arc<dyn SessionOwner>,
    arguments: Delete,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let scope = scope(owner, context).await?;
    let memory_id = MemoryId::from(arguments.memory_id.trim());
    let forgotten = memory.forget(&scope, &memory_id).await.map_err(failed)?;
    let mut told = json!({ "existed": forgotten.existed(), "memory_id": memory_id });
    if !forgotten.kept.is_empty() {
        let labels: Vec<String> = forgotten.kept.iter().map(ToString::to_string).collect();
        note(
            &mut told,
            &format!("still kept as {}: it cannot be changed from this session", labels.join("; ")),
        );
    }
    Ok(told.into_output()?.with_label(forgotten.label))
}

/// Adds a remark.
pub(super) fn note(told: &mut Value, text: &str) {
    if let Value::Object(fields) = told {
        fields.insert("note".into(), text.into());
    }
}
