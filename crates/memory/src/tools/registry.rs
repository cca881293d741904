//! The tool of the registry.

use super::context::{SessionOwner, failed, said, scope, time};
use crate::{Memory, ResourceListing, state_name};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_policy::{Label, SourceId};
use tidegate_store::{ResourceRecord, ResourceState};
use tidegate_tools::{CallContext, IntoOutput, Tool, ToolError, ToolOutput, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Only the file of this id, as in U_abc123_C_xyz789_T_1748246400.
    source_id: Option<String>,
    /// Only files in this state: PENDING_INGESTION, PUT_IN_CONTEXT, VECTORIZED_SUM_UP, INDEXED or FAILED.
    state: Option<String>,
    /// At most so many files. Default: 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

pub(super) fn query(memory: &Memory, owner: &Arc<dyn SessionOwner>) -> Arc<dyn Tool> {
    let description = include_str!("../../templates/query_registry.txt").trim_end();
    let (memory, owner) = (memory.clone(), Arc::clone(owner));
    let work = move |arguments: Query, context: CallContext| {
        let (memory, owner) = (memory.clone(), Arc::clone(&owner));
        async move { run_query(&memory, &owner, arguments, &context).await }
    };
    Arc::new(TypedTool::new("query_registry", description, work).source(Label::BOTTOM))
}

async fn run_query(
    memory: &Memory,
    owner: &Arc<dyn SessionOwner>,
    arguments: Query,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let scope = scope(owner, context).await?;
    let listing = ResourceListing {
        source: said(arguments.source_id.as_deref()).map(|source| SourceId::from(source.trim())),
        state: said(arguments.state.as_deref()).map(|state| state.trim().to_ascii_uppercase()),
        limit: arguments.limit.unwrap_or(20),
    };
    let found = memory.query_registry(&scope, listing).await.map_err(failed)?;
    let resources: Vec<Value> = found.resources.iter().map(told).collect();
    let told = json!({ "resources": resources, "total": found.total });
    Ok(told.into_output()?.with_label(found.label))
}

fn told(resource: &ResourceRecord) -> Value {
    let mut told = json!({
        "source_id": resource.key.source,
        "filename": resource.filename,
        "mime_type": resource.mime_type,
        "bytes": resource.bytes,
        "state": state_name(&resource.state),
        "label": resource.key.label.to_string(),
        "created_at": time(resource.created_ms),
        "changed_at": time(resource.changed_ms),
    });
    if let Value::Object(fields) = &mut told {
        if let ResourceState::Failed { why } = &resource.state {
            fields.insert("why".into(), why.as_str().into());
        }
        if let Some(summary) = &resource.summary {
            fields.insert("summary".into(), summary.as_str().into());
        }
    }
    told
}
