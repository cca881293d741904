//! Building the context of a turn, need by need.

use super::{CompactionReport, TurnContext, TurnInput};
use crate::compaction::largest_fixed;
use crate::templates::Templates;
use crate::{
    Compaction, CompactionCause, CompactionInput, CompactionOutcome, CompactionSettings, CurrentMessage,
    Fixed, Note, PromptError, Recalled, RequestSize, SmartContext, SystemPrompt, TooLarge,
    compose_user_api_content, estimate_entry, estimate_transcript, reanchor_current_turn_user_idx, sanitise,
};
use std::sync::Arc;
use tidegate_message::{Content, Entry, Transcript, UserMessage, joined_text};
use tidegate_policy::Label;

/// What the builder needs next.
#[derive(Clone, Copy, Debug)]
pub enum Need<'a> {
    /// A shorter transcript: drive [`TurnBuilder::compaction`], then answer with [`TurnBuilder::compacted`] or
    /// [`TurnBuilder::compaction_failed`].
    Compact {
        /// How large the request is.
        size: RequestSize,
    },
    /// What the `pre_llm_call` hooks say: answer with [`TurnBuilder::hooked`].
    Hooks {
        /// What the user wrote.
        user_message: &'a [Content],
        /// The messages, with the user's as the one at `index`, not composed.
        messages: &'a [Arc<Entry>],
        /// Where the user's message is.
        index: usize,
    },
    /// Memory for this message: answer with [`TurnBuilder::recalled`].
    Recall {
        /// The user's text, to search with.
        query: &'a str,
    },
    /// The user turn stored, before the first model call: answer with [`TurnBuilder::stored`]. In the same transaction the
    /// taken notes are cleared and what compaction changed is stored.
    Store {
        /// The user's message with its sidecar.
        entry: &'a Arc<Entry>,
    },
}

impl Need<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Compact { .. } => "compaction",
            Self::Hooks { .. } => "the notes of hooks",
            Self::Recall { .. } => "recalled memory",
            Self::Store { .. } => "that the turn is stored",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Compact,
    Hooks,
    Recall,
    Store,
    Ready,
}

/// Builds a [`TurnContext`] in a fixed order: sanitise, append the user message, notes and reminders, compact, find the
/// message again, hooks, recall, compose, store.
///
/// Ask [`need`](Self::need), answer it, and when it is `None`, [`finish`](Self::finish). Answers that were not asked are
/// [`PromptError::Misuse`] and change nothing.
#[derive(Debug)]
pub struct TurnBuilder {
    templates: Templates,
    input: TurnInput,
    original: String,
    transcript: Transcript,
    /// The user's message.
    entry: Arc<Entry>,
    index: usize,
    recalled: Vec<Recalled>,
    files: Vec<SmartContext>,
    looked_at: Label,
    report: CompactionReport,
    size: RequestSize,
    state: State,
}

impl TurnBuilder {
    /// Begins a turn: `transcript` is what was said before it.
    ///
    /// # Errors
    /// If the message says nothing or calls are open; if system prompt and tools alone fill the window.
    pub fn begin(
        templates: &Templates,
        transcript: Transcript,
        input: TurnInput,
    ) -> Result<Self, PromptError> {
        let mut transcript = transcript;
        Self::begin_in(templates, &mut transcript, input)
    }

    /// The same over a transcript that goes on to be used: the user's message is appended to it, and its entries are
    /// shared and not copied, so that a turn costs the same however long it is. Whoever cannot store the message takes it
    /// back ([`Transcript::take_back`]).
    ///
    /// # Errors
    /// As [`begin`](Self::begin); the transcript is as before then.
    pub fn begin_in(
        templates: &Templates,
        transcript: &mut Transcript,
        input: TurnInput,
    ) -> Result<Self, PromptError> {
        let mut input = input;
        for part in &mut input.content {
            sanitise_part(part);
        }
        input.content.retain(|part| part.as_text() != Some(""));
        let original = joined_text(&input.content);
        let message = UserMessage::new(input.author, input.content.clone());
        let entry = transcript
            .push_user(input.turn, input.label, message)
            .map_err(|cause| PromptError::Transcript {
                turn: input.turn,
                cause,
            })?;
        input.notes.append(&mut input.reminders);
        let index = transcript.entries().len().saturating_sub(1);
        let mut this = Self {
            templates: templates.clone(),
            original,
            transcript: transcript.clone(),
            entry,
            index,
            recalled: Vec::new(),
            files: Vec::new(),
            looked_at: Label::BOTTOM,
            report: CompactionReport::NotNeeded,
            size: RequestSize {
                tokens: 0,
                counted: 0,
            },
            state: State::Hooks,
            input,
        };
        let fixed = this.fixed();
        this.measure();
        if fixed.total() >= this.input.window.tokens {
            transcript.take_back(this.entry.seq);
            let (largest, largest_tokens) = largest_fixed(fixed);
            return Err(Box::new(TooLarge {
                largest,
                largest_tokens,
                tokens: this.size.tokens.max(fixed.total()),
                window: this.input.window.tokens,
                passes: 0,
            })
            .into());
        }
        if this.size.tokens >= this.input.window.threshold {
            if this.input.cooling_down {
                this.report = CompactionReport::CoolingDown;
            } else {
                this.state = State::Compact;
            }
        }
        Ok(this)
    }

    /// What is needed next; `None` if it can be finished.
    pub fn need(&self) -> Option<Need<'_>> {
        match self.state {
            State::Compact => Some(Need::Compact { size: self.size }),
            State::Hooks => Some(Need::Hooks {
                user_message: &self.input.content,
                messages: self.transcript.entries(),
                index: self.index,
            }),
            State::Recall => Some(Need::Recall {
                query: &self.original,
            }),
            State::Store => Some(Need::Store { entry: &self.entry }),
            State::Ready => None,
        }
    }

    /// The compaction that is needed, to be driven to its end.
    ///
    /// # Errors
    /// If none is needed, or a template cannot be rendered.
    pub fn compaction(&self, settings: CompactionSettings) -> Result<Compaction, PromptError> {
        self.expect(State::Compact, "a request for compaction")?;
        Compaction::begin(
            &self.templates,
            CompactionInput {
                transcript: self.transcript.clone(),
                turn: self.input.turn,
                current: Some(self.entry.seq),
                fixed: self.fixed(),
                window: self.input.window,
                cause: CompactionCause::Threshold,
                settings,
            },
        )
    }

    /// Takes the compacted transcript, and the system prompt if it was built again on this occasion. Finds the user's
    /// message in it.
    ///
    /// # Errors
    /// If no compaction is needed, or the user's message is not there any more: then the turn must stop.
    pub fn compacted(
        &mut self,
        outcome: CompactionOutcome,
        system_prompt: Option<SystemPrompt>,
    ) -> Result<(), PromptError> {
        self.expect(State::Compact, "a compacted transcript")?;
        let current = CurrentMessage {
            turn: self.input.turn,
            raw: &self.input.content,
            composed: None,
        };
        let entries = outcome.transcript.entries();
        let found = reanchor_current_turn_user_idx(entries, Some(self.index), current);
        let anchor = found.and_then(|index| Some((index, Arc::clone(entries.get(index)?))));
        let Some((index, entry)) = anchor.filter(|(_, entry)| entry.turn == self.input.turn) else {
            return Err(PromptError::NoCurrentMessage {
                turn: self.input.turn,
            });
        };
        (self.index, self.entry) = (index, entry);
        let mut outcome = outcome;
        self.transcript = std::mem::take(&mut outcome.transcript);
        self.report = CompactionReport::Done(Box::new(outcome));
        if let Some(system_prompt) = system_prompt {
            self.input.system_prompt = system_prompt;
        }
        self.measure();
        self.state = State::Hooks;
        Ok(())
    }

    /// Goes on without compaction, if the request still fits in the window.
    ///
    /// # Errors
    /// `error` itself, if it does not fit or the error is another one; if no compaction is needed.
    pub fn compaction_failed(&mut self, error: PromptError) -> Result<(), PromptError> {
        self.expect(State::Compact, "a failure of compaction")?;
        match error {
            PromptError::TooLarge(too_large) if too_large.fits() => {
                self.report = CompactionReport::Failed(too_large);
                self.state = State::Hooks;
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Takes what the hooks add.
    ///
    /// # Errors
    /// If this is not needed now.
    pub fn hooked(&mut self, notes: Vec<Note>) -> Result<(), PromptError> {
        self.expect(State::Hooks, "the notes of hooks")?;
        self.input.notes.extend(notes);
        self.state = State::Recall;
        Ok(())
    }

    /// Takes the label of all that was looked at for what is recalled: the message has it too, also if nothing was found.
    /// What rides on it, and that nothing does, tells of all of that.
    pub fn looked_at(&mut self, label: Label) {
        self.looked_at = self.looked_at.join(label);
    }

    /// Takes what stands for files that the message does not carry whole: their blocks ride on it, and it has their
    /// labels. Until recalled memory is taken.
    pub fn files(&mut self, files: Vec<SmartContext>) {
        self.files.extend(files);
    }

    /// Takes recalled memory and composes the message.
    ///
    /// # Errors
    /// If this is not needed now, or a template cannot be rendered.
    pub fn recalled(&mut self, recalled: Vec<Recalled>) -> Result<(), PromptError> {
        self.expect(State::Recall, "recalled memory")?;
        let composed = compose_user_api_content(
            &self.templates,
            &self.input.content,
            &recalled,
            &self.files,
            &self.input.notes,
        )?;
        let label = composed.label.join(self.looked_at);
        let rises = self.entry.label.join(self.looked_at) != self.entry.label;
        let sidecar = composed
            .sidecar
            .or_else(|| rises.then(|| self.input.content.clone()));
        if let Some(sidecar) = sidecar {
            let before = estimate_entry(&self.entry, &self.input.prices);
            self.entry = self
                .transcript
                .set_sidecar(self.entry.seq, label, sidecar)
                .map_err(|cause| PromptError::Transcript {
                    turn: self.input.turn,
                    cause,
                })?;
            let after = estimate_entry(&self.entry, &self.input.prices);
            // The message is newer than anything the provider has counted.
            self.size.tokens = self.size.tokens.saturating_sub(before).saturating_add(after);
        }
        self.recalled = recalled;
        self.state = State::Store;
        Ok(())
    }

    /// The user turn is stored.
    ///
    /// # Errors
    /// If this is not needed now.
    pub fn stored(&mut self) -> Result<(), PromptError> {
        self.expect(State::Store, "that the turn is stored")?;
        self.state = State::Ready;
        Ok(())
    }

    /// The context.
    ///
    /// # Errors
    /// If something is still needed.
    pub fn finish(self) -> Result<TurnContext, PromptError> {
        self.expect(State::Ready, "the end of the turn's beginning")?;
        let label = self.transcript.label().join(self.input.system_prompt.label);
        Ok(TurnContext {
            turn_id: self.input.turn,
            user_message: self.input.content,
            original_user_message: self.original,
            active_system_prompt: self.input.system_prompt,
            current_turn_user_idx: self.index,
            notes: self.input.notes,
            recalled: self.recalled,
            label,
            compaction: self.report,
            size: self.size,
            transcript: self.transcript,
        })
    }

    fn fixed(&self) -> Fixed {
        Fixed {
            system: self.input.system_prompt.tokens(),
            tools: self.input.tools_tokens,
        }
    }

    fn measure(&mut self) {
        self.size = estimate_transcript(&self.transcript, self.fixed(), &self.input.prices);
    }

    fn expect(&self, state: State, given: &'static str) -> Result<(), PromptError> {
        if self.state == state {
            return Ok(());
        }
        Err(PromptError::Misuse {
            given,
            expected: self
                .need()
                .map_or("the end of the turn's beginning", |need| need.name()),
        })
    }
}

fn sanitise_part(part: &mut Content) {
    let text = match part {
        Content::Text { text } => text,
        Content::File { name, .. } => name,
        Content::Image { .. } => return,
    };
    if let std::borrow::Cow::Owned(sanitised) = sanitise(text) {
        *text = sanitised;
    }
}
