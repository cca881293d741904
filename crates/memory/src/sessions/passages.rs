//! Searching: hits with their neighbours, as passages.

use crate::index::IndexFilter;
use crate::memory::never;
use crate::settings::Scope;
use crate::{Memory, MemoryError, Period};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_policy::{Integrity, Label, SourceId};
use tidegate_store::{ChunkQuery, ChunkRecord, PointId, SourceKey};
use tidegate_tools::Cancel;

/// What is searched for in the sources of a session.
#[derive(Clone)]
pub struct SessionSearch {
    /// The question.
    pub query: String,
    /// Only in this source of the conversation.
    pub source: Option<SourceId>,
    /// In all conversations of the user.
    pub global: bool,
    /// At most so many hits, from 1 to 100.
    pub limit: usize,
    /// Only what is from then.
    pub period: Period,
    /// Stops it.
    pub cancel: Arc<dyn Cancel>,
}

impl SessionSearch {
    /// For `query`, in all sources of the conversation, at most 20 hits.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            source: None,
            global: false,
            limit: 20,
            period: Period::default(),
            cancel: never(),
        }
    }
}

/// A hit with its neighbours, or several hits that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Where it is from, and so its label.
    pub key: SourceKey,
    /// The text, verbatim, without what its chunks repeat.
    pub text: String,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// First character and the one behind the last, in code points, from 0.
    pub characters: (u64, u64),
    /// When its first chunk is from, in milliseconds since 1970 (UTC).
    pub time_ms: i64,
    /// The score of its best hit, from 0 to 1; only to be compared within one search.
    pub score: f32,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSearchResult {
    /// Best first.
    pub passages: Vec<Passage>,
    /// The join of the labels of everything that had an influence on it.
    pub label: Label,
}

impl Memory {
    /// Searches the sources that the scope may see.
    ///
    /// # Errors
    /// [`MemoryError::Empty`] of a blank query; [`MemoryError::OutOfBounds`]; [`MemoryError::UnknownSource`]; those of
    /// embedder and records.
    pub async fn search_session_context(
        &self,
        scope: &Scope,
        search: SessionSearch,
    ) -> Result<SessionSearchResult, MemoryError> {
        if search.query.trim().is_empty() {
            return Err(MemoryError::Empty { what: "query" });
        }
        crate::bounds("limit", search.limit, 100)?;
        let visible = scope.visible(self.inner.settings.recall);
        if let Some(source) = &search.source {
            self.visible_sources(scope, source, &visible).await?;
        }
        self.inner.follower.catch_up().await?;
        let embedding = self
            .query_embedding(&search.query, scope.label, &search.cancel)
            .await?
            .ok();
        let mut filter = IndexFilter::of(scope.user.clone(), visible);
        filter.chat = (!search.global || search.source.is_some()).then(|| Arc::clone(&scope.chat));
        filter.source.clone_from(&search.source);
        (filter.from_ms, filter.to_ms) = (search.period.from_ms, search.period.to_ms);

        let ranked = self
            .rank_chunks(
                &search.query,
                scope.label,
                embedding.as_ref(),
                &filter,
                search.limit,
            )
            .await?;
        let passages = self.passages(&ranked, &filter).await?;
        let label = self.looked_at(&filter);
        let is_untrusted = |passage: &Passage| passage.key.label.integrity == Integrity::Untrusted;
        if label.integrity == Integrity::Trusted || passages.iter().any(is_untrusted) {
            return Ok(SessionSearchResult { passages, label });
        }
        // Nothing UNTRUSTED is told. So that it has no influence either, what is told is found without it.
        filter.labels = Scope::trusted(&filter.labels);
        let ranked = self
            .rank_chunks(
                &search.query,
                scope.label,
                embedding.as_ref(),
                &filter,
                search.limit,
            )
            .await?;
        let passages = self.passages(&ranked, &filter).await?;
        let label = self.looked_at(&filter);
        Ok(SessionSearchResult { passages, label })
    }

    fn looked_at(&self, filter: &IndexFilter) -> Label {
        self.inner
            .follower
            .label(tidegate_store::Collection::SessionRag, filter)
    }

    /// Merges hits that are neighbours, and gives each the chunks around it.
    async fn passages(
        &self,
        ranked: &[(PointId, f32)],
        filter: &IndexFilter,
    ) -> Result<Vec<Passage>, MemoryError> {
        let scores: BTreeMap<PointId, f32> = ranked.iter().copied().collect();
        let query = ChunkQuery {
            ids: Some(scores.keys().copied().collect()),
            ..ChunkQuery::default()
        };
        let hits = self.inner.records.chunks(query).await?;
        let mut wanted: BTreeMap<SourceKey, BTreeSet<u32>> = BTreeMap::new();
        for hit in &hits {
            let ordinals = wanted.entry(hit.key.clone()).or_default();
            ordinals.extend([
                hit.ordinal.saturating_sub(1),
                hit.ordinal,
                hit.ordinal.saturating_add(1),
            ]);
        }
        let mut passages = Vec::new();
        for (key, ordinals) in wanted {
            let (Some(first), Some(last)) = (ordinals.first(), ordinals.last()) else {
                continue;
            };
            let query = ChunkQuery {
                user: Some(key.user.clone()),
                chat: Some(Arc::clone(&key.chat)),
                source: Some(key.source.clone()),
                label: Some(key.label),
                ordinals: Some(*first..last.saturating_add(1)),
                ..ChunkQuery::default()
            };
            let around = self.inner.records.chunks(query).await?;
            let around = around.into_iter().filter(|chunk| {
                ordinals.contains(&chunk.ordinal) && filter.labels.contains(&chunk.key.label)
            });
            passages.extend(runs(around.collect(), &scores));
        }
        passages.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.key.cmp(&b.key)));
        Ok(passages)
    }
}

/// One passage for each run of chunks without a gap that has a hit.
fn runs(chunks: Vec<ChunkRecord>, scores: &BTreeMap<PointId, f32>) -> Vec<Passage> {
    let mut passages: Vec<(u32, Passage)> = Vec::new();
    for chunk in chunks {
        let score = scores.get(&chunk.id).copied().unwrap_or(f32::NEG_INFINITY);
        match passages.last_mut() {
            Some((last, passage)) if last.saturating_add(1) == chunk.ordinal && passage.key == chunk.key => {
                append(passage, &chunk);
                passage.score = passage.score.max(score);
                *last = chunk.ordinal;
            }
            _ => {
                let passage = Passage {
                    key: chunk.key,
                    text: chunk.text,
                    lines: chunk.lines,
                    characters: chunk.characters,
                    time_ms: chunk.time_ms,
                    score,
                };
                passages.push((chunk.ordinal, passage));
            }
        }
    }
    passages
        .into_iter()
        .map(|(_, passage)| passage)
        .filter(|passage| passage.score.is_finite())
        .collect()
}

/// Adds a chunk without what it repeats of the one before.
fn append(passage: &mut Passage, chunk: &ChunkRecord) {
    let repeated = passage.characters.1.saturating_sub(chunk.characters.0);
    let skipped = usize::try_from(repeated).unwrap_or(usize::MAX);
    if repeated == 0 {
        // What lay between was white space: a line break if it led to another line.
        let between = if chunk.lines.0 > passage.lines.1 {
            "\n"
        } else {
            " "
        };
        let gap = if chunk.characters.0 > passage.characters.1 {
            between
        } else {
            ""
        };
        passage.text.push_str(gap);
    }
    passage.text.extend(chunk.text.chars().skip(skipped));
    passage.lines.1 = passage.lines.1.max(chunk.lines.1);
    passage.characters.1 = passage.characters.1.max(chunk.characters.1);
}
