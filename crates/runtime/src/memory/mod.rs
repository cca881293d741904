//! The memories of the sessions: opened over the records of the store, given to the model as tools, recalled at the
//! beginning of a turn, kept in order by jobs.

mod open;
mod owner;

pub(crate) use owner::StoredOwners;
