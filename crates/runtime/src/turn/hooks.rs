//! The hooks of a turn that begins.

use super::Turn;
use super::output::Refused;
use crate::hook::HookedTurn;
use std::sync::Arc;
use tidegate_message::{Content, Entry};
use tidegate_policy::{Origin, ToolName};
use tidegate_prompt::{Note, NoteKind};
use tidegate_tools::Cancel as _;

impl Turn<'_> {
    /// What the hooks add, each note judged and with the taint it raises.
    pub(super) async fn hook_notes(
        &mut self,
        user_message: Vec<Content>,
        messages: Vec<Arc<Entry>>,
        index: usize,
        number: u32,
    ) -> Vec<Note> {
        let hooked = HookedTurn {
            session: self.session.id(),
            turn: self.turn,
            user_message,
            messages,
            index,
            taint: self.session.taint().label(),
        };
        let shared = Arc::clone(&self.session.shared);
        let (time, cancel) = (self.time, self.cancel.clone());
        let mut notes = Vec::new();
        let mut raised = false;
        for hook in &shared.hooks {
            let asked = async {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => Vec::new(),
                    added = hook.notes(&hooked) => added,
                }
            };
            for added in time.limits(&cancel, asked).await {
                let name = hook.name().to_owned();
                let origin = Origin::Tool {
                    tool: ToolName::new("hook"),
                    resources: vec![name.clone()],
                    source: None,
                };
                match self.admit_text(&format!("a note of the hook {name}"), added.label, &added.text) {
                    Ok(text) => {
                        raised |= self.raise(added.label, origin, number);
                        notes.push(Note {
                            kind: NoteKind::Hook { hook: name, text },
                            label: added.label,
                        });
                    }
                    // The event says so; the turn begins without it.
                    Err(Refused { raised: to, .. }) => raised |= self.raise(to, origin, number),
                }
            }
        }
        // With the commit that stores the message that carries them.
        self.store_taint(raised);
        notes
    }
}
