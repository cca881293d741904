//! The inbox of notes for the next turn of a session.

use crate::RuntimeError;
use tidegate_policy::SessionId;
use tidegate_prompt::{Note, NoteKind};
use tidegate_store::{NewNote, Store, StoredNote, Write};

/// Leaves a note.
pub(crate) async fn leave(store: &dyn Store, session: SessionId, note: &Note) -> Result<(), RuntimeError> {
    let body = serde_json::to_string(note).map_err(RuntimeError::Note)?;
    let note = NewNote {
        label: note.label,
        body,
    };
    store.commit(vec![Write::LeaveNote(session, note)]).await?;
    Ok(())
}

/// The note, if this version can read it. Its label is what the store kept apart.
pub(crate) fn read(stored: &StoredNote) -> Option<Note> {
    match serde_json::from_str::<Note>(&stored.note.body) {
        Ok(note) => Some(Note {
            label: stored.note.label,
            ..note
        }),
        Err(error) => {
            let position = stored.position;
            tracing::warn!(position, %error, "a note cannot be read; it waits for a program that can");
            None
        }
    }
}

/// The texts in a note that somebody else may have written.
pub(crate) fn text(kind: &NoteKind) -> String {
    match kind {
        NoteKind::Introduction { channel } => channel.clone(),
        NoteKind::ChannelSwitch { from, to } => format!("{from}\n{to}"),
        NoteKind::AutoReset { reason } => reason.clone(),
        NoteKind::Todo { text } | NoteKind::Nudge { text } => text.clone(),
        NoteKind::Hook { hook, text } => format!("{hook}\n{text}"),
    }
}
