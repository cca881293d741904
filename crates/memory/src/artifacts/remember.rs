//! Writing.

use super::limits::{LONGEST_FACT, MOST_TAGS};
use super::{lifetime_ms, name};
use crate::embedder::{normalised, scalar_product};
use crate::index::memory_text;
use crate::memory::may_flow;
use crate::text::{Saying, language_of};
use crate::{Memory, MemoryError, Scope, memory_point_id};
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId};
use tidegate_store::{
    Expected, MemoryPatch, MemoryQuery, MemoryRecord, MemoryState, Provenance, RecordWrite, RecordsCommit,
    Vectors,
};
use tidegate_tools::Cancel;

/// Facts whose vectors are nearer than this say the same.
const SAME: f32 = 0.95;

/// Facts whose vectors are nearer than this may be made one by a model.
const ALIKE: f32 = 0.85;

/// How often a write is tried that others are faster than.
const ATTEMPTS: u32 = 32;

/// What is to be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The group it belongs to.
    pub artifact_name: String,
    /// What it says. One fact, at most 4,000 characters.
    pub fact: String,
    /// 1 (a detail) to 5 (a rule for all).
    pub importance: u8,
    /// Its name. The same name under the same label is replaced. None: a name is made of the fact.
    pub memory_id: Option<MemoryId>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Who says it.
    pub provenance: Provenance,
    /// Names of memories that it makes untrue: they are kept as history and not recalled any more. Those into whose
    /// label the writer may not write stay as they are.
    pub supersedes: Vec<MemoryId>,
}

impl NewMemory {
    /// A fact of importance 3 that the model says, with a name of its own.
    pub fn new(artifact_name: impl Into<String>, fact: impl Into<String>) -> Self {
        Self {
            artifact_name: artifact_name.into(),
            fact: fact.into(),
            importance: 3,
            memory_id: None,
            tags: Vec::new(),
            provenance: Provenance::Model,
            supersedes: Vec::new(),
        }
    }
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a new memory.
    Created,
    /// It replaced the text of the memory of that name, which is kept as history.
    Replaced,
    /// A memory that says the same was there: its date was renewed.
    Refreshed,
    /// It was made one with a memory that says nearly the same.
    Merged,
}

/// A memory that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Under which name it is kept.
    pub memory_id: MemoryId,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it can be found by meaning too; else by its words alone, since the embedder may not see its label.
    pub embedded: bool,
    /// Its label.
    pub label: Label,
}

impl Memory {
    /// Writes a memory with the scope's label; it is durable and can be found when this returns.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::OutOfBounds`], [`MemoryError::TooLong`] for what may not be written;
    /// [`MemoryError::Contended`]; those of embedder and records. Nothing was written then.
    pub async fn remember(
        &self,
        scope: &Scope,
        new: NewMemory,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Remembered, MemoryError> {
        new.check()?;
        let given = new.memory_id.is_some();
        let (memory_id, new) = self.named(scope, new).await;
        let text = memory_text(&new.fact, &new.tags);
        let vectors = self.vectors_of(&text, scope.label, cancel).await?;
        for _ in 0..ATTEMPTS {
            if cancel.is_cancelled() {
                return Err(MemoryError::Cancelled);
            }
            let same_key = self.of_key(scope, &memory_id).await?;
            // A name that was given is the writer's own: it is written under that name, whatever is near to it.
            let near = match (&same_key, given) {
                (None, false) => self.nearest(scope, &new, vectors.as_ref()).await?,
                _ => None,
            };
            let written = self
                .write(scope, &memory_id, &new, vectors.clone(), same_key, near, cancel)
                .await?;
            if let Some(remembered) = written {
                return Ok(remembered);
            }
        }
        Err(MemoryError::Contended {
            memory_id: memory_id.as_str().to_owned(),
            attempts: ATTEMPTS,
        })
    }

    /// One attempt; none if another writer was faster.
    #[expect(
        clippy::too_many_arguments,
        reason = "one attempt of `remember`, with all that it found"
    )]
    async fn write(
        &self,
        scope: &Scope,
        memory_id: &MemoryId,
        new: &NewMemory,
        vectors: Option<Vectors>,
        same_key: Option<MemoryRecord>,
        near: Option<(MemoryRecord, f32)>,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Option<Remembered>, MemoryError> {
        let done = |memory_id: &MemoryId, outcome, embedded| Remembered {
            memory_id: memory_id.clone(),
            outcome,
            embedded,
            label: scope.label,
        };
        let embedded = vectors.is_some();
        let same_text = |record: &MemoryRecord| {
            record.state == MemoryState::Active
                && record.fact.trim() == new.fact.trim()
                && record.artifact_name == new.artifact_name
        };
        if let Some(found) = same_key
            .as_ref()
            .filter(|found| same_text(found) && found.tags == new.tags)
        {
            let refreshed = self.refresh(found, new.importance).await?;
            return Ok(
                refreshed.then(|| done(memory_id, Outcome::Refreshed, found.vectors.is_some() || embedded))
            );
        }
        if let Some((found, nearness)) = near {
            if nearness > SAME {
                let refreshed = self.refresh(&found, new.importance).await?;
                return Ok(refreshed.then(|| done(&found.memory_id, Outcome::Refreshed, embedded)));
            }
            if let Some(merged) = self.merged(scope, &[found.fact.clone(), new.fact.clone()]).await {
                let mut record = self.record(scope, &found.memory_id, new, None);
                record.importance = found.importance.max(new.importance);
                record.expires_ms = self.expiry(record.importance);
                record.tags = union(&found.tags, &new.tags);
                record.vectors = self
                    .vectors_of(&memory_text(&merged, &record.tags), scope.label, cancel)
                    .await?;
                record.fact = merged;
                let written = self
                    .put(record, Expected::Sequence(found.sequence), scope, new)
                    .await?;
                return Ok(written.then(|| done(&found.memory_id, Outcome::Merged, embedded)));
            }
        }
        let outcome = if same_key.is_some() {
            Outcome::Replaced
        } else {
            Outcome::Created
        };
        let expected = same_key.map_or(Expected::Absent, |found| Expected::Sequence(found.sequence));
        let record = self.record(scope, memory_id, new, vectors);
        let written = self.put(record, expected, scope, new).await?;
        Ok(written.then(|| done(memory_id, outcome, embedded)))
    }

    /// The name: given, distilled, or made of the words.
    async fn named(&self, scope: &Scope, mut new: NewMemory) -> (MemoryId, NewMemory) {
        if let Some(given) = new.memory_id.take() {
            return (given, new);
        }
        if let Some(auxiliary) = &self.inner.auxiliary
            && may_flow(scope.label, "auxiliary", auxiliary.clearance())
        {
            match auxiliary.distil(&new.fact).await {
                Ok(distilled) => {
                    if new.tags.is_empty() {
                        new.tags = distilled.tags.into_iter().take(3).collect();
                    }
                    if let Some(name) = name::cleaned(&distilled.memory_id) {
                        return (name, new);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "no name could be distilled; the memory is named by its words")
                }
            }
        }
        (name::slug(&new.fact), new)
    }

    async fn of_key(&self, scope: &Scope, memory_id: &MemoryId) -> Result<Option<MemoryRecord>, MemoryError> {
        let query = MemoryQuery {
            ids: Some(vec![memory_point_id(&scope.user, scope.label, memory_id)]),
            ..MemoryQuery::default()
        };
        Ok(self.inner.records.memories(query).await?.pop())
    }

    /// The memory of the same user, group and label that is nearest, if it says nearly the same and does not differ in
    /// what makes another fact.
    async fn nearest(
        &self,
        scope: &Scope,
        new: &NewMemory,
        vectors: Option<&Vectors>,
    ) -> Result<Option<(MemoryRecord, f32)>, MemoryError> {
        let query = MemoryQuery {
            user: Some(scope.user.clone()),
            ids: Some(self.candidates(scope, new, vectors).await?),
            vectors: true,
            ..MemoryQuery::default()
        };
        let found = self.inner.records.memories(query).await?;
        let language = language_of(&new.fact).code();
        let said = Saying::of(&new.fact, language);
        let own = vectors.map(|vectors| normalised(&vectors.dense));
        let mut best: Option<(MemoryRecord, f32)> = None;
        for record in found {
            if record.state != MemoryState::Active
                || record.label != scope.label
                || record.artifact_name != new.artifact_name
            {
                continue;
            }
            let theirs = Saying::of(&record.fact, language);
            if said.differs(&theirs) {
                continue;
            }
            let similarity = said.similarity(&theirs);
            let nearness = match (&own, &record.vectors) {
                (Some(own), Some(theirs)) if own.len() == theirs.dense.len() => {
                    scalar_product(own, &normalised(&theirs.dense))
                }
                // Without vectors only the same words say the same.
                _ if similarity >= 1.0 => 1.0,
                _ => 0.0,
            };
            if nearness > ALIKE && best.as_ref().is_none_or(|(_, best)| nearness > *best) {
                best = Some((record, nearness));
            }
        }
        Ok(best)
    }

    async fn candidates(
        &self,
        scope: &Scope,
        new: &NewMemory,
        vectors: Option<&Vectors>,
    ) -> Result<Vec<tidegate_store::PointId>, MemoryError> {
        let mut filter = crate::IndexFilter::of(scope.user.clone(), vec![scope.label]);
        filter.artifact_name = Some(new.artifact_name.clone());
        filter.alive_at_ms = Some(self.now_ms());
        let embedding = vectors.map(|vectors| crate::Embedding {
            dense: vectors.dense.to_vec(),
            sparse: None,
        });
        let collection = tidegate_store::Collection::MetaArtifacts;
        let scores = self
            .leg_scores(
                collection,
                &new.fact,
                scope.label,
                embedding.as_ref(),
                &filter,
                16,
            )
            .await?;
        Ok(scores.ids())
    }

    async fn refresh(&self, found: &MemoryRecord, importance: u8) -> Result<bool, MemoryError> {
        let importance = found.importance.max(importance);
        let patch = MemoryPatch {
            updated_ms: Some(self.now_ms()),
            expires_ms: Some(self.expiry(importance)),
            importance: Some(importance),
            state: None,
        };
        let write = RecordWrite::PatchMemory {
            id: found.id,
            expected: Expected::Sequence(found.sequence),
            patch,
        };
        Ok(matches!(
            self.commit(vec![write]).await?,
            RecordsCommit::Done { .. }
        ))
    }

    /// One text of several by the auxiliary model, if there is one that may see them and does not lose what matters.
    pub(super) async fn merged(&self, scope: &Scope, facts: &[String]) -> Option<String> {
        let auxiliary = self.inner.auxiliary.as_ref()?;
        if !may_flow(scope.label, "auxiliary", auxiliary.clearance()) {
            return None;
        }
        match auxiliary.merge(facts).await {
            Ok(merged) if merged.trim().is_empty() || merged.chars().count() > LONGEST_FACT => None,
            Ok(merged) if !says_the_same(&merged, facts) => {
                tracing::warn!("a merged memory lost or added what matters; its parts stay side by side");
                None
            }
            Ok(merged) => Some(merged.trim().to_owned()),
            Err(error) => {
                tracing::warn!(%error, "memories could not be merged; they stay side by side");
                None
            }
        }
    }

    pub(super) fn expiry(&self, importance: u8) -> i64 {
        let lifetime = lifetime_ms(&self.inner.settings.lifetime_days, importance);
        self.now_ms().saturating_add(lifetime)
    }

    fn record(
        &self,
        scope: &Scope,
        memory_id: &MemoryId,
        new: &NewMemory,
        vectors: Option<Vectors>,
    ) -> MemoryRecord {
        let now_ms = self.now_ms();
        MemoryRecord {
            id: memory_point_id(&scope.user, scope.label, memory_id),
            user: scope.user.clone(),
            chat: Arc::clone(&scope.chat),
            memory_id: memory_id.clone(),
            artifact_name: new.artifact_name.clone(),
            fact: new.fact.trim().to_owned(),
            importance: new.importance,
            tags: new.tags.clone(),
            language: language_of(&new.fact).code().to_owned(),
            created_ms: now_ms,
            updated_ms: now_ms,
            expires_ms: self.expiry(new.importance),
            label: scope.label,
            provenance: new.provenance.clone(),
            supersedes: new
                .supersedes
                .iter()
                .map(|memory_id| memory_point_id(&scope.user, scope.label, memory_id))
                .collect(),
            state: MemoryState::Active,
            version: 1,
            vectors,
            sequence: 0,
        }
    }

    /// Writes a record, and marks what it supersedes; whether nobody was faster.
    async fn put(
        &self,
        record: MemoryRecord,
        expected: Expected,
        scope: &Scope,
        new: &NewMemory,
    ) -> Result<bool, MemoryError> {
        let by = record.id;
        let mut writes = vec![RecordWrite::PutMemory {
            record: Box::new(record),
            expected,
        }];
        for memory_id in &new.supersedes {
            let id = memory_point_id(&scope.user, scope.label, memory_id);
            if id != by {
                writes.push(RecordWrite::PatchMemory {
                    id,
                    expected: Expected::Anything,
                    patch: MemoryPatch {
                        state: Some(MemoryState::Superseded { by }),
                        ..MemoryPatch::default()
                    },
                });
            }
        }
        Ok(matches!(self.commit(writes).await?, RecordsCommit::Done { .. }))
    }
}

/// Whether a merged text keeps every number, name and negation of its parts, and adds no number.
fn says_the_same(merged: &str, facts: &[String]) -> bool {
    let language = language_of(merged).code();
    let parts: Vec<Saying> = facts.iter().map(|fact| Saying::of(fact, language)).collect();
    let made = Saying::of(merged, language);
    parts.iter().all(|part| part.is_kept_in(&made)) && made.adds_no_number(&parts)
}

fn union(left: &[String], right: &[String]) -> Vec<String> {
    let mut all = left.to_vec();
    all.extend(right.iter().filter(|tag| !left.contains(tag)).cloned());
    all.truncate(MOST_TAGS);
    all
}
