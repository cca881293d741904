//! What is worth remembering of a conversation, found by the auxiliary model. Off unless it is switched on: unattended
//! extraction fills stores with junk.

use crate::memory::may_flow;
use crate::text::{content_words, fold};
use crate::{Memory, MemoryError, NewMemory, Scope};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{AssistantPart, Author, Body, Content, Entry};
use tidegate_policy::Label;
use tidegate_prompt::escape_block;
use tidegate_store::Provenance;
use tidegate_tools::{Cancel, graphemes_within};

/// What the auxiliary model is told.
const INSTRUCTIONS: &str = include_str!("../templates/extraction_instructions.txt");

/// The most facts of one window.
const MOST: usize = 8;

/// The longest message that is shown, in characters: what is pasted is not what was said.
const LONGEST_MESSAGE: usize = 4_000;

/// The longest fact, in characters.
const LONGEST_FACT: usize = 500;

/// So much of a fact's words has to stand in what was said; with less it is invented.
const GROUNDED: f32 = 0.6;

/// When something is extracted. Default: never; every 20 messages once it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extraction {
    /// Whether anything is.
    pub on: bool,
    /// After how many messages, which are the window too.
    pub every: usize,
}

impl Default for Extraction {
    fn default() -> Self {
        Self { on: false, every: 20 }
    }
}

impl Extraction {
    /// Whether it is time, `since` messages after the last time.
    pub fn is_due(self, since: usize) -> bool {
        self.on && since >= self.every.max(1)
    }
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The owner, or another person of the conversation.
    Owner,
    /// The model.
    Model,
}

/// A message of the window. It holds what was said alone: never recalled memory, text of the system, or what a tool
/// returned. [`said_in`] makes it of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who said it.
    pub speaker: Speaker,
    /// What.
    pub text: String,
    /// Its label.
    pub label: Label,
}

/// What persons and the model said in `entries`. Left out: what rode on a message beside what was typed (recalled memory,
/// notes), messages of the program, summaries, thinking, calls, results of tools, and files.
pub fn said_in<'a>(entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> Vec<Said> {
    let mut said = Vec::new();
    for entry in entries {
        let (speaker, texts): (Speaker, Vec<&str>) = match &entry.body {
            // The content is what was typed; what models are sent in its place is the sidecar.
            Body::User(message) if message.author == Author::Person => (
                Speaker::Owner,
                message.content.iter().filter_map(Content::as_text).collect(),
            ),
            Body::Assistant(message) => (
                Speaker::Model,
                message
                    .parts
                    .iter()
                    .filter_map(|part| match part {
                        AssistantPart::Text { text } => Some(text.as_str()),
                        AssistantPart::Reasoning { .. } | AssistantPart::Call(_) => None,
                    })
                    .collect(),
            ),
            Body::User(_) | Body::Results(_) => continue,
        };
        let text = texts.join("\n");
        if !text.trim().is_empty() {
            said.push(Said {
                speaker,
                text,
                label: entry.label,
            });
        }
    }
    said
}

/// A fact as the model proposes it.
#[derive(Deserialize)]
struct Proposal {
    artifact_name: String,
    fact: String,
    importance: u8,
}

impl Memory {
    /// Memories that the auxiliary model proposes of a window, at most 8; nothing is written. Write each with
    /// [`Memory::remember`], in a scope whose label is at least the join of the window's: what was known already is only
    /// refreshed there. Proposals that nobody said, by their words, are left out.
    ///
    /// Nothing is proposed without an auxiliary model, or if it may not see the window.
    ///
    /// # Errors
    /// [`MemoryError::Auxiliary`], [`MemoryError::Proposals`], [`MemoryError::Cancelled`].
    pub async fn extract(
        &self,
        scope: &Scope,
        window: &[Said],
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Vec<NewMemory>, MemoryError> {
        let label = Label::join_all(window.iter().map(|said| said.label)).join(scope.label);
        let Some(auxiliary) = &self.inner.auxiliary else {
            return Ok(Vec::new());
        };
        let says_something = window.iter().any(|said| !said.text.trim().is_empty());
        if !may_flow(label, "auxiliary", auxiliary.clearance()) || !says_something {
            return Ok(Vec::new());
        }
        if cancel.is_cancelled() {
            return Err(MemoryError::Cancelled);
        }
        let names = &self.inner.settings.artifact_names;
        let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let instructions = INSTRUCTIONS
            .trim()
            .replace("{artifact_names}", &quoted.join(", "))
            .replace("{most}", &MOST.to_string());
        let material: Vec<String> = window.iter().map(shown).collect();
        let answer = auxiliary
            .answer(&instructions, &material.join("\n"))
            .await
            .map_err(|cause| MemoryError::Auxiliary { cause })?;
        if cancel.is_cancelled() {
            return Err(MemoryError::Cancelled);
        }
        let proposals = parsed(&answer)?;
        let words = window.iter().flat_map(|said| content_words(&said.text));
        let words: BTreeSet<String> = words.map(|word| fold(&word)).collect();
        let mut kept: Vec<NewMemory> = Vec::new();
        for proposal in proposals.into_iter().take(MOST) {
            let fact = proposal.fact.trim();
            let is_new = kept.iter().all(|other| other.fact != fact);
            if fact.is_empty() || fact.chars().count() > LONGEST_FACT || !is_new || !is_grounded(fact, &words)
            {
                tracing::debug!(
                    "a proposed memory says nothing, too much, or what nobody said; it is left out"
                );
                continue;
            }
            let known = names.iter().find(|name| **name == proposal.artifact_name);
            let Some(name) = known.or(names.first()) else {
                continue;
            };
            kept.push(NewMemory {
                importance: proposal.importance.clamp(1, 5),
                provenance: Provenance::Model,
                ..NewMemory::new(name.clone(), fact)
            });
        }
        Ok(kept)
    }
}

fn shown(said: &Said) -> String {
    let from = match said.speaker {
        Speaker::Owner => "owner",
        Speaker::Model => "model",
    };
    let text = graphemes_within(said.text.trim(), LONGEST_MESSAGE);
    format!("<message from=\"{from}\">\n{}\n</message>", escape_block(text))
}

/// The proposals in an answer: models like to write around the JSON that they are asked for.
fn parsed(answer: &str) -> Result<Vec<Proposal>, MemoryError> {
    let bad = |problem: String| MemoryError::Proposals { problem };
    let (Some(first), Some(last)) = (answer.find('['), answer.rfind(']')) else {
        return Err(bad("there is no JSON array in it".to_owned()));
    };
    let json = answer.get(first..=last).unwrap_or_default();
    serde_json::from_str(json).map_err(|error| bad(error.to_string()))
}

/// Whether most words of a fact were said.
fn is_grounded(fact: &str, said: &BTreeSet<String>) -> bool {
    let words: BTreeSet<String> = content_words(fact).iter().map(|word| fold(word)).collect();
    let grounded = words.iter().filter(|word| said.contains(*word)).count();
    #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
    let share = grounded as f32 / words.len().max(1) as f32;
    share >= GROUNDED
}
