//! Forgetting.

use crate::settings::Scope;
use crate::{Memory, MemoryError};
use tidegate_policy::{Label, MemoryId};
use tidegate_store::{Expected, MemoryQuery, MemoryRecord, MemoryState, RecordWrite};

/// What was forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The labels under which it was known and is not any more.
    pub deleted: Vec<Label>,
    /// The labels under which it still is known, since the scope may not write into them.
    pub kept: Vec<Label>,
    /// The join of these labels.
    pub label: Label,
}

impl Forgotten {
    /// Whether there was such a memory that the scope may see.
    pub fn existed(&self) -> bool {
        !(self.deleted.is_empty() && self.kept.is_empty())
    }
}

impl Memory {
    /// Deletes the memories of that name that the scope may see and into whose label it may write, with their history and
    /// with what was made one in them, for good: records that are files hold no byte of them afterwards. One that may not
    /// be seen is not touched, and nothing tells of it.
    ///
    /// # Errors
    /// [`MemoryError::WriteDown`] if there are some and none may be deleted from here; those of the records.
    pub async fn forget(&self, scope: &Scope, memory_id: &MemoryId) -> Result<Forgotten, MemoryError> {
        let visible = scope.visible(self.inner.settings.recall);
        let mut found = self.named_memories(scope, memory_id).await?;
        found.retain(|memory| visible.contains(&memory.label));
        let (own, kept): (Vec<MemoryRecord>, Vec<MemoryRecord>) = found
            .into_iter()
            .partition(|memory| scope.label.is_within(memory.label));
        if let (true, Some(first)) = (own.is_empty(), kept.first()) {
            return Err(MemoryError::WriteDown {
                memory_id: memory_id.as_str().to_owned(),
                item: first.label,
                writer: scope.label,
            });
        }
        let labels =
            |memories: &[MemoryRecord]| memories.iter().map(|memory| memory.label).collect::<Vec<_>>();
        let (deleted, kept) = (labels(&own), labels(&kept));
        if !own.is_empty() {
            let mut writes = self.with_parts(scope, own).await?;
            writes.push(RecordWrite::Erase);
            self.commit(writes).await?;
        }
        let label = Label::join_all(deleted.iter().chain(&kept).copied());
        Ok(Forgotten { deleted, kept, label })
    }

    /// Deletes of these memories and of all that were consolidated into them or superseded by them.
    async fn with_parts(
        &self,
        scope: &Scope,
        memories: Vec<MemoryRecord>,
    ) -> Result<Vec<RecordWrite>, MemoryError> {
        let query = MemoryQuery {
            user: Some(scope.user.clone()),
            ..MemoryQuery::default()
        };
        let all = self.inner.records.memories(query).await?;
        let mut ids: Vec<_> = memories.iter().map(|memory| memory.id).collect();
        loop {
            let parts = all.iter().filter(|memory| match memory.state {
                MemoryState::Active => false,
                MemoryState::Superseded { by } | MemoryState::Consolidated { by } => {
                    ids.contains(&by) && !ids.contains(&memory.id)
                }
            });
            let more: Vec<_> = parts.map(|memory| memory.id).collect();
            if more.is_empty() {
                break;
            }
            ids.extend(more);
        }
        Ok(ids
            .into_iter()
            .map(|id| RecordWrite::DeleteMemory {
                id,
                expected: Expected::Anything,
            })
            .collect())
    }

    /// Deletes all memories whose time is over, of all users. A daily job. Gives their number.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn expire(&self) -> Result<usize, MemoryError> {
        let now_ms = self.now_ms();
        let all = self.inner.records.memories(MemoryQuery::default()).await?;
        let over = all.iter().filter(|memory| memory.expires_ms <= now_ms);
        // One that is renewed at this moment stays.
        let writes: Vec<RecordWrite> = over
            .map(|memory| RecordWrite::DeleteMemory {
                id: memory.id,
                expected: Expected::Sequence(memory.sequence),
            })
            .collect();
        let mut count = 0;
        for write in writes {
            if let tidegate_store::RecordsCommit::Done { counts, .. } =
                self.inner.records.write(vec![write]).await?
            {
                count += counts.into_iter().sum::<usize>();
            }
        }
        self.inner.follower.catch_up().await?;
        Ok(count)
    }
}
