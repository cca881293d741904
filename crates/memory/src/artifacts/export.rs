//! What the owner does with memories, outside any session.

use crate::index::memory_text;
use crate::memory::never;
use crate::{Memory, MemoryError, memory_point_id};
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::{Expected, MemoryQuery, MemoryRecord, RecordWrite, RecordsCommit};

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

    /// Writes memories that were exported, with vectors of this embedder; whoever is there under the same key is
    /// replaced. The id is computed anew. Gives how many were written; those that are there already are not.
    ///
    /// # Errors
    /// Those of embedder and records. Memories before the one that failed are written.
    pub async fn import(&self, memories: Vec<MemoryRecord>) -> Result<usize, MemoryError> {
        let mut count = 0;
        for mut memory in memories {
            memory.id = memory_point_id(&memory.user, memory.label, &memory.memory_id);
            let query = MemoryQuery {
                ids: Some(vec![memory.id]),
                ..MemoryQuery::default()
            };
            let found = self.inner.records.memories(query).await?.pop();
            if found.is_some_and(|found| found.fact == memory.fact && found.state == memory.state) {
                continue;
            }
            memory.vectors =
                self.vectors_of(&memory_text(&memory.fact, &memory.tags), memory.label, &never()).await?;
            self.put_any(memory).await?;
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
        memory.vectors = self.vectors_of(&memory_text(&memory.fact, &memory.tags), to, &never()).await?;
        self.put_any(memory).await?;
        Ok(true)
    }

    async fn put_any(&self, memory: MemoryRecord) -> Result<(), MemoryError> {
        let name = memory.memory_id.as_str().to_owned();
        let write = RecordWrite::PutMemory {
            record: Box::new(memory),
            expected: Expected::Anything,
        };
        match self.commit(vec![write]).await? {
            RecordsCommit::Done { .. } => Ok(()),
            RecordsCommit::Conflict { .. } => Err(MemoryError::Contended {
                memory_id: name,
                attempts: 1,
            }),
        }
    }
}
