//! Finding.

use super::weight;
use crate::index::{IndexFilter, Standing};
use crate::memory::{WordsAlone, never};
use crate::settings::Scope;
use crate::text::{Saying, Stems};
use crate::{Embedding, Memory, MemoryError, Period};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_policy::{Integrity, Label};
use tidegate_store::{
    Collection, Expected, MemoryPatch, MemoryQuery, MemoryRecord, MemoryState, PointId, RecordWrite,
};
use tidegate_tools::Cancel;

/// Candidates for each hit.
const FACTOR: usize = 3;

/// The least cosine of a candidate, for an embedder whose cosines are calibrated.
const LEAST_COSINE: f32 = 0.35;

/// The least score of a hit, for an embedder whose cosines are calibrated.
const LEAST_SCORE: f32 = 0.45;

/// How much the words of a query add to a calibrated cosine at most.
const WORD_BOOST: f32 = 0.15;

/// Where the scale of a fused score begins: a candidate that fits least still counts, so that importance can lift it.
const FLOOR: f32 = 0.35;

/// So many memories more than are wanted are read at once: some of them say what others say.
const SPARE: usize = 4;

/// Facts that share this part of their words are told once.
const NEARLY_IDENTICAL: f32 = 0.9;

/// What is to be recalled.
#[derive(Clone)]
pub struct MemorySearch {
    /// What about.
    pub query: String,
    /// Only of this group.
    pub artifact_name: Option<String>,
    /// At most so many, from 1 to 100.
    pub limit: usize,
    /// Only what was written or confirmed then.
    pub period: Period,
    /// Leaves UNTRUSTED memories out: at the start of a turn of a TRUSTED session.
    pub trusted_only: bool,
    /// Does not ask the embedder.
    pub words_alone: bool,
    /// Among what was read of the journal before, with what this process wrote since: does not look for what others
    /// wrote.
    pub as_known: bool,
    /// Stops it.
    pub cancel: Arc<dyn Cancel>,
}

impl MemorySearch {
    /// For `query`, at most 20 of all groups and times.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            artifact_name: None,
            limit: 20,
            period: Period::default(),
            trusted_only: false,
            words_alone: false,
            as_known: false,
            cancel: never(),
        }
    }
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledMemory {
    /// The memory, without vectors.
    pub memory: MemoryRecord,
    /// Its score, weighted by importance; only to be compared within one search.
    pub score: f32,
    /// Labels below this one's under which the same name is known too.
    pub also_at: Vec<Label>,
    /// How many more that say nearly the same were found while the others were looked for.
    pub alike: usize,
}

/// What was recalled.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// Best first.
    pub hits: Vec<RecalledMemory>,
    /// The join of the labels of everything that had an influence on it.
    pub label: Label,
    /// Why the meaning of the query had no part in it; none if it had.
    pub words_alone: Option<WordsAlone>,
}

impl Memory {
    /// Reads what was written since, also by other processes; [`recall`](Self::recall) and the searches do by
    /// themselves.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn catch_up(&self) -> Result<(), MemoryError> {
        self.inner.follower.catch_up().await
    }

    /// Whether there is anything that a recall for this scope could find, as far as was read. Without I/O: for the
    /// beginning of a turn, which is not to wait for an embedder in vain.
    pub fn has_memories(&self, scope: &Scope, trusted_only: bool) -> bool {
        let mut labels = scope.visible(self.inner.settings.recall);
        if trusted_only {
            labels = Scope::trusted(&labels);
        }
        let mut filter = IndexFilter::of(scope.user.clone(), labels);
        filter.alive_at_ms = Some(self.now_ms());
        self.inner.follower.has_any(Collection::MetaArtifacts, &filter)
    }

    /// Recalls memories that the scope may see.
    ///
    /// # Errors
    /// [`MemoryError::Empty`] of a blank query; [`MemoryError::OutOfBounds`]; those of embedder and records.
    pub async fn recall(&self, scope: &Scope, search: MemorySearch) -> Result<Recalled, MemoryError> {
        if search.query.trim().is_empty() {
            return Err(MemoryError::Empty { what: "query" });
        }
        crate::bounds("limit", search.limit, 100)?;
        if !search.as_known {
            self.inner.follower.catch_up().await?;
        }
        let embedding = if search.words_alone {
            Err(WordsAlone::Wanted)
        } else {
            self.query_embedding(&search.query, scope.label, &search.cancel)
                .await?
        };
        let mut labels = scope.visible(self.inner.settings.recall);
        if search.trusted_only {
            labels = Scope::trusted(&labels);
        }
        let all = self.find(scope, &search, &embedding, labels.clone()).await?;
        let is_untrusted = |hit: &RecalledMemory| hit.memory.label.integrity == Integrity::Untrusted;
        if all.label.integrity == Integrity::Trusted || all.hits.iter().any(is_untrusted) {
            return Ok(all);
        }
        // Nothing UNTRUSTED is told. So that it has no influence either, what is told is found without it. That nothing
        // is tells of the levels of all that was looked at.
        let trusted = Scope::trusted(&labels);
        let found = self.find(scope, &search, &embedding, trusted).await?;
        Ok(Recalled {
            label: found.label.join(Label::trusted(all.label.classification)),
            ..found
        })
    }

    /// Makes memories that were recalled and used live as long as new ones. To renew is to write: those into whose label
    /// the scope may not write stay as they are.
    ///
    /// # Errors
    /// Those of the records.
    pub async fn renew(&self, scope: &Scope, memories: &[MemoryRecord]) -> Result<(), MemoryError> {
        let renewed = memories
            .iter()
            .filter(|memory| memory.user == scope.user && scope.label.is_within(memory.label))
            .map(|memory| (memory, self.expiry(memory.importance)))
            // Once a day is often enough: each renewal is a write.
            .filter(|(memory, expiry)| expiry.saturating_sub(memory.expires_ms) > 24 * 60 * 60 * 1_000);
        let writes: Vec<RecordWrite> = renewed
            .map(|(memory, expiry)| RecordWrite::PatchMemory {
                id: memory.id,
                expected: Expected::Anything,
                patch: MemoryPatch {
                    expires_ms: Some(expiry),
                    ..MemoryPatch::default()
                },
            })
            .collect();
        if !writes.is_empty() {
            self.commit(writes).await?;
        }
        Ok(())
    }

    async fn find(
        &self,
        scope: &Scope,
        search: &MemorySearch,
        embedded: &Result<Embedding, WordsAlone>,
        labels: Vec<Label>,
    ) -> Result<Recalled, MemoryError> {
        let embedding = embedded.as_ref().ok();
        let mut filter = IndexFilter::of(scope.user.clone(), labels);
        filter.artifact_name.clone_from(&search.artifact_name);
        (filter.from_ms, filter.to_ms) = (search.period.from_ms, search.period.to_ms);
        filter.alive_at_ms = Some(self.now_ms());
        let depth = search.limit.saturating_mul(FACTOR);
        let collection = Collection::MetaArtifacts;
        let scores = self
            .leg_scores(collection, &search.query, scope.label, embedding, &filter, depth)
            .await?;
        let label = scores.label;
        let is_calibrated = embedding.is_some() && self.inner.embedder.is_calibrated();
        let scored: BTreeMap<PointId, f32> = if is_calibrated {
            calibrated(scores)
        } else {
            let noise = embedding.filter(|_| self.asks_words(embedding));
            let noise = noise.and_then(|_| self.inner.embedder.noise());
            let told: BTreeSet<PointId> = scores
                .ids()
                .into_iter()
                .filter(|id| noise.is_none_or(|noise| !scores.is_noise(*id, noise)))
                .collect();
            let fused = scores.fused(self.dense_share(embedding)).into_iter();
            fused
                .filter(|(id, _)| told.contains(id))
                .map(|(id, score)| (id, FLOOR + (1.0 - FLOOR) * score))
                .collect()
        };
        let candidates = self.candidates_of(collection, &scored, is_calibrated);
        let hits = self.told(scope, &filter, candidates, search.limit).await?;
        Ok(Recalled {
            hits,
            label,
            words_alone: embedded.as_ref().err().copied(),
        })
    }

    /// Candidates with their weighted scores, best first, without their texts.
    fn candidates_of(
        &self,
        collection: Collection,
        scored: &BTreeMap<PointId, f32>,
        is_calibrated: bool,
    ) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = self.inner.follower.table(collection, |table| {
            let found = scored.iter().filter_map(|(id, score)| {
                let standing = table.standing(*id)?;
                Some(Candidate {
                    id: *id,
                    score: score * weight(standing.importance),
                    standing,
                    also_at: Vec::new(),
                })
            });
            found.collect()
        });
        candidates.retain(|candidate| !is_calibrated || candidate.score >= LEAST_SCORE);
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        highest_first(candidates)
    }

    /// The best `limit` of `candidates`, with their texts. Only as many are read as are needed.
    async fn told(
        &self,
        scope: &Scope,
        filter: &IndexFilter,
        candidates: Vec<Candidate>,
        limit: usize,
    ) -> Result<Vec<RecalledMemory>, MemoryError> {
        let mut kept = Distinct::default();
        let mut left = candidates.into_iter().peekable();
        while kept.hits.len() < limit && left.peek().is_some() {
            let missing = limit - kept.hits.len();
            let batch: Vec<Candidate> = left.by_ref().take(missing + SPARE).collect();
            let query = MemoryQuery {
                user: Some(scope.user.clone()),
                ids: Some(batch.iter().map(|candidate| candidate.id).collect()),
                ..MemoryQuery::default()
            };
            let found = self.inner.records.memories(query).await?.into_iter();
            let mut found: BTreeMap<PointId, MemoryRecord> =
                found.map(|memory| (memory.id, memory)).collect();
            for candidate in batch {
                // It may have been changed since it was found.
                let memory = found.remove(&candidate.id).filter(|memory| {
                    memory.state == MemoryState::Active && filter.labels.contains(&memory.label)
                });
                let Some(memory) = memory else { continue };
                kept.take(RecalledMemory {
                    memory,
                    score: candidate.score,
                    also_at: candidate.also_at,
                    alike: 0,
                });
            }
        }
        let mut hits = kept.hits;
        hits.truncate(limit);
        Ok(hits)
    }
}

/// A memory that may be told.
struct Candidate {
    id: PointId,
    /// Weighted by importance.
    score: f32,
    standing: Standing,
    also_at: Vec<Label>,
}

/// Cosines, with a little for words that stand in the fact as in the query.
fn calibrated(scores: crate::ranking::LegScores) -> BTreeMap<PointId, f32> {
    let most = scores.lexical.values().copied().fold(0.0, f32::max);
    scores
        .dense
        .iter()
        .map(|(id, cosine)| {
            let words = scores.lexical.get(id).copied().unwrap_or(0.0);
            let boost = if most > 0.0 {
                WORD_BOOST * words / most
            } else {
                0.0
            };
            (*id, *cosine, *cosine + boost)
        })
        .filter(|(_, cosine, score)| *cosine >= LEAST_COSINE || *score >= LEAST_SCORE)
        .map(|(id, _, score)| (id, score))
        .collect()
}

/// Of memories of one name the one of the highest label, at the place of the best of them; it names the labels of the
/// others. A TRUSTED one is not hidden by an UNTRUSTED one: it keeps its own place.
fn highest_first(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let rank = |label: Label| (label.classification, label.integrity == Integrity::Trusted);
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let (label, name) = (candidate.standing.label, candidate.standing.name);
        let same = kept.iter_mut().find(|other| {
            let other = other.standing;
            other.name == name
                && (other.label.integrity == label.integrity
                    || hides(other.label, label)
                    || hides(label, other.label))
        });
        let Some(same) = same else {
            kept.push(candidate);
            continue;
        };
        let other = same.standing.label;
        if rank(label) > rank(other) {
            let score = same.score.max(candidate.score);
            let mut also_at = std::mem::take(&mut same.also_at);
            also_at.push(other);
            *same = Candidate {
                score,
                also_at,
                ..candidate
            };
        } else {
            same.also_at.push(label);
        }
    }
    for candidate in &mut kept {
        candidate
            .also_at
            .sort_by_key(|label| std::cmp::Reverse(rank(*label)));
    }
    kept
}

/// Whether a memory of label `upper` may stand for one of label `lower`.
fn hides(upper: Label, lower: Label) -> bool {
    upper.integrity == Integrity::Trusted && upper.classification >= lower.classification
}

/// Facts of one label that say nearly the same are told once, by the best of them. Never those that differ in a number,
/// a name or a negation.
#[derive(Default)]
struct Distinct {
    hits: Vec<RecalledMemory>,
    /// What each of them says, by its stems alone.
    stems: Vec<Stems>,
}

impl Distinct {
    fn take(&mut self, hit: RecalledMemory) {
        let own = Stems::of(&hit.memory.fact, &hit.memory.language);
        let saying = |memory: &MemoryRecord| Saying::of(&memory.fact, &memory.language);
        let same = self.hits.iter_mut().zip(&self.stems).find(|(other, stems)| {
            other.memory.label == hit.memory.label
                && (other.memory.fact == hit.memory.fact
                    || (stems.similarity(&own) >= NEARLY_IDENTICAL
                        && !saying(&other.memory).differs(&saying(&hit.memory))))
        });
        match same {
            Some((same, _)) => same.alike += 1,
            None => {
                self.hits.push(hit);
                self.stems.push(own);
            }
        }
    }
}
