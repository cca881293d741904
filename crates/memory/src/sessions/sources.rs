//! Sources: what there is, and forgetting it.

use super::save::named;
use crate::settings::Scope;
use crate::{Memory, MemoryError};
use std::collections::BTreeSet;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The labels under which there was such a source and is none any more.
    pub deleted: Vec<Label>,
    /// The labels under which there still is one, since the scope may not write into them.
    pub kept: Vec<Label>,
    /// The join of these labels.
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
            label: None,
        };
        let visible = scope.visible(self.inner.settings.recall);
        let mut sources = self.inner.records.memory_sources(query).await?;
        sources.retain(|source| visible.contains(&source.key.label));
        sources.sort_by(|a, b| b.saved_ms.cmp(&a.saved_ms).then_with(|| a.key.cmp(&b.key)));
        let label = Label::join_all(sources.iter().map(|source| source.key.label));
        Ok(SourceListing { sources, label })
    }

    /// Deletes the sources of that name of the scope's conversation that the scope may see and into whose label it may
    /// write, with all their chunks, for good. One that may not be seen is not touched, and nothing tells of it.
    ///
    /// # Errors
    /// [`MemoryError::UnknownSource`] for one that is not there, belongs to another session, or may not be seen: the
    /// answer is the same. [`MemoryError::WriteDown`] if there are some and none may be deleted from here.
    pub async fn delete_session_source(
        &self,
        scope: &Scope,
        source: &SourceId,
    ) -> Result<Deleted, MemoryError> {
        let visible = scope.visible(self.inner.settings.recall);
        let found = self.visible_sources(scope, source, &visible).await?;
        let (own, kept): (Vec<SourceKey>, Vec<SourceKey>) = found
            .into_iter()
            .partition(|key| scope.label.is_within(key.label));
        if let (true, Some(first)) = (own.is_empty(), kept.first()) {
            return Err(MemoryError::WriteDown {
                memory_id: source.as_str().to_owned(),
                item: first.label,
                writer: scope.label,
            });
        }
        let labels = |keys: &[SourceKey]| keys.iter().map(|key| key.label).collect::<Vec<_>>();
        let (deleted, kept) = (labels(&own), labels(&kept));
        self.commit(erased(own)).await?;
        let label = Label::join_all(deleted.iter().chain(&kept).copied());
        Ok(Deleted { deleted, kept, label })
    }

    /// Deletes all sources and resources of the scope's conversation that the scope may see and into whose label it may
    /// write. Others are not touched, and the number, which is given, does not tell of them.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn delete_session_sources(&self, scope: &Scope) -> Result<usize, MemoryError> {
        let query = SourceQuery {
            user: Some(scope.user.clone()),
            chat: Some(Arc::clone(&scope.chat)),
            ..SourceQuery::default()
        };
        let visible = scope.visible(self.inner.settings.recall);
        let sources = self.inner.records.memory_sources(query.clone()).await?;
        let resources = self.inner.records.resources(query).await?;
        let keys: BTreeSet<SourceKey> = sources
            .into_iter()
            .map(|source| source.key)
            .chain(resources.into_iter().map(|resource| resource.key))
            .filter(|key| visible.contains(&key.label) && scope.label.is_within(key.label))
            .collect();
        let count = keys.len();
        self.commit(erased(keys)).await?;
        Ok(count)
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

    /// The sources of this name that are there and may be seen: at least one, the highest label first.
    pub(crate) async fn visible_sources(
        &self,
        scope: &Scope,
        source: &SourceId,
        visible: &[Label],
    ) -> Result<Vec<SourceKey>, MemoryError> {
        let found = self.inner.records.memory_sources(named(scope, source)).await?;
        let mut keys: Vec<SourceKey> = found.into_iter().map(|source| source.key).collect();
        keys.retain(|key| visible.contains(&key.label));
        keys.sort_by(|a, b| b.cmp(a));
        if keys.is_empty() {
            return Err(MemoryError::UnknownSource {
                source_id: source.as_str().to_owned(),
            });
        }
        Ok(keys)
    }
}

/// Deletes the sources so that no byte of them is left.
fn erased(keys: impl IntoIterator<Item = SourceKey>) -> Vec<RecordWrite> {
    let deletes = keys.into_iter().map(RecordWrite::DeleteSource);
    deletes.chain([RecordWrite::Erase]).collect()
}
