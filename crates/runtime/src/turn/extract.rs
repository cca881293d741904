//! Memories proposed by the auxiliary model, every so many messages, if that is switched on.

use super::Turn;
use std::sync::Arc;
use tidegate_memory::{Extraction, Memory, MemoryError, Scope, said_in};
use tidegate_message::Entry;
use tidegate_tools::Cancel;

impl Turn<'_> {
    /// Writes what the auxiliary model proposes of the last messages, if this turn has made their number full. The turn's
    /// answer is stored already; what goes wrong is logged, and the turn stays as it ended.
    pub(super) async fn extract(&self) {
        let shared = &self.session.shared;
        let settings = &shared.configuration.memory;
        let extraction = Extraction {
            on: settings.extract,
            every: settings.extract_every,
        };
        let (Some(memory), true) = (&shared.memory, extraction.on) else {
            return;
        };
        let is_of_turn = |entry: &&Arc<Entry>| entry.turn == self.turn;
        let entries = self.session.transcript.entries();
        let said = said_in(entries);
        let new = said_in(entries.iter().filter(is_of_turn)).len();
        let since = said.len().saturating_sub(new) % extraction.every.max(1) + new;
        if !extraction.is_due(since) {
            return;
        }
        let window = said.len().saturating_sub(extraction.every.max(1));
        let window = said.get(window..).unwrap_or_default();
        let cancel: Arc<dyn Cancel> = Arc::new(self.cancel.clone());
        match remember(memory, &self.scope(), window, &cancel).await {
            Ok(0) => {}
            Ok(written) => tracing::info!(written, "memories were made of the last messages"),
            Err(error) => tracing::warn!(%error, "no memories were made of the last messages"),
        }
    }
}

async fn remember(
    memory: &Memory,
    scope: &Scope,
    window: &[tidegate_memory::Said],
    cancel: &Arc<dyn Cancel>,
) -> Result<usize, MemoryError> {
    let proposed = memory.extract(scope, window, cancel).await?;
    let count = proposed.len();
    for new in proposed {
        memory.remember(scope, new, cancel).await?;
    }
    Ok(count)
}
