//! The beginning of a turn: what the user says, with everything that rides on it, stored before the first model call.

use super::Turn;
use super::attach;
use super::compact::{now_ms, renumbered};
use super::output::Refused;
use super::recall::FromMemory;
use crate::attachment::AttachedBody;
use crate::{RuntimeError, Session, Signal, TurnOptions, TurnReport, notes};
use std::sync::Arc;
use tidegate_core::Outcome;
use tidegate_message::{CompactionTrigger, Entry, EventKind, TurnStatus, Usage, UserMessage};
use tidegate_policy::{Label, Origin, ToolName, TurnId};
use tidegate_prompt::{
    CompactionCause, CompactionReport, Cooldown, Need, Note, PrefixBreakCause, ProjectFile, PromptError,
    Recalled, SmartContext, SystemPrompt, TooLarge, TurnBuilder, TurnContext, TurnInput,
};
use tidegate_store::{SessionPatch, SessionState, Write};

/// What rides on the user's message.
#[derive(Default)]
struct Riders {
    recalled: Vec<Recalled>,
    /// What stands for files that are not there whole.
    files: Vec<SmartContext>,
    notes: Vec<Note>,
    /// The notes that are taken from the inbox, by position: also those that may not enter.
    taken: Vec<u64>,
    raised: bool,
}

/// A turn's context, or why there is none.
enum Built {
    Context {
        context: Box<TurnContext>,
        /// The user's message.
        entry: Arc<Entry>,
        /// What compaction changed, to be stored after the message.
        writes: Vec<Write>,
    },
    TooLarge {
        too_large: Box<TooLarge>,
        writes: Vec<Write>,
    },
}

impl<'a> Turn<'a> {
    /// Begins a turn with a user message and runs it to its end.
    pub(crate) async fn begin(
        session: &'a mut Session,
        turn: TurnId,
        message: UserMessage,
        label: Label,
        mut options: TurnOptions<'a>,
    ) -> Result<TurnReport, RuntimeError> {
        let attached = attach::read(session, &options.attachments).await?;
        let own_notes = std::mem::take(&mut options.notes);
        let run = session.new_run(turn);
        let mut this = Self::new(session, run, turn, options);
        let number = this.session.record.turns.saturating_add(1);
        let admitted = this.admit("the task", label, message);
        let admitted = admitted.and_then(|message| Ok((message, this.admit_attached(attached)?)));
        let (mut message, attached) = match admitted {
            Ok(admitted) => admitted,
            Err(Refused { explanation, raised }) => {
                let raised = this.raise(raised, Origin::Owner, number);
                this.store_taint(raised);
                this.commit(Vec::new()).await?;
                return Ok(this.not_begun(TurnStatus::Blocked, explanation));
            }
        };
        let Some(attached) = this.keep_long(attached).await? else {
            this.commit(Vec::new()).await?;
            let why = "cancelled while an attached file was read";
            return Ok(this.not_begun(TurnStatus::Cancelled, why.to_owned()));
        };
        // What was judged is recorded after the beginning of the turn it belongs to.
        this.note_first(label, EventKind::TurnStarted);
        let mut raised = this.raise(label, Origin::Owner, number);
        let mut riders = this.riders(number, own_notes).await?;
        raised |= riders.raised;
        let mut label = label;
        for (file, kept) in attached {
            riders.files.extend(kept);
            raised |= this.raise(file.label, file.origin(), number);
            match file.body {
                AttachedBody::Text(text) => riders.recalled.push(Recalled {
                    memory: None,
                    origin: format!("{}, a file that the user attached to this message", file.name),
                    text,
                    label: file.label,
                }),
                AttachedBody::Image(image) => {
                    message.content.push(image);
                    label = label.join(file.label);
                }
                // Its block rides on the message.
                AttachedBody::Long(_) => {}
            }
        }
        let taken = std::mem::take(&mut riders.taken);
        // It is in the transcript from here on.
        let seq = this.session.transcript.next_seq();
        this.unstored = Some(seq);
        let (context, entry, mut writes) = match this.build(message, label, riders, number).await? {
            Built::Context {
                context,
                entry,
                writes,
            } => (context, entry, writes),
            Built::TooLarge { too_large, writes } => return this.too_large(&too_large, raised, writes).await,
        };
        if !taken.is_empty() {
            writes.push(Write::TakeNotes(this.session.id(), taken));
        }
        this.unstored = None;
        let mut before = std::mem::replace(&mut this.session.transcript, context.transcript);
        let begun = this.store_beginning(entry, raised, writes).await;
        if begun.is_err() {
            std::mem::swap(&mut this.session.transcript, &mut before);
            this.unstored = Some(seq);
        }
        let step = begun?;
        this.session.project_file = None;
        this.measured = this.session.transcript.entries().len();
        if let CompactionReport::Done(outcome) = &context.compaction {
            this.passes_left = this.passes_left.saturating_sub(outcome.passes);
            this.keep_provenance_of(&before);
            this.session.rest = Cooldown::default();
            this.session.announced.push(PrefixBreakCause::Compaction);
        }
        this.session.record.state = SessionState::InTurn(turn);
        this.session.record.turns = number;
        // What shares the entries makes them be copied when the next is appended.
        drop(before);
        this.drive(step).await
    }

    /// Stores the user's message with everything that belongs to it: one transaction.
    async fn store_beginning(
        &mut self,
        entry: Arc<Entry>,
        raised: bool,
        more: Vec<Write>,
    ) -> Result<tidegate_core::Step, RuntimeError> {
        let (id, turn) = (self.session.id(), self.turn);
        let step = self.step()?;
        self.show(Signal::Entry(Arc::clone(&entry)));
        let patch = SessionPatch {
            state: Some(SessionState::InTurn(turn)),
            taint: raised.then(|| self.session.record.session.taint.clone()),
            ..SessionPatch::default()
        };
        let mut writes = vec![Write::PatchSession(id, patch), Write::Append(id, vec![entry])];
        writes.extend(more);
        writes.push(self.checkpoint()?);
        self.commit(writes).await?;
        Ok(step)
    }

    /// What rides on the message of this turn, judged and with the taint it raises.
    async fn riders(&mut self, number: u32, own: Vec<Note>) -> Result<Riders, RuntimeError> {
        let mut riders = Riders::default();
        let mut all = Vec::new();
        for stored in self.session.shared.store.notes(self.session.id()).await? {
            let Some(note) = notes::read(&stored) else {
                continue;
            };
            riders.taken.push(stored.position);
            all.push(note);
        }
        all.extend(own);
        for note in all {
            let (text, origin) = (notes::text(&note.kind), note_origin());
            match self.admit_text("a note", note.label, &text) {
                // What a rule would change cannot be told as it is, and half a note says something else.
                Ok(admitted) if admitted == text => {
                    riders.raised |= self.raise(note.label, origin, number);
                    riders.notes.push(note);
                }
                Ok(_) => {}
                Err(Refused { raised, .. }) => riders.raised |= self.raise(raised, origin, number),
            }
        }
        if let Some(found) = self.session.project_file.take() {
            let what = format!("the project file {}", found.name);
            match self.admit_text(&what, found.label, &found.text) {
                Ok(text) => {
                    let file = ProjectFile::new(&self.session.shared.templates, &found.name, &text)?;
                    riders.recalled.extend(file.map(|file| Recalled {
                        memory: None,
                        origin: format!(
                            "the project file {}, which the owner has not approved",
                            found.name
                        ),
                        text: file.text().to_owned(),
                        label: found.label,
                    }));
                    riders.raised |= self.raise(found.label, found.origin(), number);
                }
                // The event says so; the turn begins without it.
                Err(Refused { raised, .. }) => riders.raised |= self.raise(raised, found.origin(), number),
            }
            self.session.project_file = Some(found);
        }
        Ok(riders)
    }

    /// Makes the context, need by need.
    async fn build(
        &mut self,
        message: UserMessage,
        label: Label,
        riders: Riders,
        number: u32,
    ) -> Result<Built, RuntimeError> {
        let session = &*self.session;
        let input = TurnInput {
            turn: self.turn,
            author: message.author,
            content: message.content,
            label,
            notes: riders.notes,
            reminders: Vec::new(),
            system_prompt: SystemPrompt {
                text: session.record.session.system_prompt.to_string(),
                // The session's taint has it.
                label: Label::BOTTOM,
                skills_left_out: Vec::new(),
            },
            tools_tokens: session.tools_tokens,
            window: session.window(self.run.routing().current()),
            cooling_down: session.rest.remaining_ms(now_ms()) > 0,
            prices: session.shared.prices(),
        };
        let window = input.window;
        let templates = session.shared.templates.clone();
        let mut builder = match TurnBuilder::begin_in(&templates, &mut self.session.transcript, input) {
            Ok(builder) => builder,
            Err(PromptError::TooLarge(too_large)) => {
                return Ok(Built::TooLarge {
                    too_large,
                    writes: Vec::new(),
                });
            }
            Err(error) => return Err(error.into()),
        };
        let (mut writes, mut summed_up) = (Vec::new(), None);
        builder.files(riders.files);
        let mut recalled = riders.recalled;
        let mut entry = None;
        let hooks = self.session.shared.hooks.len();
        while let Some(need) = builder.need() {
            match need {
                Need::Compact { size } => {
                    self.note(EventKind::CompactionStarted {
                        cause: CompactionTrigger::Threshold,
                        tokens: size.tokens,
                        window: window.tokens,
                    });
                    let mut compaction = builder.compaction(self.compaction_settings())?;
                    summed_up = Some(self.sum_up(&mut compaction).await?);
                    match compaction.finish() {
                        Ok(outcome) => {
                            // The user's message has its number, and what is new comes after it.
                            let outcome = renumbered(outcome, &self.session.transcript, self.session.id())?;
                            builder.compacted(outcome, None)?;
                        }
                        Err(PromptError::TooLarge(too_large)) => {
                            let summed_up = summed_up.take().unwrap_or_default();
                            self.passes_left = self.passes_left.saturating_sub(too_large.passes);
                            writes.extend(self.compaction_failed(
                                CompactionCause::Threshold,
                                &too_large,
                                summed_up,
                            ));
                            if !too_large.fits() {
                                return Ok(Built::TooLarge { too_large, writes });
                            }
                            builder.compaction_failed(PromptError::TooLarge(too_large))?;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Need::Hooks {
                    user_message,
                    messages,
                    index,
                } => {
                    let query = tidegate_message::joined_text(user_message);
                    let asked = (hooks > 0).then(|| (user_message.to_vec(), messages.to_vec()));
                    let FromMemory {
                        recalled: found,
                        mut notes,
                        looked_at,
                    } = self.recall(&query, number).await;
                    recalled.extend(found);
                    // Of the level alone: whose word the message is, is told by what it holds.
                    builder.looked_at(looked_at.map_or(Label::BOTTOM, Label::trusted));
                    if let Some((message, messages)) = asked {
                        notes.extend(self.hook_notes(message, messages, index, number).await);
                    }
                    builder.hooked(notes)?;
                }
                Need::Recall { .. } => builder.recalled(std::mem::take(&mut recalled))?,
                // Whoever asked for the context stores it, together with the machine, before anything else.
                Need::Store { entry: composed } => {
                    entry = Some(Arc::clone(composed));
                    builder.stored()?;
                }
            }
        }
        let context = builder.finish()?;
        let Some(entry) = entry else {
            return Err(PromptError::NoCurrentMessage { turn: self.turn }.into());
        };
        if let CompactionReport::Done(outcome) = &context.compaction {
            writes.push(Write::Append(self.session.id(), outcome.added.clone()));
            let summed_up = summed_up.unwrap_or_default();
            writes.extend(self.segment(
                CompactionCause::Threshold,
                outcome,
                &context.transcript,
                summed_up,
            ));
        }
        Ok(Built::Context {
            context: Box::new(context),
            entry,
            writes,
        })
    }

    /// Ends a turn whose first request no model can take, before its message is stored.
    async fn too_large(
        &mut self,
        too_large: &TooLarge,
        raised: bool,
        writes: Vec<Write>,
    ) -> Result<TurnReport, RuntimeError> {
        self.store_taint(raised);
        let report = self.not_begun(TurnStatus::Error, too_large.to_string());
        self.note(EventKind::TurnFinished {
            status: report.status,
            warning: None,
            error: report.error.clone(),
            usage: Usage::default(),
        });
        self.commit(writes).await?;
        Ok(report)
    }

    /// The report of a turn whose message was not stored.
    fn not_begun(&self, status: TurnStatus, error: String) -> TurnReport {
        self.report(Outcome {
            status,
            answer: String::new(),
            calls_used: 0,
            rounds: 0,
            usage: Usage::default(),
            warning: None,
            question: None,
            error: Some(error),
        })
    }
}

/// Where notes come from.
fn note_origin() -> Origin {
    Origin::Tool {
        tool: ToolName::new("note"),
        resources: Vec::new(),
        source: None,
    }
}
