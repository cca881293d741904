//! What is kept of one session.

use crate::title::title;
use crate::{
    CallRecord, Checkpoint, CompactionRest, NewSession, Segment, SessionPatch, SessionRecord, SessionState,
    SessionSummary, SourceText, StoreError, StoredNote,
};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_message::{Author, Body, Entry, ModelPolicy, ToolSpec, Usage};
use tidegate_policy::{CallId, Classification, SessionId, SessionName, SourceId, Taint, TurnId, UserId};

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) row: Row,
    pub(super) content: Content,
    /// Where its events are among those of all sessions.
    pub(super) events: Vec<usize>,
}

/// What erasing takes away whole.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// In the order in which they were first journalled, each with its turn.
    pub(super) calls: IndexMap<CallId, (TurnId, CallRecord)>,
    pub(super) sources: IndexMap<SourceId, SourceText>,
    pub(super) notes: Vec<StoredNote>,
    pub(super) segments: Vec<Segment>,
    pub(super) rest: CompactionRest,
}

/// What a commit may change of a session without adding to it. Cheap to copy: a commit keeps the one from before.
#[derive(Clone, Debug)]
pub(super) struct Row {
    id: SessionId,
    pub(super) name: Option<SessionName>,
    user: UserId,
    pub(super) state: SessionState,
    turns: u32,
    model_policy: ModelPolicy,
    clearance: Classification,
    taint: Arc<Taint>,
    acknowledged: Classification,
    workspace: Arc<Path>,
    system_prompt: Arc<str>,
    tools: Arc<[ToolSpec]>,
    entries: u64,
    usage: Usage,
    /// None until a person wrote something.
    title: Option<Arc<str>>,
    created_ms: i64,
    /// No clock leads behind it.
    pub(super) changed_ms: i64,
}

impl Session {
    pub(super) fn new(new: NewSession, now_ms: i64) -> Self {
        let NewSession {
            id,
            name,
            user,
            model_policy,
            clearance,
            taint,
            workspace,
            system_prompt,
            tools,
        } = new;
        Self {
            row: Row {
                id,
                name,
                user,
                state: SessionState::Idle,
                turns: 0,
                model_policy,
                clearance,
                taint: Arc::new(taint),
                acknowledged: Classification::Public,
                workspace: workspace.into(),
                system_prompt,
                tools: tools.into(),
                entries: 0,
                usage: Usage::default(),
                title: None,
                created_ms: now_ms,
                changed_ms: now_ms,
            },
            content: Content::default(),
            events: Vec::new(),
        }
    }
}

impl Row {
    pub(super) fn record(&self) -> SessionRecord {
        SessionRecord {
            session: NewSession {
                id: self.id,
                name: self.name.clone(),
                user: self.user.clone(),
                model_policy: self.model_policy.clone(),
                clearance: self.clearance,
                taint: Taint::clone(&self.taint),
                workspace: self.workspace.to_path_buf(),
                system_prompt: Arc::clone(&self.system_prompt),
                tools: self.tools.to_vec(),
            },
            state: self.state,
            turns: self.turns,
            acknowledged: self.acknowledged,
            created_ms: self.created_ms,
            changed_ms: self.changed_ms,
        }
    }

    pub(super) fn summary(&self) -> SessionSummary {
        SessionSummary {
            record: self.record(),
            entries: self.entries,
            usage: self.usage,
            title: self.title.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// The number of its last entry.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    pub(super) fn patch(&mut self, patch: SessionPatch) -> Result<(), StoreError> {
        let SessionPatch {
            state,
            taint,
            model_policy,
            clearance,
            acknowledged,
            tools,
        } = patch;
        match state {
            None => {}
            Some(SessionState::Erased) => return Err(StoreError::ErasedByPatch { session: self.id }),
            Some(state) => {
                if matches!(state, SessionState::InTurn(_)) && state != self.state {
                    self.turns = self.turns.saturating_add(1);
                }
                self.state = state;
            }
        }
        if let Some(new) = taint {
            let (stored, given) = (self.taint.label(), new.label());
            if !stored.is_within(given) {
                return Err(StoreError::TaintWouldFall {
                    session: self.id,
                    stored,
                    given,
                });
            }
            self.taint = Arc::new(new);
        }
        if let Some(model_policy) = model_policy {
            self.model_policy = model_policy;
        }
        self.clearance = clearance.unwrap_or(self.clearance);
        self.acknowledged = acknowledged.unwrap_or_default().max(self.acknowledged);
        if let Some(tools) = tools {
            self.tools = tools.into();
        }
        Ok(())
    }

    /// Counts in what a model call without an entry cost.
    pub(super) fn spend(&mut self, usage: Usage) {
        self.usage += usage;
    }

    /// Counts an entry in that is about to be kept; it has to be the next one.
    pub(super) fn count(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let expected = self.entries.saturating_add(1);
        if entry.seq.0 != expected {
            return Err(StoreError::OutOfOrder {
                session: self.id,
                expected,
                given: entry.seq.0,
            });
        }
        self.entries = expected;
        match &entry.body {
            Body::Assistant(message) => self.usage += message.usage,
            Body::User(message) if self.title.is_none() && message.author == Author::Person => {
                self.title = Some(title(message).into());
            }
            Body::User(_) | Body::Results(_) => {}
        }
        Ok(())
    }

    /// Makes it the tombstone of a session.
    pub(super) fn erase(&mut self) {
        self.state = SessionState::Erased;
        self.name = None;
        self.title = None;
        self.entries = 0;
        // The lineage names files and hosts.
        self.taint = Arc::new(Taint::new(self.taint.label()));
        self.workspace = PathBuf::new().into();
        self.system_prompt = "".into();
        self.tools = [].into();
    }
}
