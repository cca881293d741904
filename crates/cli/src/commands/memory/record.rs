//! A memory as a line of an exported file.

use serde::{Deserialize, Serialize};
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::{MemoryRecord, MemoryState, PointId, Provenance};

/// The form of the lines. It changes with them.
const FORMAT: &str = "tidegate-memory/1";

/// Everything of a memory but its vectors: those are made anew. Its id is not there either: it is computed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryLine {
    format: Format,
    memory_id: MemoryId,
    artifact_name: String,
    fact: String,
    importance: u8,
    tags: Vec<String>,
    language: String,
    label: Label,
    provenance: Provenance,
    session: String,
    created_ms: i64,
    updated_ms: i64,
    expires_ms: i64,
    supersedes: Vec<PointId>,
    state: MemoryState,
}

#[derive(Debug, Serialize, Deserialize)]
enum Format {
    #[serde(rename = "tidegate-memory/1")]
    One,
}

impl From<&MemoryRecord> for MemoryLine {
    fn from(memory: &MemoryRecord) -> Self {
        Self {
            format: Format::One,
            memory_id: memory.memory_id.clone(),
            artifact_name: memory.artifact_name.clone(),
            fact: memory.fact.clone(),
            importance: memory.importance,
            tags: memory.tags.clone(),
            language: memory.language.clone(),
            label: memory.label,
            provenance: memory.provenance.clone(),
            session: memory.chat.to_string(),
            created_ms: memory.created_ms,
            updated_ms: memory.updated_ms,
            expires_ms: memory.expires_ms,
            supersedes: memory.supersedes.clone(),
            state: memory.state,
        }
    }
}

impl MemoryLine {
    /// Reads a line.
    pub(super) fn read(line: &str) -> anyhow::Result<Self> {
        let read: Self = serde_json::from_str(line).map_err(|error| {
            anyhow::anyhow!("it is no memory as `tidegate memory export` writes it ({FORMAT}): {error}")
        })?;
        for (what, text) in [
            ("memory_id", read.memory_id.as_str()),
            ("artifact_name", &read.artifact_name),
            ("fact", &read.fact),
        ] {
            anyhow::ensure!(!text.trim().is_empty(), "its {what} is empty");
        }
        anyhow::ensure!(
            (1..=5).contains(&read.importance),
            "its importance is {}; write 1 to 5",
            read.importance
        );
        Ok(read)
    }

    /// The memory, as one of `user`.
    pub(super) fn into_record(self, user: &UserId) -> MemoryRecord {
        MemoryRecord {
            id: PointId::nil(),
            user: user.clone(),
            chat: self.session.into(),
            memory_id: self.memory_id,
            artifact_name: self.artifact_name,
            fact: self.fact,
            importance: self.importance,
            tags: self.tags,
            language: self.language,
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            expires_ms: self.expires_ms,
            label: self.label,
            provenance: self.provenance,
            supersedes: self.supersedes,
            state: self.state,
            version: 1,
            vectors: None,
            sequence: 0,
        }
    }
}
