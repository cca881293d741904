//! A summary that costs the same for every length: one question, the best chunks, one answer.

use crate::index::IndexFilter;
use crate::memory::may_flow;
use crate::{Memory, MemoryError, Scope};
use std::sync::Arc;
use tidegate_prompt::escape_block;
use tidegate_store::{ChunkQuery, SourceKey};
use tidegate_tools::{Cancel, graphemes_within};

/// What is asked of every text.
const QUESTION: &str = include_str!("../../templates/summary_question.txt");

/// What the auxiliary model is told.
const INSTRUCTIONS: &str = include_str!("../../templates/summary_instructions.txt");

/// How many chunks it is shown.
const BEST: usize = 5;

/// The longest summary, in characters.
const LONGEST: usize = 2_000;

impl Memory {
    /// The summary of a source; none if no auxiliary model may see it, or it has no answer.
    pub(super) async fn sum_up(
        &self,
        scope: &Scope,
        key: &SourceKey,
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Option<String>, MemoryError> {
        let Some(auxiliary) = &self.inner.auxiliary else {
            return Ok(None);
        };
        if !may_flow(scope.label, "auxiliary", auxiliary.clearance()) {
            return Ok(None);
        }
        let mut filter = IndexFilter::of(key.user.clone(), vec![scope.label]);
        filter.chat = Some(Arc::clone(&key.chat));
        filter.source = Some(key.source.clone());
        let question = QUESTION.trim();
        let embedding = self.query_embedding(question, scope.label, cancel).await?.ok();
        let mut ranked = self
            .rank_chunks(question, scope.label, embedding.as_ref(), &filter, BEST)
            .await?;
        if ranked.len() < BEST {
            // No word of the question stands in it: its beginning tells most.
            let known: Vec<_> = ranked.iter().map(|(id, _)| *id).collect();
            let first = ChunkQuery {
                user: Some(key.user.clone()),
                chat: Some(Arc::clone(&key.chat)),
                source: Some(key.source.clone()),
                label: Some(key.label),
                ordinals: Some(0..u32::try_from(BEST).unwrap_or(u32::MAX)),
                ..ChunkQuery::default()
            };
            let first = self.inner.records.chunks(first).await?;
            ranked.extend(
                first
                    .iter()
                    .filter(|chunk| !known.contains(&chunk.id))
                    .map(|chunk| (chunk.id, 0.0)),
            );
            ranked.truncate(BEST);
        }
        let query = ChunkQuery {
            ids: Some(ranked.iter().map(|(id, _)| *id).collect()),
            ..ChunkQuery::default()
        };
        let chunks = self.inner.records.chunks(query).await?;
        let material: Vec<String> = chunks
            .iter()
            .filter(|chunk| chunk.key.label == scope.label)
            .map(|chunk| {
                format!(
                    "<part lines=\"{}-{}\">\n{}\n</part>",
                    chunk.lines.0,
                    chunk.lines.1,
                    escape_block(&chunk.text)
                )
            })
            .collect();
        if cancel.is_cancelled() || material.is_empty() {
            return Ok(None);
        }
        match auxiliary.answer(INSTRUCTIONS.trim(), &material.join("\n")).await {
            Ok(summary) => {
                let summary = graphemes_within(summary.trim(), LONGEST).trim().to_owned();
                Ok((!summary.is_empty()).then_some(summary))
            }
            Err(error) => {
                tracing::warn!(%error, "a file could not be summed up; it can be searched all the same");
                Ok(None)
            }
        }
    }
}
