//! Saving a text.

use crate::chunk::{Piece, pieces};
use crate::index::chunk_text;
use crate::text::language_of;
use crate::{EmbedWork, EmbedderError, Memory, MemoryError, Scope};
use std::sync::Arc;
use tidegate_policy::{Label, SourceId};
use tidegate_store::{ChunkRecord, RecordWrite, SourceKey, SourceQuery, SourceRecord, Vectors};
use tidegate_tools::graphemes_within;
use uuid::Uuid;

/// A chunk that the caller cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPiece {
    /// The text.
    pub text: String,
    /// What helps to find it and is not shown: a speaker, a heading, a date. Perhaps empty.
    pub context: String,
    /// When it is from, in milliseconds since 1970 (UTC); none for now.
    pub time_ms: Option<i64>,
}

/// What is saved under a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passages {
    /// A text, which is cut.
    Text(String),
    /// Chunks as they are: turns of a conversation, say.
    Pieces(Vec<SavedPiece>),
}

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// How many chunks.
    pub chunks: usize,
    /// Whether it took the place of an earlier one of the same label.
    pub replaced: bool,
    /// The lower labels under which another text of this name stays: reading it would not change the scope's label, and
    /// replacing it would be a write to its label.
    pub beside: Vec<Label>,
    /// Whether it can be found by meaning too; else by its words alone, since the embedder may not see its label.
    pub embedded: bool,
}

impl Memory {
    /// Saves `passages` as the source `source` of the scope's conversation, in place of an earlier one of that name and of
    /// the scope's label, which it carries: all of it or nothing. One of that name at another label is another source: it
    /// is neither replaced nor looked at, and what is told does not depend on one that may not be seen. `work` hears how
    /// many chunks are embedded.
    ///
    /// # Errors
    /// [`MemoryError::Empty`]; [`MemoryError::TooLong`] of a name; [`MemoryError::FailedChunks`] if chunks cannot be embedded after several attempts;
    /// [`MemoryError::Cancelled`]; those of the records. Nothing was changed then.
    pub async fn save_session_context(
        &self,
        scope: &Scope,
        source: &SourceId,
        passages: Passages,
        work: EmbedWork,
    ) -> Result<Saved, MemoryError> {
        if source.as_str().trim().is_empty() {
            return Err(MemoryError::Empty { what: "source_id" });
        }
        crate::check_source_id(source)?;
        let key = SourceKey {
            user: scope.user.clone(),
            chat: Arc::clone(&scope.chat),
            source: source.clone(),
            label: scope.label,
        };
        let label = scope.label;
        let replaced = self.source(&key).await?.is_some();
        let visible = scope.visible(self.inner.settings.recall);
        let mut beside: Vec<Label> = self.named_sources(scope, source).await?;
        beside.retain(|other| *other != label && other.is_within(label) && visible.contains(other));
        let now_ms = self.now_ms();
        let whole = whole_text(&passages);
        let mut chunks = self.chunks_of(&key, passages, now_ms)?;
        if chunks.is_empty() {
            return Err(MemoryError::Empty { what: "text" });
        }
        let embedded = self.embed_chunks(&mut chunks, source, label, work).await?;
        let saved = SourceRecord {
            saved_ms: now_ms,
            characters: whole.chars().count() as u64,
            chunks: 0,
            tags: tags_of(&whole),
            preview: preview(&whole),
            key,
        };
        let count = chunks.len();
        self.commit(vec![RecordWrite::ReplaceSource {
            source: Box::new(saved),
            chunks,
        }])
        .await?;
        Ok(Saved {
            chunks: count,
            replaced,
            beside,
            embedded,
        })
    }

    fn chunks_of(
        &self,
        key: &SourceKey,
        passages: Passages,
        now_ms: i64,
    ) -> Result<Vec<ChunkRecord>, MemoryError> {
        let cut = match passages {
            Passages::Text(text) => {
                let settings = &self.inner.settings;
                let embedder = Arc::clone(&self.inner.embedder);
                let most = settings.chunk_tokens.min(embedder.most_tokens());
                let overlap = settings.overlap_tokens.min(most / 4);
                let count = move |text: &str| embedder.count_tokens(text);
                let whole_language = language_of(&text);
                let cut = pieces(&text, most, overlap, &count)?;
                cut.into_iter()
                    .map(|piece| (piece, String::new(), None, whole_language))
                    .collect::<Vec<_>>()
            }
            Passages::Pieces(given) => {
                let language = language_of(
                    &given
                        .iter()
                        .map(|piece| piece.text.as_str())
                        .collect::<Vec<_>>()
                        .join("\n"),
                );
                let (mut line, mut character) = (1_u32, 0_u64);
                let mut cut = Vec::with_capacity(given.len());
                for SavedPiece {
                    text,
                    context,
                    time_ms,
                } in given
                {
                    let newlines = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
                    let last = line.saturating_add(newlines);
                    let end = character + text.chars().count() as u64;
                    let piece = Piece {
                        lines: (line, last),
                        characters: (character, end),
                        text,
                    };
                    // As if each stood on lines of its own.
                    (line, character) = (last.saturating_add(1), end + 1);
                    if !piece.text.trim().is_empty() {
                        cut.push((piece, context, time_ms, language));
                    }
                }
                cut
            }
        };
        Ok(cut
            .into_iter()
            .zip(0_u32..)
            .map(|((piece, context, time_ms, language), ordinal)| ChunkRecord {
                id: chunk_id(key, ordinal),
                key: key.clone(),
                ordinal,
                text: piece.text,
                context,
                language: language.code().to_owned(),
                lines: piece.lines,
                characters: piece.characters,
                time_ms: time_ms.unwrap_or(now_ms),
                vectors: None,
                sequence: 0,
            })
            .collect())
    }

    /// Embeds batch by batch; what fails is tried again, at last one by one, and then reported.
    async fn embed_chunks(
        &self,
        chunks: &mut [ChunkRecord],
        source: &SourceId,
        label: Label,
        work: EmbedWork,
    ) -> Result<bool, MemoryError> {
        let settings = &self.inner.settings;
        let (all, mut done) = (chunks.len(), 0);
        let mut failed: Vec<(u32, EmbedderError)> = Vec::new();
        for batch in chunks.chunks_mut(settings.batch.max(1)) {
            let texts: Vec<String> = batch
                .iter()
                .map(|chunk| chunk_text(&chunk.context, &chunk.text))
                .collect();
            let count = texts.len();
            match self.try_embed(&texts, label, &work).await {
                Ok(vectors) => take(batch, vectors),
                Err(EmbedderError::Cancelled) => return Err(MemoryError::Cancelled),
                Err(_) => {
                    // One bad text spoils its batch: which one is it?
                    for (chunk, text) in batch.iter_mut().zip(&texts) {
                        match self.try_embed(std::slice::from_ref(text), label, &work).await {
                            Ok(vectors) => take(std::slice::from_mut(chunk), vectors),
                            Err(EmbedderError::Cancelled) => return Err(MemoryError::Cancelled),
                            Err(error) => failed.push((chunk.lines.0, error)),
                        }
                    }
                }
            }
            done += count;
            (work.progress)(done);
        }
        let count = failed.len();
        match failed.into_iter().next() {
            None => Ok(chunks.iter().all(|chunk| chunk.vectors.is_some())),
            Some((line, cause)) => Err(MemoryError::FailedChunks {
                source_id: source.as_str().to_owned(),
                failed: count,
                chunks: all,
                attempts: settings.attempts.max(1),
                line,
                cause,
            }),
        }
    }

    async fn try_embed(
        &self,
        texts: &[String],
        label: Label,
        work: &EmbedWork,
    ) -> Result<Vec<Option<Vectors>>, EmbedderError> {
        let mut attempt = 1;
        loop {
            let quiet = EmbedWork::until(Arc::clone(&work.cancel));
            match self.vectors_of_all(texts.to_vec(), label, quiet).await {
                Err(EmbedderError::Failed { transient: true, .. })
                    if attempt < self.inner.settings.attempts =>
                {
                    attempt += 1
                }
                done => return done,
            }
        }
    }

    pub(crate) async fn source(&self, key: &SourceKey) -> Result<Option<SourceRecord>, MemoryError> {
        let query = SourceQuery::one(key);
        Ok(self.inner.records.memory_sources(query).await?.pop())
    }

    /// The labels of all sources of this name in the scope's conversation, also of those that it may not see.
    async fn named_sources(&self, scope: &Scope, source: &SourceId) -> Result<Vec<Label>, MemoryError> {
        let found = self.inner.records.memory_sources(named(scope, source)).await?;
        Ok(found.into_iter().map(|source| source.key.label).collect())
    }
}

fn take(chunks: &mut [ChunkRecord], vectors: Vec<Option<Vectors>>) {
    for (chunk, vectors) in chunks.iter_mut().zip(vectors) {
        chunk.vectors = vectors;
    }
}

fn whole_text(passages: &Passages) -> String {
    match passages {
        Passages::Text(text) => text.clone(),
        Passages::Pieces(pieces) => pieces
            .iter()
            .map(|piece| piece.text.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// All sources of this name in the scope's conversation, of whatever label.
pub(super) fn named(scope: &Scope, source: &SourceId) -> SourceQuery {
    SourceQuery {
        user: Some(scope.user.clone()),
        chat: Some(Arc::clone(&scope.chat)),
        source: Some(source.clone()),
        label: None,
    }
}

/// The same chunk of the same source has the same id for ever. That of another label is another one.
fn chunk_id(key: &SourceKey, ordinal: u32) -> Uuid {
    crate::ids::uuid_of(&serde_json::json!([
        "chunk",
        key.user,
        *key.chat,
        key.label.classification,
        key.label.integrity,
        key.source,
        ordinal
    ]))
}

/// The first 60 characters, on one line.
fn preview(text: &str) -> String {
    let beginning: String = text.chars().take(400).collect();
    let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    graphemes_within(&line, 60).to_owned()
}

/// The three words that stand in it most often.
fn tags_of(text: &str) -> Vec<String> {
    let beginning: String = text.chars().take(20_000).collect();
    crate::text::frequent_words(&beginning, 3)
}
