//! The memories of the sessions: opened over the records of the store, given to the model as tools, recalled at the
//! beginning of a turn, kept in order by jobs.

mod auxiliary;
mod caught_up;
mod jobs;
mod open;
mod owner;

pub(crate) use auxiliary::MemoryAuxiliary;
pub(crate) use caught_up::CaughtUp;
pub(crate) use jobs::purge_session;
pub use jobs::{MemoryJobs, MemoryUpkeep};
pub(crate) use owner::StoredOwners;
