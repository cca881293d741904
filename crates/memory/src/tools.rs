//! The tools.

mod artifacts;
mod context;
mod registry;
mod sessions;

pub use context::SessionOwner;

use crate::Memory;
use std::sync::Arc;
use tidegate_tools::Tool;

/// The tool `query_registry` over `memory`, for role USER: the files that were given to the session of the call, and what
/// became of each.
pub fn registry_tools(memory: &Memory, owner: Arc<dyn SessionOwner>) -> Vec<Arc<dyn Tool>> {
    vec![registry::query(memory, &owner)]
}

/// The tools `update_meta_artifact`, `search_meta_artifacts`, `delete_meta_artifact_item`, `save_session_context`,
/// `search_sessions_context` and `delete_session_context_source` over `memory`, for role USER. Whose memories they are
/// about comes from the session of the call, which `owner` knows, and never from arguments.
///
/// Their own source label is `Label::BOTTOM`: what they return has the label of what they looked at. The two that
/// delete are consequential; what the others write carries the label of the context, replaces nothing of another label,
/// and is kept as history when it is replaced.
pub fn memory_tools(memory: &Memory, owner: Arc<dyn SessionOwner>) -> Vec<Arc<dyn Tool>> {
    vec![
        artifacts::delete(memory, &owner),
        sessions::delete(memory, &owner),
        sessions::save(memory, &owner),
        artifacts::search(memory, &owner),
        sessions::search(memory, &owner),
        artifacts::update(memory, &owner),
    ]
}
