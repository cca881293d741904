//! Sources: what there is, and forgetting it.

use crate::settings::Scope;
use crate::{Memory, MemoryError};
use std::sync::Arc;
use tidegate_policy::{Label, SourceId, UserId};
use tidegate_store::{RecordWrite, RecordsCommit, SourceKey, SourceQuery, SourceRecord};

/// The sources that a scope may see.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceListing {
    /// The one saved last first.
    pub sources: Vec<SourceRecord>,
    /// The join of their labels.
    pub label: Label,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// How many sources.
    pub sources: usize,
    /// The label of what is known from it.
    pub label: Label,
}

impl Memory {
    /// The sources of the scope's conversation, or of all of the user's with `global`.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn session_sources(&self, scope: &Scope, global: bool) -> Result<SourceListing, MemoryError> {
        let query = SourceQuery {
            user: Some(scope.user.clone()),
            chat: (!global).then(|| Arc::clone(&scope.chat)),
            source: None,
        };
        let visible = scope.visible(self.inner.settings.recall);
        let mut sources = self.inner.records.memory_sources(query).await?;
        sources.retain(|source| visible.contains(&source.label));
        sources.sort_by(|a, b| b.saved_ms.cmp(&a.saved_ms).then_with(|| a.key.cmp(&b.key)));
        let label = Label::join_all(sources.iter().map(|source| source.label));
        Ok(SourceListing { sources, label })
    }

    /// Deletes a source of the scope's conversation with all its chunks, for good.
    ///
    /// # Errors
    /// [`MemoryError::UnknownSource`] for one that is not there, belongs to another session, or may not be seen: the
    /// answer is the same. [`MemoryError::WriteDown`] for one that may be seen and not changed from here.
    pub async fn delete_session_source(
        &self,
        scope: &Scope,
        source: &SourceId,
    ) -> Result<Deleted, MemoryError> {
        let visible = scope.visible(self.inner.settings.recall);
        let found = self.visible_source(scope, source, &visible).await?;
        if !scope.label.is_within(found.label) {
            return Err(MemoryError::WriteDown {
                memory_id: source.as_str().to_owned(),
                item: found.label,
                writer: scope.label,
            });
        }
        self.commit(vec![RecordWrite::DeleteSource(found.key), RecordWrite::Erase])
            .await?;
        Ok(Deleted {
            sources: 1,
            label: found.label,
        })
    }

    /// Deletes everything of a conversation: it was reset, deleted, or idle too long. Exactly that: all its sources,
    /// of whatever label, and nothing else. Gives the number of sources and resources that were there.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn purge_session(&self, user: &UserId, chat: &str) -> Result<usize, MemoryError> {
        let purge = RecordWrite::PurgeChat {
            user: user.clone(),
            chat: chat.into(),
        };
        Ok(match self.commit(vec![purge, RecordWrite::Erase]).await? {
            RecordsCommit::Done { counts, .. } => counts.into_iter().sum(),
            RecordsCommit::Conflict { .. } => 0,
        })
    }

    /// The conversations that have sources or resources, with the time of the last, in milliseconds since 1970 (UTC):
    /// for a job that looks for those that are idle, or whose session is gone.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn conversations(&self) -> Result<Vec<(UserId, Arc<str>, i64)>, MemoryError> {
        let sources = self.inner.records.memory_sources(SourceQuery::default()).await?;
        let resources = self.inner.records.resources(SourceQuery::default()).await?;
        let mut last: std::collections::BTreeMap<(UserId, Arc<str>), i64> = std::collections::BTreeMap::new();
        let of_sources = sources.into_iter().map(|source| (source.key, source.saved_ms));
        let of_resources = resources
            .into_iter()
            .map(|resource| (resource.key, resource.changed_ms));
        for (SourceKey { user, chat, .. }, time_ms) in of_sources.chain(of_resources) {
            let last = last.entry((user, chat)).or_insert(time_ms);
            *last = (*last).max(time_ms);
        }
        Ok(last
            .into_iter()
            .map(|((user, chat), time_ms)| (user, chat, time_ms))
            .collect())
    }

    /// The source, if it is there and may be seen.
    pub(crate) async fn visible_source(
        &self,
        scope: &Scope,
        source: &SourceId,
        visible: &[Label],
    ) -> Result<SourceRecord, MemoryError> {
        let key = SourceKey {
            user: scope.user.clone(),
            chat: Arc::clone(&scope.chat),
            source: source.clone(),
        };
        let found = self
            .source(&key)
            .await?
            .filter(|found| visible.contains(&found.label));
        found.ok_or_else(|| MemoryError::UnknownSource {
            source_id: source.as_str().to_owned(),
        })
    }
}
