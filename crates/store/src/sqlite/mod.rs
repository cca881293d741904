//! The store on one SQLite file.

mod apply;
mod approvals;
mod connection;
mod erase;
mod failure;
mod memory_apply;
mod memory_outlines;
mod memory_queries;
mod memory_rows;
mod memory_scan;
mod memory_store;
mod migrations;
mod notes;
mod queries;
mod reader;
mod rows;
mod search;
mod segments;
mod session;
mod store;
mod writer;

pub use store::SqliteStore;
