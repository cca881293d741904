//! Memories, and chunks of the sources of a session.

use super::vectors::{Collection, Vectors};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId, SourceId, ToolName, UserId};
use uuid::Uuid;

/// The id of an item in records and indexes: computed from what the item is, so that the same write twice is one.
pub type PointId = Uuid;

/// Who said what a memory says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Provenance {
    /// A person.
    User,
    /// The model.
    Model,
    /// The model, from what a tool returned.
    Tool {
        /// The tool.
        tool: ToolName,
        /// The stored full text of its result, where there is one.
        source: Option<SourceId>,
    },
    /// Several memories were made one.
    Consolidation {
        /// Which.
        from: Vec<PointId>,
    },
}

/// Whether a memory counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MemoryState {
    /// It is recalled.
    Active,
    /// A newer one says otherwise; it is kept as history.
    Superseded {
        /// Which.
        by: PointId,
    },
    /// It is part of a consolidated one.
    Consolidated {
        /// Which.
        by: PointId,
    },
}

/// A long-term memory. Its key is (user, label, memory_id).
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRecord {
    /// UUIDv5 of the key.
    pub id: PointId,
    /// Whose it is.
    pub user: UserId,
    /// The conversation in which it was written last, as text.
    pub chat: Arc<str>,
    /// Its name among the user's memories of that label.
    pub memory_id: MemoryId,
    /// The group it belongs to.
    pub artifact_name: String,
    /// What it says.
    pub fact: String,
    /// 1 (a detail) to 5 (a rule for all).
    pub importance: u8,
    /// Two or three words to find it by. Perhaps none.
    pub tags: Vec<String>,
    /// Language of the fact (ISO 639-3) as its word forms were made; empty if unknown.
    pub language: String,
    /// When it was first written: milliseconds since 1970 (UTC). A new version keeps it.
    pub created_ms: i64,
    /// When it was written or confirmed last.
    pub updated_ms: i64,
    /// When it ends, unless it is renewed.
    pub expires_ms: i64,
    /// The writer's taint. It never changes.
    pub label: Label,
    /// Who said it.
    pub provenance: Provenance,
    /// The memories it replaced by saying otherwise.
    pub supersedes: Vec<PointId>,
    /// Whether it counts.
    pub state: MemoryState,
    /// From 1, counted by the store.
    pub version: u32,
    /// None if no embedder may see a text of this label: then it is found by its words alone.
    pub vectors: Option<Vectors>,
    /// The journal's number of its last change, given by the store.
    pub sequence: u64,
}

/// An earlier version of a memory, as it was when another took its place.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryVersion {
    /// Which.
    pub version: u32,
    /// Its group.
    pub artifact_name: String,
    /// What it said.
    pub fact: String,
    /// How important it was.
    pub importance: u8,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it was written or confirmed last, in milliseconds since 1970 (UTC).
    pub updated_ms: i64,
    /// Who said it.
    pub provenance: Provenance,
}

impl From<&MemoryRecord> for MemoryVersion {
    fn from(record: &MemoryRecord) -> Self {
        Self {
            version: record.version,
            artifact_name: record.artifact_name.clone(),
            fact: record.fact.clone(),
            importance: record.importance,
            tags: record.tags.clone(),
            updated_ms: record.updated_ms,
            provenance: record.provenance.clone(),
        }
    }
}

/// Which source: the partition of session RAG. The label is part of it, as it is of the key of a memory: so a source
/// never collides with, replaces or tells of one of the same name that its writer may not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceKey {
    /// Whose.
    pub user: UserId,
    /// The conversation, as text.
    pub chat: Arc<str>,
    /// The source in it.
    pub source: SourceId,
    /// The label of its text: its writer's taint. It never changes.
    pub label: Label,
}

/// User, chat and name, then classification and integrity: an order to list them in, which says nothing of flows.
impl Ord for SourceKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |key: &Self| (key.label.classification, key.label.integrity);
        let names = (&self.user, &self.chat, &self.source).cmp(&(&other.user, &other.chat, &other.source));
        names.then_with(|| parts(self).cmp(&parts(other)))
    }
}

impl PartialOrd for SourceKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A source of session RAG.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceRecord {
    /// Which.
    pub key: SourceKey,
    /// When it was saved, in milliseconds since 1970 (UTC).
    pub saved_ms: i64,
    /// Characters (Unicode code points) of the text.
    pub characters: u64,
    /// How many chunks it was cut into, counted by the store.
    pub chunks: u32,
    /// Words to find it by. Perhaps none.
    pub tags: Vec<String>,
    /// Its beginning, at most 60 characters on one line.
    pub preview: String,
}

/// A chunk of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRecord {
    /// UUIDv5 of the key and the place.
    pub id: PointId,
    /// Its source, and so its label.
    pub key: SourceKey,
    /// Its place in the source, from 0.
    pub ordinal: u32,
    /// The text.
    pub text: String,
    /// What stands above the text and helps to find it (headings, a speaker and a time); never shown as the text.
    pub context: String,
    /// Language (ISO 639-3) as its word forms were made; empty if unknown.
    pub language: String,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// First character and the one behind the last, in code points of the source, from 0.
    pub characters: (u64, u64),
    /// When it is from, in milliseconds since 1970 (UTC): its own time, else that of saving.
    pub time_ms: i64,
    /// None if no embedder may see a text of this label.
    pub vectors: Option<Vectors>,
    /// The journal's number of its last change, given by the store.
    pub sequence: u64,
}

/// An item of either collection.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A memory.
    Memory(Box<MemoryRecord>),
    /// A chunk.
    Chunk(Box<ChunkRecord>),
}

impl Item {
    /// Its id.
    pub fn id(&self) -> PointId {
        match self {
            Self::Memory(memory) => memory.id,
            Self::Chunk(chunk) => chunk.id,
        }
    }

    /// Its collection.
    pub fn collection(&self) -> Collection {
        match self {
            Self::Memory(_) => Collection::MetaArtifacts,
            Self::Chunk(_) => Collection::SessionRag,
        }
    }

    /// Its vectors, if it has some.
    pub fn vectors(&self) -> Option<&Vectors> {
        match self {
            Self::Memory(memory) => memory.vectors.as_ref(),
            Self::Chunk(chunk) => chunk.vectors.as_ref(),
        }
    }

    /// The journal's number of its last change.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.sequence,
            Self::Chunk(chunk) => chunk.sequence,
        }
    }

    /// Its label.
    pub fn label(&self) -> Label {
        match self {
            Self::Memory(memory) => memory.label,
            Self::Chunk(chunk) => chunk.key.label,
        }
    }
}
