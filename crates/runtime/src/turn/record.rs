//! What a turn records: facts, the taint, the machine; and who hears of it.

use super::Turn;
use crate::tool_call::Record;
use crate::{RuntimeError, Signal};
use std::sync::Arc;
use tidegate_core::Run;
use tidegate_message::{Event, EventKind, Transcript};
use tidegate_policy::{Label, Origin};
use tidegate_store::{Checkpoint, NewEvent, SessionPatch, Store, Write};

/// What waits for the next commit.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) writes: Vec<Write>,
    pub(super) events: Vec<NewEvent>,
}

impl Turn<'_> {
    /// Stores the taint with the next commit, if it rose: before anything that raised it reaches the model.
    pub(super) fn store_taint(&mut self, raised: bool) {
        if raised {
            let taint = Some(self.session.record.session.taint.clone());
            let patch = SessionPatch {
                taint,
                ..SessionPatch::default()
            };
            self.waiting
                .writes
                .push(Write::PatchSession(self.session.id(), patch));
        }
    }

    pub(super) fn raise(&mut self, label: Label, origin: Origin, turn: u32) -> bool {
        let from = self.session.taint().label();
        let raised = self
            .session
            .record
            .session
            .taint
            .raise(label, origin.clone(), turn);
        if raised {
            let to = self.session.taint().label();
            self.note(EventKind::TaintRaised { from, to, origin });
        }
        raised
    }

    /// Keeps a fact for the next commit.
    pub(crate) fn note(&mut self, kind: EventKind) {
        self.note_of(Label::BOTTOM, kind);
    }

    /// Keeps a fact about something of this label for the next commit: it tells of that, too, before the session has
    /// it.
    pub(super) fn note_of(&mut self, label: Label, kind: EventKind) {
        let label = self.session.taint().label().join(label);
        self.waiting.events.push(NewEvent {
            turn: Some(self.turn),
            label,
            kind,
        });
    }

    /// The same, before the facts that wait for the next commit.
    pub(super) fn note_first(&mut self, label: Label, kind: EventKind) {
        self.note_of(label, kind);
        self.waiting.events.rotate_right(1);
    }

    /// Takes what waits out, for a commit that runs beside something else.
    pub(crate) fn take_waiting(&mut self) -> Vec<Write> {
        let Waiting { mut writes, events } = std::mem::take(&mut self.waiting);
        if !events.is_empty() {
            writes.push(Write::Events(self.session.id(), events));
        }
        writes
    }

    /// Puts back what was taken out and not stored: it comes before what has been noted since.
    pub(crate) fn put_back(&mut self, writes: Vec<Write>) {
        self.waiting.writes.splice(0..0, writes);
    }

    pub(super) fn checkpoint(&self) -> Result<Write, RuntimeError> {
        let data = self.run.save().map_err(|cause| self.fault(cause))?;
        let checkpoint = Checkpoint {
            turn: self.turn,
            version: Run::VERSION,
            data,
        };
        Ok(Write::Checkpoint(self.session.id(), checkpoint))
    }

    /// Commits `writes` and everything that waited, and tells of the events.
    pub(super) async fn commit(&mut self, writes: Vec<Write>) -> Result<(), RuntimeError> {
        let Waiting {
            writes: mut all,
            events,
        } = std::mem::take(&mut self.waiting);
        all.extend(writes);
        if !events.is_empty() {
            all.push(Write::Events(self.session.id(), events));
        }
        if all.is_empty() {
            return Ok(());
        }
        let committed = self.session.shared.store.commit(all).await?;
        self.tell(committed.events);
        Ok(())
    }

    pub(crate) fn tell(&self, events: Vec<Arc<Event>>) {
        for event in events {
            self.session.shared.bus.publish(&event);
            self.show(Signal::Event(event));
        }
    }

    pub(crate) fn show(&self, signal: Signal) {
        if let Some(observer) = self.observer {
            observer.on(signal);
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.session.shared.store)
    }
}

impl Record for Turn<'_> {
    async fn record(&mut self, writes: Vec<Write>, events: Vec<NewEvent>) -> Result<(), RuntimeError> {
        self.waiting.events.extend(events);
        self.commit(writes).await
    }

    fn tell(&self, events: Vec<Arc<Event>>) {
        Turn::tell(self, events);
    }

    fn asked(&mut self) {
        self.may_have_asked = true;
    }

    fn transcript(&self) -> &Transcript {
        &self.session.transcript
    }
}
