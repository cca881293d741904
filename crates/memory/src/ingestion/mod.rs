//! What was given to a session: files, and what became of each.

mod document;
mod ingest;
mod kind;
mod listing;
mod native_id;
mod sum_up;

pub use ingest::{Ingested, NewResource};
pub use kind::{ResourceKind, Way};
pub use listing::{ResourceListing, Resources, smart_context, state_name};
