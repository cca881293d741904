//! The beginning of a turn: what the user says, with everything that rides on it, stored before the first model call.

use super::Turn;
use super::output::Refused;
use crate::{RuntimeError, Session, Signal, TurnOptions, TurnReport};
use std::sync::Arc;
use tidegate_core::Outcome;
use tidegate_message::{Entry, EventKind, Transcript, TurnStatus, Usage, UserMessage};
use tidegate_policy::{Label, Origin, TurnId};
use tidegate_prompt::{
    Need, ProjectFile, PromptError, Recalled, SystemPrompt, TooLarge, TurnBuilder, TurnContext, TurnInput,
};
use tidegate_store::{SessionPatch, SessionState, Write};

/// What rides on the user's message.
#[derive(Default)]
struct Riders {
    recalled: Vec<Recalled>,
    raised: bool,
}

/// A turn's context, or why there is none.
enum Built {
    Context(Box<TurnContext>, Arc<Entry>),
    TooLarge(Box<TooLarge>),
}

impl<'a> Turn<'a> {
    /// Begins a turn with a user message and runs it to its end.
    pub(crate) async fn begin(
        session: &'a mut Session,
        turn: TurnId,
        message: UserMessage,
        label: Label,
        options: TurnOptions<'a>,
    ) -> Result<TurnReport, RuntimeError> {
        let run = session.new_run(turn);
        let mut this = Self::new(session, run, turn, options);
        let number = this.session.record.turns.saturating_add(1);
        let message = match this.admit("the task", label, message) {
            Ok(message) => message,
            Err(Refused { explanation, raised }) => {
                let raised = this.raise(raised, Origin::Owner, number);
                this.store_taint(raised);
                this.commit(Vec::new()).await?;
                return Ok(this.not_begun(TurnStatus::Blocked, explanation));
            }
        };
        // What was judged is recorded after the beginning of the turn it belongs to.
        this.note_first(label, EventKind::TurnStarted);
        let mut raised = this.raise(label, Origin::Owner, number);
        let riders = this.riders(number)?;
        raised |= riders.raised;
        let (context, entry) = match this.build(message, label, riders).await? {
            Built::Context(context, entry) => (context, entry),
            Built::TooLarge(too_large) => return this.too_large(&too_large, raised).await,
        };
        let before = std::mem::replace(&mut this.session.transcript, context.transcript);
        let begun = this.store_beginning(entry, raised).await;
        if begun.is_err() {
            this.session.transcript = before;
        }
        let step = begun?;
        this.session.project_file = None;
        this.session.record.state = SessionState::InTurn(turn);
        this.session.record.turns = number;
        this.drive(step).await
    }

    /// Stores the user's message with everything that belongs to it: one transaction.
    async fn store_beginning(
        &mut self,
        entry: Arc<Entry>,
        raised: bool,
    ) -> Result<tidegate_core::Step, RuntimeError> {
        let (id, turn) = (self.session.id(), self.turn);
        let step = self.step()?;
        self.show(Signal::Entry(Arc::clone(&entry)));
        let patch = SessionPatch {
            state: Some(SessionState::InTurn(turn)),
            taint: raised.then(|| self.session.record.session.taint.clone()),
            ..SessionPatch::default()
        };
        let writes = vec![
            Write::PatchSession(id, patch),
            Write::Append(id, vec![entry]),
            self.checkpoint()?,
        ];
        self.commit(writes).await?;
        Ok(step)
    }

    /// What rides on the message of this turn, judged and with the taint it raises.
    fn riders(&mut self, number: u32) -> Result<Riders, RuntimeError> {
        let mut riders = Riders::default();
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
    ) -> Result<Built, RuntimeError> {
        let session = &*self.session;
        let input = TurnInput {
            turn: self.turn,
            author: message.author,
            content: message.content,
            label,
            notes: Vec::new(),
            reminders: Vec::new(),
            system_prompt: SystemPrompt {
                text: session.record.session.system_prompt.to_string(),
                // The session's taint has it.
                label: Label::BOTTOM,
                skills_left_out: Vec::new(),
            },
            tools_tokens: session.tools_tokens,
            window: session.window(self.run.routing().current()),
            cooling_down: true,
            prices: session.shared.prices(),
        };
        let transcript: Transcript = session.transcript.clone();
        let templates = session.shared.templates.clone();
        let mut builder = match TurnBuilder::begin(&templates, transcript, input) {
            Ok(builder) => builder,
            Err(PromptError::TooLarge(too_large)) => return Ok(Built::TooLarge(too_large)),
            Err(error) => return Err(error.into()),
        };
        let mut recalled = Some(riders.recalled);
        let mut entry = None;
        while let Some(need) = builder.need() {
            match need {
                // It is said above that compaction rests.
                Need::Compact { .. } => break,
                Need::Hooks { .. } => builder.hooked(Vec::new())?,
                Need::Recall { .. } => builder.recalled(recalled.take().unwrap_or_default())?,
                // Whoever asked for the context stores it, together with the machine, before anything else.
                Need::Store { entry: composed } => {
                    entry = Some(Arc::clone(composed));
                    builder.stored()?;
                }
            }
        }
        let context = builder.finish()?;
        match entry {
            Some(entry) => Ok(Built::Context(Box::new(context), entry)),
            None => Err(PromptError::NoCurrentMessage { turn: self.turn }.into()),
        }
    }

    /// Ends a turn whose first request no model can take, before its message is stored.
    async fn too_large(&mut self, too_large: &TooLarge, raised: bool) -> Result<TurnReport, RuntimeError> {
        self.store_taint(raised);
        let report = self.not_begun(TurnStatus::Error, too_large.to_string());
        self.note(EventKind::TurnFinished {
            status: report.status,
            warning: None,
            error: report.error.clone(),
            usage: Usage::default(),
        });
        self.commit(Vec::new()).await?;
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
