//! What the owner does outside any session, by hand.

use crate::open::path_rules;
use crate::{Runtime, RuntimeError};
use std::path::{Path, PathBuf};
use tidegate_message::{EventKind, ModelPolicy};
use tidegate_policy::{EventId, Label, PathRule, SessionId, Taint};
use tidegate_store::{MemoryRecord, NewEvent, NewSession, SessionState, Store, StoreError, Write};

/// The session that stands for the owner where an event belongs to no other: one without a turn. It is made when it is
/// first needed.
pub const OWNER_SESSION: SessionId = SessionId::from_bits(0);

/// Records that the owner releases a memory to the label `to`: in the session that wrote it, or, if that is gone or there
/// was none, in [`OWNER_SESSION`]. Who may release, and that the owner has seen the bytes, is for the caller to see to.
///
/// # Errors
/// Of the store.
pub async fn record_memory_release(
    store: &dyn Store,
    memory: &MemoryRecord,
    to: Label,
) -> Result<EventId, RuntimeError> {
    let event = NewEvent {
        turn: None,
        // It names the memory, which belongs to its label.
        label: memory.label,
        kind: EventKind::MemoryReleased {
            memory: memory.memory_id.clone(),
            from: memory.label,
            to,
        },
    };
    let session = match memory.chat.parse::<SessionId>() {
        Ok(id) => store
            .session(id)
            .await?
            .filter(|record| record.state != SessionState::Erased)
            .map(|record| record.session.id),
        Err(_) => None,
    };
    let mut writes = Vec::new();
    if session.is_none() && store.session(OWNER_SESSION).await?.is_none() {
        writes.push(Write::CreateSession(Box::new(NewSession {
            id: OWNER_SESSION,
            name: None,
            user: memory.user.clone(),
            model_policy: ModelPolicy::default(),
            clearance: memory.label.classification,
            taint: Taint::default(),
            workspace: PathBuf::from("/"),
            system_prompt: "".into(),
            tools: Vec::new(),
        })));
    }
    let session = session.unwrap_or(OWNER_SESSION);
    writes.push(Write::Events(session, vec![event]));
    let committed = store.commit(writes).await?;
    let event = committed
        .events
        .last()
        .ok_or(StoreError::UnknownSession { session })?;
    Ok(EventId {
        session: event.session,
        sequence: event.sequence,
    })
}

impl Runtime {
    /// The label of a file that the owner hands to a session of `workspace`: that of its place, joined with what tools
    /// wrote into it. UNTRUSTED unless it lies in a folder of `[policy] trusted_folders`. `path` is canonical.
    ///
    /// # Errors
    /// [`RuntimeError::OwnFile`] for one of the program's own files; those of the store.
    pub async fn label_of_file(&self, workspace: &Path, path: &Path) -> Result<Label, RuntimeError> {
        let shared = &self.shared;
        let class = path_rules(shared, workspace)?.classify(path);
        let mut label = match class.rule {
            PathRule::OwnFile | PathRule::NotCanonical => {
                return Err(RuntimeError::OwnFile {
                    path: path.to_path_buf(),
                });
            }
            PathRule::Pattern(_) | PathRule::LevelFolder | PathRule::Workspace | PathRule::Outside => {
                class.unknown_file()
            }
        };
        if let Some(known) = shared.store.file_label(&crate::file_labels::key_of(path)).await? {
            label = label.join(known.label);
        }
        for pending in shared.store.pending_writes().await? {
            let may_have_written =
                |place: &tidegate_store::PendingPlace| place.writable && path.starts_with(&place.path);
            if pending.places.iter().any(may_have_written) {
                label = label.join(pending.label);
            }
        }
        Ok(label)
    }
}
