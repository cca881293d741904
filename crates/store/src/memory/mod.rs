//! The store that keeps nothing: plain values in memory.

mod commit;
mod session;
mod store;

pub use store::MemoryStore;
