//! Placeholder.
/// The store on one SQLite file.
pub struct SqliteStore {}
