//! A store that ends the process at a commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_message::Entry;
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, BoxFuture, CallRecord, Checkpoint, Committed, EventFilter, FileLabel,
    SessionList, SessionRecord, SessionSummary, SourceText, SqliteStore, Store, StoreError, StoredEvent,
    Write,
};
use tidegate_tests::crash::{Kill, Side};

/// [`SqliteStore`], except that the process is killed beside one commit. A killed process runs no destructor,
/// flushes no buffer and tells nobody: what is left is what the files hold.
pub(crate) struct KillingStore {
    inner: SqliteStore,
    kill: Option<Kill>,
    commits: AtomicUsize,
}

impl KillingStore {
    pub(crate) fn new(inner: SqliteStore, kill: Option<Kill>) -> Self {
        Self {
            inner,
            kill,
            commits: AtomicUsize::new(0),
        }
    }

    /// How many commits were begun.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    fn die_if(&self, commit: usize, side: Side) {
        if self.kill == Some(Kill { commit, side }) {
            // The signal cannot be caught; if it cannot be sent either, ending at once comes nearest.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::process::abort();
        }
    }
}

impl Store for KillingStore {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
            self.die_if(commit, Side::Before);
            let committed = self.inner.commit(writes).await;
            self.die_if(commit, Side::After);
            committed
        })
    }

    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>> {
        self.inner.session(id)
    }

    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.inner.session_named(name)
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>> {
        self.inner.summary(id)
    }

    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>> {
        self.inner.sessions()
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>> {
        self.inner.entries(session)
    }

    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>> {
        self.inner.checkpoint(session)
    }

    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.inner.calls(session, turn)
    }

    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>> {
        self.inner.approval(id)
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        self.inner.approvals(filter)
    }

    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>> {
        self.inner.source(session, id)
    }

    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>> {
        self.inner.sources(session)
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(filter)
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>> {
        self.inner.event(id)
    }

    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>> {
        self.inner.file_label(path)
    }
}
