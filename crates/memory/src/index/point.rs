//! What an index holds of an item, and how items are chosen.

use crate::embedder::of_length_1;
use crate::text::{Language, hash_of, terms};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId, SourceId, UserId};
use tidegate_store::{
    Collection, Item, MemoryState, Outline, PointId, RecordWrite, ScannedItem, SparseVector,
};

/// How texts are taken apart into words. It changes with stemmers and with what is counted as a word: words that were
/// kept are made anew then.
pub(crate) const WORDS_FORM: u32 = 1;

/// An item in an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPoint {
    /// Its id: the same item has the same one for ever, so that a change applied twice is applied once.
    pub id: PointId,
    /// Its collection.
    pub collection: Collection,
    /// What it is chosen by.
    pub payload: PointPayload,
    /// The dense vector, of length 1; none if no embedder may see its text.
    pub dense: Option<Arc<[f32]>>,
    /// The learned sparse vector, where the model has one.
    pub sparse: Option<Arc<SparseVector>>,
    /// How often each term stands in it, by the term's number.
    pub lexical: Arc<SparseVector>,
}

/// What items are chosen by.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPayload {
    /// Whose.
    pub user: UserId,
    /// The conversation, as text.
    pub chat: Arc<str>,
    /// The label.
    pub label: Label,
    /// Of a chunk: its source.
    pub source: Option<SourceId>,
    /// Of a chunk: its place in the source.
    pub ordinal: Option<u32>,
    /// Of a memory: its name.
    pub memory_id: Option<MemoryId>,
    /// Of a memory: its group.
    pub artifact_name: Option<String>,
    /// Of a memory: its importance.
    pub importance: Option<u8>,
    /// When it is from, in milliseconds since 1970 (UTC): of a memory its last update.
    pub time_ms: i64,
    /// When it ends; none of a chunk.
    pub expires_ms: Option<i64>,
    /// Language (ISO 639-3) of its stems.
    pub language: String,
}

impl IndexPoint {
    /// The same as a scan of the records tells it.
    pub(super) fn as_scanned(&self) -> ScannedItem<'_> {
        let payload = &self.payload;
        ScannedItem {
            collection: match payload.ordinal {
                Some(_) => Collection::SessionRag,
                None => Collection::MetaArtifacts,
            },
            id: self.id,
            user: payload.user.as_str(),
            chat: &payload.chat,
            label: payload.label,
            source: payload.source.as_ref().map(|source| source.as_str()),
            ordinal: payload.ordinal,
            memory_id: payload.memory_id.as_ref().map(|name| name.as_str()),
            artifact_name: payload.artifact_name.as_deref(),
            importance: payload.importance,
            time_ms: payload.time_ms,
            expires_ms: payload.expires_ms,
            language: &payload.language,
            words: &self.lexical.indices,
            counts: &self.lexical.values,
        }
    }

    /// What an index holds of `item`; none if it holds nothing of it, as of a memory that was superseded. Vectors of
    /// another model than `model` are left out.
    pub fn of(item: &Item, model: &str) -> Option<Self> {
        let vectors = item.vectors().filter(|vectors| &*vectors.model == model);
        let dense = vectors.map(|vectors| of_length_1(&vectors.dense));
        let sparse = vectors.and_then(|vectors| vectors.sparse.clone());
        let payload = match item {
            Item::Memory(memory) => {
                if memory.state != MemoryState::Active {
                    return None;
                }
                PointPayload {
                    user: memory.user.clone(),
                    chat: Arc::clone(&memory.chat),
                    label: memory.label,
                    source: None,
                    ordinal: None,
                    memory_id: Some(memory.memory_id.clone()),
                    artifact_name: Some(memory.artifact_name.clone()),
                    importance: Some(memory.importance),
                    time_ms: memory.updated_ms,
                    expires_ms: Some(memory.expires_ms),
                    language: memory.language.clone(),
                }
            }
            Item::Chunk(chunk) => PointPayload {
                user: chunk.key.user.clone(),
                chat: Arc::clone(&chunk.key.chat),
                label: chunk.key.label,
                source: Some(chunk.key.source.clone()),
                ordinal: Some(chunk.ordinal),
                memory_id: None,
                artifact_name: None,
                importance: None,
                time_ms: chunk.time_ms,
                expires_ms: None,
                language: chunk.language.clone(),
            },
        };
        Some(Self {
            id: item.id(),
            collection: item.collection(),
            payload,
            dense,
            sparse,
            lexical: Arc::new(words_of(item)),
        })
    }

    /// The same of an outline.
    pub(crate) fn of_outline(collection: Collection, id: PointId, outline: Outline, model: &str) -> Self {
        let vectors = outline.vectors.filter(|vectors| &*vectors.model == model);
        let dense = vectors.as_ref().map(|vectors| of_length_1(&vectors.dense));
        Self {
            id,
            collection,
            payload: PointPayload {
                user: outline.user,
                chat: outline.chat,
                label: outline.label,
                source: outline.source,
                ordinal: outline.ordinal,
                memory_id: outline.memory_id,
                artifact_name: outline.artifact_name,
                importance: outline.importance,
                time_ms: outline.time_ms,
                expires_ms: outline.expires_ms,
                language: outline.language,
            },
            dense,
            sparse: vectors.and_then(|vectors| vectors.sparse),
            lexical: Arc::new(outline.words),
        }
    }
}

/// The words of an item, by which it is found.
fn words_of(item: &Item) -> SparseVector {
    match item {
        Item::Memory(memory) => lexical_vector(&memory_text(&memory.fact, &memory.tags), &memory.language),
        Item::Chunk(chunk) => {
            let text = chunk_text(&chunk.context, &chunk.text);
            lexical_vector(&format!("{text} {}", day(chunk.time_ms)), &chunk.language)
        }
    }
}

/// `writes`, with the words of all items that they write.
pub(crate) fn with_words(mut writes: Vec<RecordWrite>) -> Vec<RecordWrite> {
    let mut words = Vec::new();
    let mut keep = |item: &Item| {
        words.push(RecordWrite::KeepWords {
            collection: item.collection(),
            id: item.id(),
            sequence: None,
            form: WORDS_FORM,
            words: Arc::new(words_of(item)),
        });
    };
    for write in &writes {
        match write {
            RecordWrite::PutMemory { record, .. } => keep(&Item::Memory(record.clone())),
            RecordWrite::ReplaceSource { chunks, .. } => {
                for chunk in chunks {
                    keep(&Item::Chunk(Box::new(chunk.clone())));
                }
            }
            _ => {}
        }
    }
    writes.extend(words);
    writes
}

/// The day of a time in words, as people ask for it ("8 May 2023"). It is searched as words and not embedded: a vector
/// of a short text would be mostly about its date.
fn day(time_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(time_ms)
        .map(|time| time.strftime("%-d %B %Y").to_string())
        .unwrap_or_default()
}

/// The text of a memory as it is embedded and searched.
pub(crate) fn memory_text(fact: &str, tags: &[String]) -> String {
    if tags.is_empty() {
        fact.to_owned()
    } else {
        format!("{fact}\n{}", tags.join(", "))
    }
}

/// The text of a chunk as it is embedded and searched.
pub(crate) fn chunk_text(context: &str, text: &str) -> String {
    if context.is_empty() {
        text.to_owned()
    } else {
        format!("{context}: {text}")
    }
}

/// The terms of a text by their numbers, with how often each stands in it. Stemmed as `language` (ISO 639-3) is.
pub fn lexical_vector(text: &str, language: &str) -> SparseVector {
    let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
    for term in terms(text, Language::of_code(language)) {
        *counts.entry(hash_of(&term)).or_default() += 1.0;
    }
    let (indices, values) = counts.into_iter().unzip();
    SparseVector { indices, values }
}

/// Which items may be found. It is applied before anything is counted, ranked or cut: what it leaves out has no
/// influence on what is found.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexFilter {
    /// Whose.
    pub user: UserId,
    /// The labels that may be seen.
    pub labels: Vec<Label>,
    /// Only of this conversation.
    pub chat: Option<Arc<str>>,
    /// Only of this source.
    pub source: Option<SourceId>,
    /// Only of this group.
    pub artifact_name: Option<String>,
    /// Not from before this time, in milliseconds since 1970 (UTC).
    pub from_ms: Option<i64>,
    /// Not from after this time; the time itself still is.
    pub to_ms: Option<i64>,
    /// Only what has not ended at this time.
    pub alive_at_ms: Option<i64>,
}

impl IndexFilter {
    /// All of a user's items with these labels.
    pub fn of(user: UserId, labels: Vec<Label>) -> Self {
        Self {
            user,
            labels,
            chat: None,
            source: None,
            artifact_name: None,
            from_ms: None,
            to_ms: None,
            alive_at_ms: None,
        }
    }

    /// Whether an item may be found.
    pub fn passes(&self, payload: &PointPayload) -> bool {
        self.user == payload.user
            && self.labels.contains(&payload.label)
            && self.chat.as_ref().is_none_or(|chat| *chat == payload.chat)
            && self
                .source
                .as_ref()
                .is_none_or(|source| payload.source.as_ref() == Some(source))
            && self
                .artifact_name
                .as_ref()
                .is_none_or(|name| payload.artifact_name.as_ref() == Some(name))
            && self.from_ms.is_none_or(|from| from <= payload.time_ms)
            && self.to_ms.is_none_or(|to| payload.time_ms <= to)
            && self
                .alive_at_ms
                .is_none_or(|now| payload.expires_ms.is_none_or(|end| now < end))
    }
}
