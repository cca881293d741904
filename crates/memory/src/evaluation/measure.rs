//! Storing, asking, and counting what was found.

use super::file::{Conversation, Question, Turn};
use crate::index::IndexFilter;
use crate::memory::never;
use crate::{EmbedWork, Memory, MemoryError, Mode, Passages, Period, SavedPiece, Scope};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;
use tidegate_policy::{Classification, Label, SourceId};
use tidegate_store::{ChunkQuery, PointId};

/// How many hits are looked at.
const HITS: usize = 20;

/// The result of an evaluation, as `tidegate eval memory --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The model.
    pub embedder: String,
    /// The legs.
    pub mode: Mode,
    /// Turns stored.
    pub turns: usize,
    /// Questions asked.
    pub questions: usize,
    /// Seconds it took to store all turns.
    pub seconds_store: f64,
    /// Seconds it took to ask all questions.
    pub seconds_query: f64,
    /// How long one question took.
    pub query_ms: Milliseconds,
    /// By category.
    pub categories: BTreeMap<String, Measures>,
    /// Over categories 1 to 4 together.
    pub categories_1_4: Measures,
}

/// How long one question took, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Milliseconds {
    /// Half of them at most so long.
    pub p50: f64,
    /// All but a twentieth at most so long.
    pub p95: f64,
}

/// What was found of what should be; in percent but for `questions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Questions.
    pub questions: usize,
    /// Share of the evidence among the first 5 hits, on average.
    pub recall_at_5: f64,
    /// Among the first 10.
    pub recall_at_10: f64,
    /// Among the first 20.
    pub recall_at_20: f64,
    /// Questions with some evidence among the first 10.
    pub hit_at_10: f64,
    /// Normalised discounted cumulative gain of the first 10, each piece of evidence worth the same.
    pub ndcg_at_10: f64,
    /// Mean of one by the rank of the first evidence among the first 20, 0 if there is none.
    pub mrr: f64,
}

/// Stores every turn as one chunk of session RAG (its source is the session), then asks every question among the
/// turns of its conversation. `progress` hears how many turns and questions of how many are done.
///
/// The memory has to be empty; its mode is the one measured.
///
/// # Errors
/// Those of storing and searching.
pub async fn evaluate(
    memory: &Memory,
    conversations: &[Conversation],
    progress: impl Fn(usize, usize) + Send + Sync,
) -> Result<Report, MemoryError> {
    let turns: usize = conversations
        .iter()
        .map(|conversation| conversation.turns.len())
        .sum();
    let questions: usize = conversations
        .iter()
        .map(|conversation| conversation.questions.len())
        .sum();
    let (all, mut done) = (turns + questions, 0);
    let begun = Instant::now();
    let mut ids: HashMap<PointId, String> = HashMap::new();
    for conversation in conversations {
        let scope = scope(conversation);
        for (source, of_session) in by_session(&conversation.turns) {
            let pieces = of_session.iter().map(|turn| piece(turn)).collect();
            memory
                .save_session_context(&scope, &source, Passages::Pieces(pieces), EmbedWork::default())
                .await?;
            ids.extend(stored_ids(memory, &scope, source, &of_session).await?);
            done += of_session.len();
            progress(done, all);
        }
    }
    let seconds_store = begun.elapsed().as_secs_f64();

    let mut times_ms = Vec::with_capacity(questions);
    let mut by_category: BTreeMap<String, Sums> = BTreeMap::new();
    let begun = Instant::now();
    for conversation in conversations {
        let scope = scope(conversation);
        for question in &conversation.questions {
            let asked = Instant::now();
            let hits = ask(memory, &scope, question).await?;
            times_ms.push(asked.elapsed().as_secs_f64() * 1_000.0);
            let ranks: Vec<Option<usize>> = question
                .evidence
                .iter()
                .map(|id| hits.iter().position(|hit| ids.get(hit) == Some(id)))
                .collect();
            by_category
                .entry(question.category.clone())
                .or_default()
                .add(&ranks);
            done += 1;
            progress(done, all);
        }
    }
    times_ms.sort_unstable_by(f64::total_cmp);
    let together = by_category
        .iter()
        .filter(|(category, _)| ["1", "2", "3", "4"].contains(&category.as_str()))
        .fold(Sums::default(), |sums, (_, more)| sums.with(more));
    Ok(Report {
        embedder: memory.embedder().model().id.clone(),
        mode: memory.settings().mode,
        turns,
        questions,
        seconds_store,
        seconds_query: begun.elapsed().as_secs_f64(),
        query_ms: Milliseconds {
            p50: quantile(&times_ms, 0.5),
            p95: quantile(&times_ms, 0.95),
        },
        categories: by_category
            .iter()
            .map(|(category, sums)| (category.clone(), sums.measures()))
            .collect(),
        categories_1_4: together.measures(),
    })
}

fn scope(conversation: &Conversation) -> Scope {
    Scope {
        user: "evaluation".into(),
        chat: conversation.id.as_str().into(),
        label: Label::trusted(Classification::Restricted),
        clearance: Classification::Restricted,
    }
}

fn by_session(turns: &[Turn]) -> Vec<(SourceId, Vec<&Turn>)> {
    let mut sessions: indexmap::IndexMap<u64, Vec<&Turn>> = indexmap::IndexMap::new();
    for turn in turns {
        sessions.entry(turn.session).or_default().push(turn);
    }
    let named = sessions.into_iter();
    named
        .map(|(session, turns)| (SourceId::new(format!("session_{session}")), turns))
        .collect()
}

fn piece(turn: &Turn) -> SavedPiece {
    let time = Period::parse(Some(&turn.time), None).ok();
    SavedPiece {
        text: turn.text.clone(),
        context: turn.speaker.clone(),
        time_ms: time.and_then(|time| time.from_ms),
    }
}

/// The turns by the ids under which they were stored. Blank turns were not stored and cannot be found.
async fn stored_ids(
    memory: &Memory,
    scope: &Scope,
    source: SourceId,
    turns: &[&Turn],
) -> Result<Vec<(PointId, String)>, MemoryError> {
    let query = ChunkQuery {
        user: Some(scope.user.clone()),
        chat: Some(scope.chat.clone()),
        source: Some(source),
        ..ChunkQuery::default()
    };
    let chunks = memory.inner.records.chunks(query).await?;
    let stored = turns.iter().filter(|turn| !turn.text.trim().is_empty());
    Ok(chunks
        .iter()
        .zip(stored)
        .map(|(chunk, turn)| (chunk.id, turn.id.clone()))
        .collect())
}

async fn ask(memory: &Memory, scope: &Scope, question: &Question) -> Result<Vec<PointId>, MemoryError> {
    let embedding = memory
        .query_embedding(&question.text, scope.label, &never())
        .await?
        .ok();
    let mut filter = IndexFilter::of(scope.user.clone(), scope.visible(memory.settings().recall));
    filter.chat = Some(scope.chat.clone());
    let ranked = memory
        .rank_chunks(&question.text, scope.label, embedding.as_ref(), &filter, HITS)
        .await?;
    Ok(ranked.into_iter().map(|(id, _)| id).collect())
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Sums over questions.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    questions: usize,
    recall: [f64; 3],
    hit: f64,
    gain: f64,
    reciprocal: f64,
}

#[expect(clippy::cast_precision_loss, reason = "ranks and numbers of questions")]
impl Sums {
    /// Adds a question, by the rank of each piece of its evidence, from 0.
    fn add(&mut self, ranks: &[Option<usize>]) {
        let among = |first: usize| ranks.iter().flatten().filter(|rank| **rank < first).count();
        let all = ranks.len() as f64;
        self.questions += 1;
        for (sum, first) in self.recall.iter_mut().zip([5, 10, 20]) {
            *sum += among(first) as f64 / all;
        }
        self.hit += if among(10) > 0 { 1.0 } else { 0.0 };
        let discounted = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let gain: f64 = ranks
            .iter()
            .flatten()
            .filter(|rank| **rank < 10)
            .map(|rank| discounted(*rank))
            .sum();
        let best: f64 = (0..ranks.len().min(10)).map(discounted).sum();
        self.gain += gain / best;
        self.reciprocal += ranks
            .iter()
            .flatten()
            .min()
            .map_or(0.0, |rank| 1.0 / (*rank as f64 + 1.0));
    }

    fn with(mut self, other: &Self) -> Self {
        self.questions += other.questions;
        for (sum, more) in self.recall.iter_mut().zip(other.recall) {
            *sum += more;
        }
        self.hit += other.hit;
        self.gain += other.gain;
        self.reciprocal += other.reciprocal;
        self
    }

    fn measures(&self) -> Measures {
        let percent = |sum: f64| {
            if self.questions == 0 {
                0.0
            } else {
                100.0 * sum / self.questions as f64
            }
        };
        let [recall_at_5, recall_at_10, recall_at_20] = self.recall.map(percent);
        Measures {
            questions: self.questions,
            recall_at_5,
            recall_at_10,
            recall_at_20,
            hit_at_10: percent(self.hit),
            ndcg_at_10: percent(self.gain),
            mrr: percent(self.reciprocal),
        }
    }
}
