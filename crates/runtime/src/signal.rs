//! What goes on, for those who watch: stored events, and text while it arrives.

use std::sync::Arc;
use tidegate_message::{Entry, Event};
use tokio::sync::broadcast;

/// Something to show.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// A fact, after it was stored.
    Event(Arc<Event>),
    /// An entry of the transcript, just before it is stored.
    Entry(Arc<Entry>),
    /// A piece of the model's visible text, before the reply is complete. Not stored in this form.
    Text(String),
    /// The text shown since the last reply was complete does not count: the call failed.
    Retracted,
}

/// Watches one run. Called in order, from the task that runs the turn: it should return at once.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn on(&self, signal: Signal);
}

impl<F: Fn(Signal) + Send + Sync> Observer for F {
    fn on(&self, signal: Signal) {
        self(signal);
    }
}

/// Stored events of all sessions of this process. A receiver that lags by more than 1,024 events is told how
/// many it missed and reads those from the store.
#[derive(Clone, Debug)]
pub struct EventBus {
    sender: broadcast::Sender<Arc<Event>>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self {
            sender: broadcast::Sender::new(1_024),
        }
    }
}

impl EventBus {
    /// Everything from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }

    pub(crate) fn publish(&self, event: &Arc<Event>) {
        // No receiver is no fault: the store has the event.
        let _ = self.sender.send(Arc::clone(event));
    }
}
