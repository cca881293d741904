//! What there is, without a query.

use super::counted;
use crate::index::IndexFilter;
use crate::settings::Scope;
use crate::{Memory, MemoryError, Period};
use std::collections::BTreeMap;
use tidegate_policy::{Integrity, Label, MemoryId};
use tidegate_store::{Collection, MemoryQuery, MemoryRecord, MemoryState, MemoryVersion};

/// What is to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryListing {
    /// Only of this group.
    pub artifact_name: Option<String>,
    /// At most so many items, from 1 to 100; counts are of all.
    pub limit: usize,
    /// Only what was written or confirmed then.
    pub period: Period,
    /// Leaves UNTRUSTED memories out.
    pub trusted_only: bool,
}

impl Default for MemoryListing {
    fn default() -> Self {
        Self {
            artifact_name: None,
            limit: 20,
            period: Period::default(),
            trusted_only: false,
        }
    }
}

/// The index of a user's memories.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactIndex {
    /// Groups, the one changed last first.
    pub themes: Vec<Theme>,
    /// Memories in all of them.
    pub total: usize,
    /// The join of the labels of everything that is counted.
    pub label: Label,
}

/// A group.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Its name.
    pub artifact_name: String,
    /// How many memories it has.
    pub count: usize,
    /// Its tags with how many memories have each, the most frequent first.
    pub tags: Vec<(String, usize)>,
    /// Its memories, the one changed last first; not all, where there are more than the limit.
    pub items: Vec<IndexedMemory>,
}

/// A memory in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMemory {
    /// The memory, without vectors.
    pub memory: MemoryRecord,
    /// Labels below this one's under which the same name is known too.
    pub also_at: Vec<Label>,
}

impl Memory {
    /// The index of what the scope may see: groups, their memories, counts.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`]; those of the records.
    pub async fn memory_index(
        &self,
        scope: &Scope,
        listing: MemoryListing,
    ) -> Result<ArtifactIndex, MemoryError> {
        crate::bounds("limit", listing.limit, 100)?;
        self.inner.follower.catch_up().await?;
        let mut labels = scope.visible(self.inner.settings.recall);
        if listing.trusted_only {
            labels = Scope::trusted(&labels);
        }
        let mut filter = IndexFilter::of(scope.user.clone(), labels);
        filter.artifact_name.clone_from(&listing.artifact_name);
        (filter.from_ms, filter.to_ms) = (listing.period.from_ms, listing.period.to_ms);
        filter.alive_at_ms = Some(self.now_ms());
        let passing = self.inner.follower.passing(Collection::MetaArtifacts, &filter);
        let query = MemoryQuery {
            user: Some(scope.user.clone()),
            ids: Some(passing),
            ..MemoryQuery::default()
        };
        let mut memories = self.inner.records.memories(query).await?;
        memories
            .retain(|memory| memory.state == MemoryState::Active && filter.labels.contains(&memory.label));
        let label = Label::join_all(memories.iter().map(|memory| memory.label));
        Ok(index(memories, listing.limit, label))
    }

    /// The versions of a memory of the scope's user that the scope may see, by label, oldest first, the present one last.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn history(
        &self,
        scope: &Scope,
        memory_id: &MemoryId,
    ) -> Result<Vec<(Label, Vec<MemoryVersion>)>, MemoryError> {
        let visible = scope.visible(self.inner.settings.recall);
        let mut found = Vec::new();
        for memory in self.named_memories(scope, memory_id).await? {
            if visible.contains(&memory.label) {
                let mut versions = self.inner.records.history(memory.id).await?;
                versions.push(MemoryVersion::from(&memory));
                found.push((memory.label, versions));
            }
        }
        Ok(found)
    }

    pub(super) async fn named_memories(
        &self,
        scope: &Scope,
        memory_id: &MemoryId,
    ) -> Result<Vec<MemoryRecord>, MemoryError> {
        let query = MemoryQuery {
            user: Some(scope.user.clone()),
            memory_id: Some(memory_id.clone()),
            ..MemoryQuery::default()
        };
        Ok(self.inner.records.memories(query).await?)
    }
}

fn index(memories: Vec<MemoryRecord>, limit: usize, label: Label) -> ArtifactIndex {
    let total = memories.len();
    let mut by_name: BTreeMap<String, Vec<MemoryRecord>> = BTreeMap::new();
    for memory in memories {
        by_name
            .entry(memory.artifact_name.clone())
            .or_default()
            .push(memory);
    }
    let mut themes: Vec<Theme> = by_name
        .into_iter()
        .map(|(name, memories)| theme(name, memories))
        .collect();
    let newest = |theme: &Theme| {
        theme
            .items
            .first()
            .map_or(i64::MIN, |item| item.memory.updated_ms)
    };
    themes.sort_by_key(|theme| std::cmp::Reverse(newest(theme)));
    let mut left = limit;
    for theme in &mut themes {
        theme.items.truncate(left);
        left -= theme.items.len();
    }
    ArtifactIndex { themes, total, label }
}

fn theme(artifact_name: String, mut memories: Vec<MemoryRecord>) -> Theme {
    let count = memories.len();
    let tags = counted(memories.iter().flat_map(|memory| memory.tags.iter().cloned()));
    memories.sort_by(|a, b| b.updated_ms.cmp(&a.updated_ms).then_with(|| a.id.cmp(&b.id)));
    // The highest version of a name stands for those below; a TRUSTED one is not hidden by an UNTRUSTED one.
    let mut items: Vec<IndexedMemory> = Vec::new();
    let stands_for = |upper: Label, lower: Label| {
        upper.classification > lower.classification
            && (upper.integrity == Integrity::Trusted || lower.integrity == Integrity::Untrusted)
    };
    for memory in &memories {
        let same_name = memories
            .iter()
            .filter(|other| other.memory_id == memory.memory_id);
        let is_hidden = same_name
            .clone()
            .any(|other| stands_for(other.label, memory.label));
        if is_hidden {
            continue;
        }
        let also_at = same_name.filter(|other| stands_for(memory.label, other.label));
        items.push(IndexedMemory {
            also_at: also_at.map(|other| other.label).collect(),
            memory: memory.clone(),
        });
    }
    Theme {
        artifact_name,
        count,
        tags,
        items,
    }
}
