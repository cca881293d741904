//! An owner who says what a test wants, and a store in which a test can meddle.

use crate::world::World;
use futures::FutureExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tidegate_message::{Entry, EventKind};
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};
use tidegate_runtime::config::{ToolSettings, Unattended};
use tidegate_runtime::{ApprovalAnswer, ApprovalRequest, Approver, TurnOptions, decide_approval};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, ApprovalState, BoxFuture, CallRecord, Checkpoint, Committed, EventFilter,
    FileLabel, SessionList, SessionRecord, SessionSummary, SourceText, Store, StoreError, StoredEvent, Write,
};

/// An owner before the terminal.
pub(crate) struct Owner<F> {
    says: F,
    asked: Mutex<Vec<ApprovalRequest>>,
    at_once: AtomicUsize,
}

pub(crate) fn owner<F: Fn(&ApprovalRequest) -> ApprovalAnswer + Send + Sync>(says: F) -> Owner<F> {
    Owner {
        says,
        asked: Mutex::default(),
        at_once: AtomicUsize::new(0),
    }
}

impl<F> Owner<F> {
    /// What was asked, in order.
    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl<F: Fn(&ApprovalRequest) -> ApprovalAnswer + Send + Sync> Approver for Owner<F> {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        async move {
            assert_eq!(
                self.at_once.fetch_add(1, Ordering::SeqCst),
                0,
                "one question at a time"
            );
            tokio::task::yield_now().await;
            self.asked.lock().unwrap().push(request.clone());
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            (self.says)(request)
        }
        .boxed()
    }
}

/// An owner who has left the room.
pub(crate) struct Silent;

impl Approver for Silent {
    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        std::future::pending().boxed()
    }
}

/// An owner who acts in the middle of a question.
pub(crate) struct Acting<F>(pub(crate) F);

impl<F> Approver for Acting<F>
where
    F: Fn(ApprovalId) -> BoxFuture<'static, ApprovalAnswer> + Send + Sync,
{
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        (self.0)(request.id)
    }
}

pub(crate) fn attended(approver: &dyn Approver) -> TurnOptions<'_> {
    TurnOptions {
        approver: Some(approver),
        ..TurnOptions::default()
    }
}

impl World {
    /// Each call of these tools has to be approved.
    pub(crate) fn approved<const N: usize>(self, tools: [&str; N]) -> Self {
        self.configured(|configuration| {
            for tool in tools {
                let settings = ToolSettings {
                    approval: true,
                    ..ToolSettings::default()
                };
                configuration.policy.tools.insert(tool.to_owned(), settings);
            }
        })
    }

    /// What is in a file of the workspace.
    pub(crate) fn content_of(&self, file: &str) -> String {
        std::fs::read_to_string(self.workspace().join(file)).unwrap()
    }

    /// Nobody there: calls wait.
    pub(crate) fn waiting(self) -> Self {
        self.configured(|configuration| configuration.policy.unattended = Unattended::Wait)
    }

    /// All requests, in order.
    pub(crate) async fn requests(&self) -> Vec<ApprovalRecord> {
        self.store.approvals(ApprovalFilter::default()).await.unwrap()
    }

    /// The states of all requests, in order.
    pub(crate) async fn states(&self) -> Vec<ApprovalState> {
        self.requests().await.iter().map(|record| record.state).collect()
    }

    /// Grants or refuses, as another process does it.
    pub(crate) async fn decides(&self, id: ApprovalId, grant: bool) {
        let after = decide_approval(&*self.store, id, grant).await.unwrap();
        let expected = if grant {
            ApprovalState::Granted
        } else {
            ApprovalState::Refused
        };
        assert_eq!(after.state, expected);
    }

    /// How often each kind of event about approvals was recorded: asked, decided, used.
    pub(crate) async fn told(&self) -> (usize, usize, usize) {
        let events = self.events().await;
        let count =
            |matches: fn(&EventKind) -> bool| events.iter().filter(|event| matches(&event.kind)).count();
        (
            count(|kind| matches!(kind, EventKind::ApprovalAsked { .. })),
            count(|kind| matches!(kind, EventKind::ApprovalDecided { .. })),
            count(|kind| matches!(kind, EventKind::ApprovalUsed { .. })),
        )
    }
}

/// A store in which one commit fails, and in which time can be up.
pub(crate) struct Meddling {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    /// Which commit fails, from 1, and whether it happened all the same.
    fails: Option<(usize, bool)>,
    /// Everything that is open has expired, as far as readers see.
    pub(crate) expired: AtomicBool,
}

impl Meddling {
    pub(crate) fn new(inner: Arc<dyn Store>, fails: Option<(usize, bool)>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            commits: AtomicUsize::new(0),
            fails,
            expired: AtomicBool::new(false),
        })
    }

    pub(crate) fn failed(&self) -> bool {
        self.fails
            .is_some_and(|(commit, _)| commit <= self.commits.load(Ordering::SeqCst))
    }

    fn seen(&self, mut record: ApprovalRecord) -> ApprovalRecord {
        if self.expired.load(Ordering::SeqCst) && record.state.is_open() {
            record.state = ApprovalState::Expired;
        }
        record
    }
}

impl Store for Meddling {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
            match self.fails {
                Some((fails, happens)) if fails <= commit => {
                    if happens && fails == commit {
                        self.inner.commit(writes).await?;
                    }
                    Err(StoreError::Closed {
                        path: "the store".into(),
                    })
                }
                _ => self.inner.commit(writes).await,
            }
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
        Box::pin(async move { Ok(self.inner.approval(id).await?.map(|record| self.seen(record))) })
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        Box::pin(async move {
            let records = self.inner.approvals(filter).await?;
            Ok(records.into_iter().map(|record| self.seen(record)).collect())
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
}
