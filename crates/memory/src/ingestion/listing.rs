//! The registry.

use crate::settings::Scope;
use crate::{Memory, MemoryError};
use std::sync::Arc;
use tidegate_policy::{Label, SourceId};
use tidegate_prompt::SmartContext;
use tidegate_store::{ResourceRecord, ResourceState, SourceQuery};

/// What is asked of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceListing {
    /// Only the resource of this id.
    pub source: Option<SourceId>,
    /// Only those in this state, by its name, as in `INDEXED`.
    pub state: Option<String>,
    /// At most so many, from 1 to 100; the total counts all.
    pub limit: usize,
}

impl Default for ResourceListing {
    fn default() -> Self {
        Self {
            source: None,
            state: None,
            limit: 20,
        }
    }
}

/// The resources of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    /// The one that came last first.
    pub resources: Vec<ResourceRecord>,
    /// How many there are.
    pub total: usize,
    /// The join of the labels of everything that is counted.
    pub label: Label,
}

/// The states by their names.
const STATES: [&str; 5] = [
    "PENDING_INGESTION",
    "PUT_IN_CONTEXT",
    "VECTORIZED_SUM_UP",
    "INDEXED",
    "FAILED",
];

/// The name of a state.
pub fn state_name(state: &ResourceState) -> &'static str {
    let [pending, in_context, summed_up, indexed, failed] = STATES;
    match state {
        ResourceState::PendingIngestion => pending,
        ResourceState::PutInContext => in_context,
        ResourceState::VectorizedSumUp => summed_up,
        ResourceState::Indexed => indexed,
        ResourceState::Failed { .. } => failed,
    }
}

/// The block that stands in a prompt in the place of a file. The message that carries it has to carry its label.
pub fn smart_context(resource: &ResourceRecord) -> SmartContext {
    SmartContext {
        filename: resource.filename.clone(),
        mime_type: resource.mime_type.clone(),
        mode: state_name(&resource.state).to_owned(),
        source_id: resource.key.source.clone(),
        label: resource.key.label,
        summary: resource.summary.clone(),
        why: match &resource.state {
            ResourceState::Failed { why } => Some(why.clone()),
            _ => None,
        },
    }
}

impl Memory {
    /// The resources of the scope's conversation that the scope may see.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`]; [`MemoryError::UnknownState`]; those of the records.
    pub async fn query_registry(
        &self,
        scope: &Scope,
        listing: ResourceListing,
    ) -> Result<Resources, MemoryError> {
        crate::bounds("limit", listing.limit, 100)?;
        if let Some(state) = &listing.state
            && !STATES.contains(&state.as_str())
        {
            return Err(MemoryError::UnknownState {
                given: state.clone(),
                valid: STATES.join(", "),
            });
        }
        let query = SourceQuery {
            user: Some(scope.user.clone()),
            chat: Some(Arc::clone(&scope.chat)),
            source: listing.source,
            label: None,
        };
        let visible = scope.visible(self.inner.settings.recall);
        let mut resources = self.inner.records.resources(query).await?;
        resources.retain(|resource| {
            visible.contains(&resource.key.label)
                && listing
                    .state
                    .as_ref()
                    .is_none_or(|state| state == state_name(&resource.state))
        });
        resources.sort_by(|a, b| {
            b.created_ms
                .cmp(&a.created_ms)
                .then_with(|| b.key.source.cmp(&a.key.source))
        });
        let label = Label::join_all(resources.iter().map(|resource| resource.key.label));
        let total = resources.len();
        resources.truncate(listing.limit);
        Ok(Resources {
            resources,
            total,
            label,
        })
    }
}
