//! Looking for what other processes wrote.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tidegate_memory::Memory;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

/// How old what is known of other processes' writes may be at the beginning of a turn. A search by a tool always looks.
const FRESH: Duration = Duration::from_secs(1);

/// How long a turn waits for it: reading a journal that has nothing new takes far less, and an index that does not
/// answer holds nobody up.
const WAIT: Duration = Duration::from_millis(250);

/// Remembers when the journal was read last, so that a turn without memories costs no look at the disk.
#[derive(Debug, Default)]
pub(crate) struct CaughtUp(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    running: Option<JoinHandle<()>>,
}

impl CaughtUp {
    /// Looks, if it is time to. It goes on by itself where that takes long; the next turn then knows more.
    pub(crate) async fn look(&self, memory: &Arc<Memory>) {
        let Some(done) = self.begin(memory) else { return };
        // Whether it was in time makes no difference.
        let _ = tokio::time::timeout(WAIT, done).await;
    }

    fn begin(&self, memory: &Arc<Memory>) -> Option<tokio::sync::oneshot::Receiver<()>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = state.running.as_ref().is_some_and(|task| !task.is_finished());
        if is_running || state.last.is_some_and(|last| last.elapsed() < FRESH) {
            return None;
        }
        state.last = Some(Instant::now());
        let (told, done) = tokio::sync::oneshot::channel();
        let memory = Arc::clone(memory);
        let look = async move {
            if let Err(error) = memory.catch_up().await {
                tracing::warn!(%error, "what other processes remembered cannot be read");
            }
            // Who no longer waits does not need to know.
            let _ = told.send(());
        };
        state.running = Some(tokio::spawn(look.in_current_span()));
        Some(done)
    }
}
