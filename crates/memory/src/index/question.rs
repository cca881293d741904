//! Asking: the index, what it has not got, and words.

use super::contract::{IndexHit, IndexSearch, Leg};
use super::follower::{Follower, State};
use super::point::IndexFilter;
use super::table::{score, sort};
use crate::MemoryError;
use crate::fusion::Scores;
use crate::ranking::LegScores;
use std::sync::{Arc, PoisonError};
use tidegate_policy::Label;
use tidegate_store::{Collection, PointId};

/// What is asked.
pub(crate) struct Question {
    pub(crate) collection: Collection,
    pub(crate) text: String,
    /// The label of the context that asks.
    pub(crate) label: Label,
    /// The dense leg, if there is one.
    pub(crate) dense: Option<Leg>,
    /// The learned sparse leg, if there is one.
    pub(crate) sparse: Option<Leg>,
    /// Whether words are asked.
    pub(crate) words: bool,
    pub(crate) filter: IndexFilter,
    /// So many of each leg, the best.
    pub(crate) depth: usize,
}

/// What is known without the records, and whose vectors are there alone.
struct Answer {
    scores: LegScores,
    without_dense: Vec<PointId>,
    without_sparse: Vec<PointId>,
}

impl Follower {
    /// The best of each leg, and for all of them the exact scores in every leg.
    pub(crate) async fn leg_scores(&self, question: Question) -> Result<LegScores, MemoryError> {
        let dense = self.ask_index(&question, question.dense.as_ref()).await?;
        let sparse = self.ask_index(&question, question.sparse.as_ref()).await?;
        let (state, question) = (Arc::clone(&self.state), Arc::new(question));
        let asked = Arc::clone(&question);
        let work = move || {
            let state = state.read().unwrap_or_else(PoisonError::into_inner);
            answer(&state, &asked, dense, sparse)
        };
        let mut answer = crate::off_thread(work)
            .await
            .map_err(|cause| MemoryError::Stopped { cause })?;
        if self.index.is_some() {
            let collection = question.collection;
            let legs = [
                (&question.dense, answer.without_dense, &mut answer.scores.dense),
                (&question.sparse, answer.without_sparse, &mut answer.scores.sparse),
            ];
            for (leg, missing, scores) in legs {
                let Some(leg) = leg.as_ref().filter(|_| !missing.is_empty()) else {
                    continue;
                };
                let found = self.records.vectors(collection, missing).await?.into_iter();
                let found = found.filter(|(_, vectors)| *vectors.model == *self.model.id);
                scores.extend(found.filter_map(|(id, vectors)| Some((id, score(leg, &vectors)?))));
            }
        }
        Ok(answer.scores)
    }

    /// What the index finds, if there is one that is there.
    async fn ask_index(&self, question: &Question, leg: Option<&Leg>) -> Result<Vec<IndexHit>, MemoryError> {
        let (Some(index), Some(leg)) = (&self.index, leg) else {
            return Ok(Vec::new());
        };
        if self.read(State::is_whole) {
            return Ok(Vec::new());
        }
        if !question.label.can_flow_to(index.clearance()) {
            let _alone = self.following.lock().await;
            self.load_whole().await?;
            return Ok(Vec::new());
        }
        let mut hits = Vec::new();
        if self.read(|state| state.is_open) {
            // It may find what is out of date in it: so many more are asked for.
            let outdated = self.read(|state| state.stale.len());
            let search = IndexSearch {
                collection: question.collection,
                leg: leg.clone(),
                filter: question.filter.clone(),
                limit: question.depth.saturating_add(outdated),
                least: None,
            };
            match index.search(search).await {
                Ok(found) => hits = found,
                Err(error) => self.is_away(&error),
            }
        }
        if self.read(|state| !state.is_open && state.indexed > 0) {
            let _alone = self.following.lock().await;
            self.load_beside().await?;
            hits.clear();
        }
        Ok(hits)
    }
}

/// What the tables say, together with what the index found.
fn answer(state: &State, question: &Question, dense: Vec<IndexHit>, sparse: Vec<IndexHit>) -> Answer {
    let collection = question.collection;
    let table = state.table(collection);
    let visible = table.visible(&question.filter);
    let best = |leg: Option<&Leg>, mut hits: Vec<IndexHit>| {
        let Some(leg) = leg else { return Vec::new() };
        // The tables know more than the index: what changed since, and what may be seen.
        hits.retain(|hit| {
            !state.stale.contains_key(&(collection, hit.id)) && table.place(hit.id, &visible).is_some()
        });
        hits.extend(table.best(leg, &visible, question.depth, None));
        sort(&mut hits);
        hits.truncate(question.depth);
        hits
    };
    let mut scores = LegScores {
        dense: Scores::new(),
        sparse: Scores::new(),
        lexical: Scores::new(),
        label: visible.label(),
    };
    let (dense, sparse) = (
        best(question.dense.as_ref(), dense),
        best(question.sparse.as_ref(), sparse),
    );
    scores.dense = dense.iter().map(|hit| (hit.id, hit.score)).collect();
    scores.sparse = sparse.iter().map(|hit| (hit.id, hit.score)).collect();
    let words = question
        .words
        .then(|| table.words(&question.text, &visible))
        .flatten();
    if let Some(words) = &words {
        let best = table.best_of(words, question.depth);
        scores.lexical = best.iter().map(|hit| (hit.id, hit.score)).collect();
    }
    // Whoever was found by one leg has its exact scores in the others.
    let (mut without_dense, mut without_sparse) = (Vec::new(), Vec::new());
    for id in scores.ids() {
        let Some(place) = table.place(id, &visible) else {
            continue;
        };
        if let Some(leg) = &question.dense
            && !scores.dense.contains_key(&id)
        {
            match table.score(leg, place) {
                Some(score) => {
                    scores.dense.insert(id, score);
                }
                None => without_dense.push(id),
            }
        }
        if let Some(leg) = &question.sparse
            && !scores.sparse.contains_key(&id)
        {
            match table.score(leg, place) {
                Some(score) => {
                    scores.sparse.insert(id, score);
                }
                None => without_sparse.push(id),
            }
        }
        if let Some(words) = &words {
            // Who shares no word has the score of nothing, which is where the scale begins.
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            let score = words.get(place).copied().unwrap_or(0.0);
            scores.lexical.insert(id, score);
        }
    }
    Answer {
        scores,
        without_dense,
        without_sparse,
    }
}
