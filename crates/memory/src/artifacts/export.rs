//! What the owner does with memories, outside any session.

use super::limits::{check_memory, check_version};
use crate::index::memory_text;
use crate::memory::never;
use crate::{Memory, MemoryError, memory_point_id};
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::{
    Expected, MemoryQuery, MemoryRecord, MemoryState, MemoryVersion, RecordWrite, RecordsCommit,
};

impl Memory {
    /// All memories of a user, in all states and of all labels, without vectors. For the owner alone.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn export(&self, user: &UserId) -> Result<Vec<MemoryRecord>, MemoryError> {
        let query = MemoryQuery {
            user: Some(user.clone()),
            ..MemoryQuery::default()
        };
        Ok(self.inner.records.memories(query).await?)
    }

    /// What a memory said before, oldest first. For the owner alone.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn earlier(&self, memory: &MemoryRecord) -> Result<Vec<MemoryVersion>, MemoryError> {
        Ok(self.inner.records.history(memory.id).await?)
    }

    /// Writes memories that were exported, each with what it said before, with vectors of this embedder; whoever is there
    /// under the same key is replaced and becomes history. The id is computed anew. Gives how many were written; those
    /// that are there already are not.
    ///
    /// # Errors
    /// Of [`check_memory`] and [`check_version`], before anything is written; those of embedder and records. Memories
    /// before the one that failed are written then.
    pub async fn import(
        &self,
        memories: Vec<(MemoryRecord, Vec<MemoryVersion>)>,
    ) -> Result<usize, MemoryError> {
        for (memory, earlier) in &memories {
            check_memory(memory)?;
            earlier.iter().try_for_each(check_version)?;
        }
        let mut count = 0;
        for (mut memory, earlier) in memories {
            memory.id = memory_point_id(&memory.user, memory.label, &memory.memory_id);
            let query = MemoryQuery {
                ids: Some(vec![memory.id]),
                ..MemoryQuery::default()
            };
            let found = self.inner.records.memories(query).await?.pop();
            let is_same = |found: &MemoryRecord| found.fact == memory.fact && found.state == memory.state;
            if found.as_ref().is_some_and(is_same) {
                continue;
            }
            memory.vectors = self
                .vectors_of(&memory_text(&memory.fact, &memory.tags), memory.label, &never())
                .await?;
            let mut known = self.inner.records.history(memory.id).await?;
            known.extend(found.as_ref().map(MemoryVersion::from));
            let is_new = |version: &MemoryVersion| {
                let same = |known: &MemoryVersion| {
                    known.fact == version.fact && known.updated_ms == version.updated_ms
                };
                !known.iter().any(same)
            };
            // Each takes the place of the one before it, which becomes history.
            let mut all: Vec<MemoryRecord> = earlier
                .into_iter()
                .filter(is_new)
                .map(|version| as_it_was(&memory, version))
                .collect();
            all.push(memory);
            self.put_all(all).await?;
            count += 1;
        }
        Ok(count)
    }

    /// The owner's release: the memory of that name and label is written under the label `to` as well. The first one
    /// stays. Whether there is such a memory.
    ///
    /// # Errors
    /// Those of embedder and records.
    pub async fn release(
        &self,
        user: &UserId,
        memory_id: &MemoryId,
        from: Label,
        to: Label,
    ) -> Result<bool, MemoryError> {
        let query = MemoryQuery {
            ids: Some(vec![memory_point_id(user, from, memory_id)]),
            ..MemoryQuery::default()
        };
        let Some(mut memory) = self.inner.records.memories(query).await?.pop() else {
            return Ok(false);
        };
        memory.id = memory_point_id(user, to, memory_id);
        memory.label = to;
        memory.updated_ms = self.now_ms();
        memory.vectors = self
            .vectors_of(&memory_text(&memory.fact, &memory.tags), to, &never())
            .await?;
        self.put_all(vec![memory]).await?;
        Ok(true)
    }

    /// Writes versions of one memory, in order, in one commit.
    async fn put_all(&self, versions: Vec<MemoryRecord>) -> Result<(), MemoryError> {
        let name = versions.last().map(|memory| memory.memory_id.as_str().to_owned());
        let name = name.unwrap_or_default();
        let write = |memory| RecordWrite::PutMemory {
            record: Box::new(memory),
            expected: Expected::Anything,
        };
        match self.commit(versions.into_iter().map(write).collect()).await? {
            RecordsCommit::Done { .. } => Ok(()),
            RecordsCommit::Conflict { .. } => Err(MemoryError::Contended {
                memory_id: name,
                attempts: 1,
            }),
        }
    }
}

/// A memory with what it said in an earlier version. Only the present one is searched.
fn as_it_was(memory: &MemoryRecord, version: MemoryVersion) -> MemoryRecord {
    MemoryRecord {
        artifact_name: version.artifact_name,
        fact: version.fact,
        importance: version.importance,
        tags: version.tags,
        updated_ms: version.updated_ms,
        provenance: version.provenance,
        supersedes: Vec::new(),
        state: MemoryState::Active,
        vectors: None,
        ..memory.clone()
    }
}
