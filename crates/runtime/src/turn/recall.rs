//! Recall at the beginning of a turn: what is known from earlier conversations and fits the message rides on it.

use super::Turn;
use super::output::Refused;
use crate::CancelToken;
use std::sync::Arc;
use std::time::Duration;
use tidegate_memory::{Memory, MemoryError, MemorySearch, RecalledMemory, Scope, WordsAlone};
use tidegate_message::{EventKind, MemoryTrouble, RecalledItem};
use tidegate_policy::{Classification, Flow, Integrity, Label, ModelFlow, Origin, ToolName};
use tidegate_prompt::{Note, NoteKind, Recalled};
use tidegate_store::{MemoryRecord, Provenance};
use tokio::time::timeout;

/// The most characters of a message that are searched with: the rest of a long one is mostly a pasted text.
const MOST_OF_QUERY: usize = 4_000;

/// How long a search by words alone may take after one by meaning took too long. It asks nobody and is over at once,
/// unless the disk is not.
const WORDS_TIME: Duration = Duration::from_millis(500);

/// What memory gives to the message.
#[derive(Default)]
pub(super) struct FromMemory {
    /// What rides on it.
    pub(super) recalled: Vec<Recalled>,
    /// What the model is told about what is missing.
    pub(super) notes: Vec<Note>,
    /// The level of all that was looked at; none if nothing was.
    pub(super) looked_at: Option<Classification>,
}

/// What a search came to.
struct Found {
    hits: Vec<RecalledMemory>,
    label: Label,
    trouble: Option<MemoryTrouble>,
}

impl Turn<'_> {
    /// Recalls what fits `query`, the text of the message of turn `number`. It is bounded in time and size, and whatever
    /// goes wrong in it does not end the turn: an event and a note say so.
    pub(super) async fn recall(&mut self, query: &str, number: u32) -> FromMemory {
        let shared = Arc::clone(&self.session.shared);
        let settings = &shared.configuration.memory;
        let Some(memory) = shared.memory.as_ref().filter(|_| settings.recall_limit > 0) else {
            return FromMemory::default();
        };
        let query: String = query.chars().take(MOST_OF_QUERY).collect();
        let scope = self.scope();
        // The integrity of a session is not lost by what nobody asked for.
        let trusted_only = scope.label.integrity == Integrity::Trusted;
        let time = Duration::from_millis(settings.recall_timeout_ms);
        shared.caught_up.look(memory).await;
        if query.trim().is_empty() || !memory.has_memories(&scope, trusted_only) {
            return FromMemory::default();
        }
        let search = MemorySearch {
            limit: settings.recall_limit,
            trusted_only,
            words_alone: !self.may_embed(memory),
            as_known: true,
            ..MemorySearch::new(query)
        };
        let found = match self.search(memory, &scope, search, time).await {
            Ok(found) => found,
            Err(missing) => return missing,
        };
        self.take_found(found, number)
    }

    /// Who asks, with what the session is now.
    pub(super) fn scope(&self) -> Scope {
        let session = &self.session.record.session;
        Scope {
            user: session.user.clone(),
            chat: session.id.to_string().into(),
            label: session.taint.label(),
            clearance: session.clearance,
        }
    }

    /// Makes what was recalled for a turn that has come to its answer live on.
    pub(super) async fn renew_recalled(&mut self) {
        let recalled = std::mem::take(&mut self.recalled);
        let shared = &self.session.shared;
        let (Some(memory), true) = (&shared.memory, shared.configuration.memory.renew) else {
            return;
        };
        if recalled.is_empty() {
            return;
        }
        if let Err(error) = memory.renew(&self.scope(), &recalled).await {
            tracing::warn!(%error, "the memories that were recalled are not renewed");
        }
    }

    /// Searches by meaning and, if that takes too long, by words alone.
    async fn search(
        &mut self,
        memory: &Memory,
        scope: &Scope,
        search: MemorySearch,
        time: Duration,
    ) -> Result<Found, FromMemory> {
        let by_words = MemorySearch {
            words_alone: true,
            ..search.clone()
        };
        // What the search started in other threads stops when it is given up.
        let stop = CancelToken::new();
        let search = MemorySearch {
            cancel: Arc::new(stop.clone()),
            ..search
        };
        let was_cleared = !search.words_alone;
        let first = timeout(time, memory.recall(scope, search)).await;
        let (found, trouble) = match first {
            Ok(Ok(found)) => {
                let trouble = match found.words_alone {
                    Some(WordsAlone::EmbedderFailed) => Some(MemoryTrouble::EmbedderFailed),
                    Some(WordsAlone::NotCleared) => Some(MemoryTrouble::NotCleared),
                    Some(WordsAlone::Wanted) if !was_cleared => Some(MemoryTrouble::NotCleared),
                    Some(WordsAlone::Wanted) | None => None,
                };
                (found, trouble)
            }
            Ok(Err(MemoryError::Embedder(error))) => {
                self.note(EventKind::MemoryUnavailable {
                    class: MemoryTrouble::EmbedderFailed,
                    message: error.to_string(),
                });
                let found = self.search_words(memory, scope, by_words).await?;
                (found, Some(MemoryTrouble::EmbedderFailed))
            }
            Ok(Err(error)) => return Err(self.without_memory(MemoryTrouble::Failed, &error)),
            Err(_) => {
                stop.cancel();
                if !was_cleared {
                    return Err(self.took_too_long(time));
                }
                let found = self.search_words(memory, scope, by_words).await?;
                (found, Some(MemoryTrouble::TimedOut))
            }
        };
        Ok(Found {
            hits: found.hits,
            label: found.label,
            trouble,
        })
    }

    async fn search_words(
        &mut self,
        memory: &Memory,
        scope: &Scope,
        search: MemorySearch,
    ) -> Result<tidegate_memory::Recalled, FromMemory> {
        match timeout(WORDS_TIME, memory.recall(scope, search)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(self.without_memory(MemoryTrouble::Failed, &error)),
            Err(_) => Err(self.took_too_long(WORDS_TIME)),
        }
    }

    /// What of the memories that were found enters: judged one by one, as many as there is room for.
    fn take_found(&mut self, found: Found, number: u32) -> FromMemory {
        let Found { hits, label, trouble } = found;
        let mut room = self.session.shared.configuration.memory.recall_max_chars;
        let all = hits.len();
        // Before anything is judged: which memories were found tells of all that were looked at. So what is recorded of
        // one has the label of all of them, also if its own is lower, and rules see the session as it is from now on.
        let mut rose = self.raise(label, recall_origin(), number);
        let mut refused = label;
        let mut from_memory = FromMemory::default();
        let mut items = Vec::new();
        for hit in hits {
            let memory = hit.memory;
            let characters = memory.fact.chars().count();
            if characters > room {
                continue;
            }
            let text = match self.admit_text("a memory", memory.label, &memory.fact) {
                Ok(text) => text,
                // The event says so.
                Err(Refused { raised: by, .. }) => {
                    refused = refused.join(by);
                    continue;
                }
            };
            room -= characters;
            items.push(RecalledItem {
                memory: memory.id.to_string(),
                label: memory.label,
            });
            from_memory.recalled.push(Recalled {
                memory: Some(memory.memory_id.clone()),
                origin: origin(&memory, &hit.also_at),
                text,
                label: memory.label,
            });
            self.recalled.push(memory);
        }
        rose |= self.raise(refused, recall_origin(), number);
        self.store_taint(rose);
        from_memory.looked_at = Some(refused.classification);
        let left_out = u64::try_from(all.saturating_sub(items.len())).unwrap_or(u64::MAX);
        self.note_of(
            label,
            EventKind::MemoryRecalled {
                memories: items,
                left_out,
                words_alone: trouble,
            },
        );
        match trouble {
            Some(MemoryTrouble::EmbedderFailed | MemoryTrouble::TimedOut) => {
                from_memory
                    .notes
                    .push(reminder(include_str!("../../templates/memory_by_words.txt")));
            }
            // It is so in every turn of the session.
            Some(MemoryTrouble::NotCleared | MemoryTrouble::Failed) | None => {}
        }
        from_memory
    }

    /// Judges whether the message may flow to the embedder.
    fn may_embed(&mut self, memory: &Memory) -> bool {
        let embedder = memory.embedder();
        let flow = ModelFlow {
            model: &embedder.model().id,
            clearance: embedder.clearance(),
        };
        let evaluation = self.session.shared.gate.judge(Flow::Model(&flow), self.facts());
        let allowed = evaluation.is_allowed();
        self.note(EventKind::FlowJudged {
            call: None,
            tool: None,
            evaluation,
        });
        allowed
    }

    fn took_too_long(&mut self, time: Duration) -> FromMemory {
        let message = format!("it took longer than {} ms", time.as_millis());
        self.missing(MemoryTrouble::TimedOut, message)
    }

    fn without_memory(&mut self, class: MemoryTrouble, error: &MemoryError) -> FromMemory {
        tracing::warn!(%error, "long-term memory cannot be searched; the turn goes on without it");
        self.missing(class, error.to_string())
    }

    fn missing(&mut self, class: MemoryTrouble, message: String) -> FromMemory {
        self.note(EventKind::MemoryUnavailable { class, message });
        FromMemory {
            recalled: Vec::new(),
            looked_at: None,
            notes: vec![reminder(include_str!("../../templates/memory_missing.txt"))],
        }
    }
}

fn reminder(text: &str) -> Note {
    Note::plain(NoteKind::Nudge {
        text: text.trim_end().to_owned(),
    })
}

/// By what the taint rises.
fn recall_origin() -> Origin {
    Origin::Tool {
        tool: ToolName::new("memory"),
        resources: Vec::new(),
        source: None,
    }
}

/// Where a memory came from, for the model.
fn origin(memory: &MemoryRecord, also_at: &[Label]) -> String {
    let who = match &memory.provenance {
        Provenance::User => "the user".to_owned(),
        Provenance::Model => "an earlier conversation".to_owned(),
        Provenance::Tool { tool, .. } => format!("an earlier conversation, from tool {tool}"),
        Provenance::Consolidation { from } => format!("{} earlier memories made one", from.len()),
    };
    let day = jiff::Timestamp::from_millisecond(memory.updated_ms)
        .map(|time| time.strftime(", %Y-%m-%d").to_string())
        .unwrap_or_default();
    let below = if also_at.is_empty() {
        String::new()
    } else {
        let labels: Vec<String> = also_at.iter().map(ToString::to_string).collect();
        format!("; also known as {}", labels.join("; "))
    };
    format!("{who}{day}, memory {}{below}", memory.memory_id)
}
