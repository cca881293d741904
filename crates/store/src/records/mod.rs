//! Durable records of the memories: what the crate `tidegate-memory` needs of a store.
//!
//! The trait is [`Records`]; [`MemoryRecords`] keeps them as long as the process lives. The truth is here: an index
//! of vectors follows [`Records::changes`] and can always be built anew from it.

mod contract;
mod in_memory;
mod item;
mod outline;
mod registry;
mod scan;
mod vectors;
mod write;

pub use contract::{Change, ChunkQuery, MemoryQuery, Records, RecordsStatistics, SourceQuery, UnstagedQuery};
pub use in_memory::MemoryRecords;
pub use item::{
    ChunkRecord, Item, MemoryRecord, MemoryState, MemoryVersion, PointId, Provenance, SourceKey, SourceRecord,
};
pub use outline::{Outline, OutlineQuery, Outlined, OutlinedChange};
pub use registry::{ResourceRecord, ResourceState};
pub use scan::{ItemVisitor, ScannedItem, ScannedVectors, VectorsVisitor};
pub use vectors::{Collection, ModelRecord, SparseVector, Vectors};
pub use write::{Expected, MemoryPatch, RecordWrite, RecordsCommit};
