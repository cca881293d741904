//! What is written.

use super::item::{ChunkRecord, MemoryRecord, MemoryState, PointId, SourceKey, SourceRecord};
use super::registry::ResourceRecord;
use super::vectors::{Collection, ModelRecord, SparseVector, Vectors};
use std::sync::Arc;
use tidegate_policy::UserId;

/// What a write takes for granted of the memory it changes. If it is otherwise the whole commit does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Anything,
    /// There is none.
    Absent,
    /// Its last change has this number.
    Sequence(u64),
}

/// What changes of a memory without a new version of it. What is none stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPatch {
    /// When it was confirmed. It never goes back.
    pub updated_ms: Option<i64>,
    /// When it ends. It never goes back.
    pub expires_ms: Option<i64>,
    /// Its importance. It never falls.
    pub importance: Option<u8>,
    /// Whether it counts.
    pub state: Option<MemoryState>,
}

/// One write of a commit.
#[derive(Clone, Debug)]
pub enum RecordWrite {
    /// Writes a memory. One with the same id is replaced: its text becomes history, `created_ms` stays, and its
    /// label, user and memory_id have to be the same.
    PutMemory {
        /// The memory. `version` and `sequence` are counted by the store.
        record: Box<MemoryRecord>,
        /// What has to be there.
        expected: Expected,
    },
    /// Changes a memory. One that is not there stays so.
    PatchMemory {
        /// Which.
        id: PointId,
        /// What has to be there.
        expected: Expected,
        /// What changes.
        patch: MemoryPatch,
    },
    /// Deletes a memory with its history, for good.
    DeleteMemory {
        /// Which.
        id: PointId,
        /// What has to be there.
        expected: Expected,
    },
    /// Saves a source with its chunks in place of an earlier one of the same key and of all its chunks.
    ReplaceSource {
        /// The source.
        source: Box<SourceRecord>,
        /// Its chunks, in order.
        chunks: Vec<ChunkRecord>,
    },
    /// Deletes a source with its chunks and its row in the registry.
    DeleteSource(SourceKey),
    /// Deletes all sources, chunks and resources of a conversation.
    PurgeChat {
        /// Whose.
        user: UserId,
        /// The conversation, as text.
        chat: Arc<str>,
    },
    /// Writes a row of the registry, unless there is one of the same key: its count is 0 then.
    AddResource(Box<ResourceRecord>),
    /// Writes a row of the registry, in place of an earlier one of the same key.
    PutResource(Box<ResourceRecord>),
    /// Keeps vectors of another model beside the current ones until [`RecordWrite::SetModel`].
    StageVectors {
        /// The collection of the item.
        collection: Collection,
        /// The item.
        id: PointId,
        /// The number of the item's last change when its text was read. If it changed since, nothing is kept.
        sequence: u64,
        /// The vectors.
        vectors: Vectors,
    },
    /// Keeps the words of an item beside its text, for [`Records::outlines`](super::Records::outlines). They are a copy
    /// that may be dropped at any time: a new text begins without, and records may keep none. Nothing counts as changed.
    KeepWords {
        /// The collection of the item.
        collection: Collection,
        /// The item.
        id: PointId,
        /// The number of the item's last change when its text was read: if it changed since, nothing is kept. None for
        /// the text that this commit writes.
        sequence: Option<u64>,
        /// How they were made: words of another form are not given out for this one.
        form: u32,
        /// The words.
        words: Arc<SparseVector>,
    },
    /// Makes this the model of the records: items take the vectors that were staged for it, those without have none,
    /// and the vectors of other models go. Every item counts as changed.
    SetModel(ModelRecord),
    /// Overwrites on the disk what the writes before it in this commit have deleted, before the commit is answered: no
    /// byte of it is in any file then. While another process still reads an older state it is done later, at the latest
    /// by the next program that opens the records. The file is written anew, which takes its time with its size.
    Erase,
    /// Remembers a number under a name: the position of an index, the time of a job.
    SetMark {
        /// The name.
        name: String,
        /// The number.
        value: u64,
    },
}

/// What came of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordsCommit {
    /// All of it happened, and is durable.
    Done {
        /// The journal's last number after it.
        sequence: u64,
        /// For each write how many items, sources or resources it wrote or deleted.
        counts: Vec<usize>,
    },
    /// A memory was not as expected. Nothing happened.
    Conflict {
        /// Which.
        id: PointId,
    },
}
