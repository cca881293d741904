//! A store in which a test can meddle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_message::Entry;
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, BoxFuture, CallRecord, Checkpoint, Committed, CompactionRest,
    EventFilter, FileLabel, FileLabelRange, PendingWrites, Segment, SessionList, SessionRecord,
    SessionSummary, SourceText, Store, StoreError, StoredEvent, StoredNote, Write,
};

/// What a test changes of a store. By default nothing.
pub trait Meddler: Send + Sync {
    /// In place of the commit `number`, counted from 1: it happens if this hands it to `store`.
    ///
    /// # Errors
    /// Those of `store`, and whatever the test wants.
    fn commit<'a>(
        &'a self,
        number: usize,
        writes: Vec<Write>,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let _ = number;
        store.commit(writes)
    }

    /// How a request for approval looks that is read.
    fn approval(&self, record: ApprovalRecord) -> ApprovalRecord {
        record
    }
}

/// Any store, as a [`Meddler`] lets it be seen: everything that it leaves alone is handed on.
///
/// ```
/// use std::sync::Arc;
/// use tidegate_store::{BoxFuture, Committed, MemoryStore, Store, StoreError, Write};
/// use tidegate_testing::{Meddler, MeddledStore};
///
/// /// The second commit fails.
/// struct SecondFails;
///
/// impl Meddler for SecondFails {
///     fn commit<'a>(
///         &'a self,
///         number: usize,
///         writes: Vec<Write>,
///         store: &'a dyn Store,
///     ) -> BoxFuture<'a, Result<Committed, StoreError>> {
///         if number == 2 {
///             let path = "the store".into();
///             return Box::pin(async { Err(StoreError::Closed { path }) });
///         }
///         store.commit(writes)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let store = MeddledStore::new(Arc::new(MemoryStore::new()), SecondFails);
/// assert!(store.commit(Vec::new()).await.is_ok());
/// assert!(store.commit(Vec::new()).await.is_err());
/// assert_eq!(store.commits(), 2);
/// # }
/// ```
pub struct MeddledStore<M> {
    inner: Arc<dyn Store>,
    meddler: M,
    commits: AtomicUsize,
}

impl<M> MeddledStore<M> {
    /// `inner`, as `meddler` lets it be seen.
    pub fn new(inner: Arc<dyn Store>, meddler: M) -> Self {
        Self {
            inner,
            meddler,
            commits: AtomicUsize::new(0),
        }
    }

    /// Who meddles.
    pub fn meddler(&self) -> &M {
        &self.meddler
    }

    /// How many commits were begun.
    pub fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }
}

impl<M: Meddler> Store for MeddledStore<M> {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
            self.meddler.commit(number, writes, &*self.inner).await
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
        Box::pin(async move {
            let record = self.inner.approval(id).await?;
            Ok(record.map(|record| self.meddler.approval(record)))
        })
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        Box::pin(async move {
            let records = self.inner.approvals(filter).await?;
            Ok(records
                .into_iter()
                .map(|record| self.meddler.approval(record))
                .collect())
        })
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

    fn file_labels(
        &self,
        range: FileLabelRange,
    ) -> BoxFuture<'_, Result<Vec<(String, FileLabel)>, StoreError>> {
        self.inner.file_labels(range)
    }

    fn pending_writes(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, StoreError>> {
        self.inner.pending_writes()
    }

    fn notes(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredNote>, StoreError>> {
        self.inner.notes(session)
    }

    fn segments(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Segment>, StoreError>> {
        self.inner.segments(session)
    }

    fn compaction_rest(&self, session: SessionId) -> BoxFuture<'_, Result<CompactionRest, StoreError>> {
        self.inner.compaction_rest(session)
    }

    fn search<'a>(
        &'a self,
        session: SessionId,
        text: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<Entry>>, StoreError>> {
        self.inner.search(session, text)
    }
}
