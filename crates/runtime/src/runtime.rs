//! The runtime: what all sessions share.

use crate::config::{Configuration, TrustedFiles};
use crate::lock::{Locks, SessionLock};
use crate::memory::{CaughtUp, MemoryAuxiliary, purge_session};
use crate::provenance::IntegrityCheck;
use crate::resilience::{Account, Jitter};
use crate::secrets::Secrets;
use crate::{EventBus, RuntimeBuilder, RuntimeError, TurnHook, notes};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_builtins::Asker;
use tidegate_builtins::confine::Launcher;
use tidegate_memory::Memory;
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_policy::{Classification, Gate, SessionId, SessionName};
use tidegate_prompt::{Note, Templates};
use tidegate_providers::Provider;
use tidegate_store::{Records, SessionRecord, Store, Write};
use tidegate_tools::Tool;
use tokio::sync::Semaphore;

/// A runtime. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}

/// What all sessions share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) providers: BTreeMap<ProviderId, ProviderSlot>,
    pub(crate) tiers: BTreeMap<Tier, Vec<ModelId>>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) file_tools: bool,
    pub(crate) extras: Extras,
    pub(crate) own_files: Vec<PathBuf>,
    /// Where the program makes workspaces of its own for sessions.
    pub(crate) session_workspaces: Option<PathBuf>,
    pub(crate) configuration: Configuration,
    pub(crate) gate: Gate,
    pub(crate) integrity: IntegrityCheck,
    pub(crate) secrets: Secrets,
    pub(crate) bus: EventBus,
    pub(crate) locks: Arc<Locks>,
    pub(crate) jitter: Arc<Jitter>,
    /// What prompts are made with.
    pub(crate) templates: Templates,
    /// The models that sum up, best first.
    pub(crate) auxiliary: Vec<ModelId>,
    /// What adds to a turn before its first model call, in this order.
    pub(crate) hooks: Vec<Arc<dyn TurnHook>>,
    /// What the owner has looked at; nothing where there is no such list.
    pub(crate) trusted_files: Option<TrustedFiles>,
    /// The memories, if there are any.
    pub(crate) memory: Option<Arc<Memory>>,
    /// What names and merges them asks the models of the runtime that was made last.
    pub(crate) memory_auxiliary: Option<Arc<MemoryAuxiliary>>,
    /// Where they are recorded.
    pub(crate) records: Option<Arc<dyn Records>>,
    /// When what others wrote to the memories was read last.
    pub(crate) caught_up: CaughtUp,
}

/// Built-in tools that need something of the program.
#[derive(Clone, Default)]
pub(crate) struct Extras {
    /// What starts commands; without it there are none.
    pub(crate) launcher: Option<Launcher>,
    /// Whether pages of the web can be fetched.
    pub(crate) web: bool,
    /// Who asks the owner; without one the model cannot ask.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// Whether the model can look its tools up.
    pub(crate) catalogue: bool,
}

/// A provider with what the configuration says of it.
pub(crate) struct ProviderSlot {
    pub(crate) provider: Arc<dyn Provider>,
    /// The highest level that may be sent there.
    pub(crate) clearance: Classification,
    /// Calls at once, over all sessions.
    pub(crate) permits: Arc<Semaphore>,
    /// What all sessions know of its key.
    pub(crate) account: Arc<Account>,
}

impl Runtime {
    /// A builder with nothing in it.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// The store: everything that is recorded can be read there.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The events of all sessions of this process.
    pub fn events(&self) -> &EventBus {
        &self.shared.bus
    }

    /// The stored record of the session of `store` with this name or id (`s_…`).
    ///
    /// # Errors
    /// [`RuntimeError::UnknownSession`], also for a text that is neither.
    pub async fn find_in(store: &dyn Store, name_or_id: &str) -> Result<SessionRecord, RuntimeError> {
        find(store, name_or_id).await
    }

    /// Leaves a note for the next turn of a session, whoever uses it now: it rides on the user's message, once.
    ///
    /// # Errors
    /// If there is no such session, or it was erased.
    pub async fn leave_note(&self, session: SessionId, note: Note) -> Result<(), RuntimeError> {
        notes::leave(&*self.shared.store, session, &note).await
    }

    /// Erases a session's content. Its events stay, with hashes in the place of content.
    ///
    /// # Errors
    /// [`RuntimeError::SessionBusy`] while somebody uses it.
    pub async fn delete(&self, session: SessionId) -> Result<(), RuntimeError> {
        let lock = self.shared.locks.take(session)?;
        // A row that cannot be read can be erased all the same.
        let record = self.shared.store.session(session).await.ok().flatten();
        self.shared
            .store
            .commit(vec![Write::EraseSession(session)])
            .await?;
        if let Some(record) = record {
            purge_session(&self.shared, &record.session.user, session).await?;
        }
        drop(lock);
        self.shared.locks.forget(session);
        Ok(())
    }
}

/// The stored record of the session with this name or id.
pub(crate) async fn find(store: &dyn Store, name_or_id: &str) -> Result<SessionRecord, RuntimeError> {
    let unknown = || RuntimeError::UnknownSession {
        given: name_or_id.to_owned(),
    };
    if let Ok(name) = name_or_id.parse::<SessionName>()
        && let Some(record) = store.session_named(&name).await?
    {
        return Ok(record);
    }
    let id: SessionId = name_or_id.parse().map_err(|_| unknown())?;
    store.session(id).await?.ok_or_else(unknown)
}

impl Shared {
    /// The provider of a model that the configuration knows.
    pub(crate) fn slot(&self, model: &ModelId) -> Option<&ProviderSlot> {
        self.providers.get(model.provider())
    }

    /// Takes the lock of a session.
    pub(crate) fn lock(&self, session: SessionId) -> Result<SessionLock, RuntimeError> {
        self.locks.take(session)
    }
}
