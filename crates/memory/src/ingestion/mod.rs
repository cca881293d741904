//! What was given to a session: files, and what became of each.

mod document;
mod ingest;
mod kind;
mod listing;
mod native_id;
mod reading;
mod sum_up;

pub use ingest::{Ingested, NewResource, ReadResource};
pub use kind::{LARGEST_FILE, ResourceKind, WHOLE_PDF, WHOLE_TEXT, Way};
pub use listing::{ResourceListing, Resources, smart_context, state_name};
pub use reading::{FileText, READABLE, file_text};
