//! Session RAG: large texts of one session, cut into chunks, gone with the session.

mod passages;
mod ranking;
mod save;
mod sources;

pub use passages::{Passage, SessionSearch, SessionSearchResult};
pub use save::{Passages, Saved, SavedPiece};
pub use sources::{Deleted, SourceListing};
