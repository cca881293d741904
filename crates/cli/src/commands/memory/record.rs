//! A memory as a line of an exported file.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tidegate_memory::{check_memory, check_version};
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::{MemoryRecord, MemoryState, MemoryVersion, PointId, Provenance};

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
    /// What it said before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<VersionLine>,
}

/// What a memory said before.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionLine {
    artifact_name: String,
    fact: String,
    importance: u8,
    tags: Vec<String>,
    provenance: Provenance,
    updated_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Format {
    #[serde(rename = "tidegate-memory/1")]
    One,
}

impl From<MemoryVersion> for VersionLine {
    fn from(version: MemoryVersion) -> Self {
        Self {
            artifact_name: version.artifact_name,
            fact: version.fact,
            importance: version.importance,
            tags: version.tags,
            provenance: version.provenance,
            updated_ms: version.updated_ms,
        }
    }
}

impl From<VersionLine> for MemoryVersion {
    fn from(line: VersionLine) -> Self {
        Self {
            // Counted by the records.
            version: 0,
            artifact_name: line.artifact_name,
            fact: line.fact,
            importance: line.importance,
            tags: line.tags,
            updated_ms: line.updated_ms,
            provenance: line.provenance,
        }
    }
}

impl MemoryLine {
    /// A memory with what it said before.
    pub(super) fn new(memory: &MemoryRecord, earlier: Vec<MemoryVersion>) -> Self {
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
            history: earlier.into_iter().map(VersionLine::from).collect(),
        }
    }

    /// Reads a line.
    pub(super) fn read(line: &str) -> anyhow::Result<Self> {
        let read: Self = serde_json::from_str(line).map_err(|error| {
            anyhow::anyhow!("it is no memory as `tidegate memory export` writes it ({FORMAT}): {error}")
        })?;
        Ok(read)
    }

    /// The memory, as one of `user`, with what it said before; refused if it is longer than a memory may be.
    pub(super) fn into_record(self, user: &UserId) -> anyhow::Result<(MemoryRecord, Vec<MemoryVersion>)> {
        let earlier: Vec<MemoryVersion> = self.history.into_iter().map(MemoryVersion::from).collect();
        let memory = MemoryRecord {
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
        };
        check_memory(&memory)?;
        for version in &earlier {
            check_version(version).context("what it said before")?;
        }
        Ok((memory, earlier))
    }
}
