//! An owner who says what a test wants, and a store in which a test can meddle.

use crate::world::World;
use futures::FutureExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tidegate_message::EventKind;
use tidegate_policy::ApprovalId;
use tidegate_runtime::config::{ToolSettings, Unattended};
use tidegate_runtime::{ApprovalAnswer, ApprovalRequest, Approver, TurnOptions, decide_approval};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, ApprovalState, BoxFuture, Committed, Store, StoreError, Write,
};
use tidegate_testing::{MeddledStore, Meddler};

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

/// Lets one commit fail, and time be up.
pub(crate) struct Meddling {
    /// Which commit fails, from 1, and whether it happened all the same. Those after it fail, too.
    fails: Option<(usize, bool)>,
    /// Everything that is open has expired, as far as readers see.
    pub(crate) expired: AtomicBool,
}

impl Meddling {
    pub(crate) fn store(inner: Arc<dyn Store>, fails: Option<(usize, bool)>) -> Arc<MeddledStore<Self>> {
        let expired = AtomicBool::new(false);
        Arc::new(MeddledStore::new(inner, Self { fails, expired }))
    }
}

/// Whether the commit that was to fail was reached.
pub(crate) fn failed(store: &MeddledStore<Meddling>) -> bool {
    let fails = store.meddler().fails;
    fails.is_some_and(|(commit, _)| commit <= store.commits())
}

impl Meddler for Meddling {
    fn commit<'a>(
        &'a self,
        number: usize,
        writes: Vec<Write>,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            match self.fails {
                Some((fails, happens)) if fails <= number => {
                    if happens && fails == number {
                        store.commit(writes).await?;
                    }
                    Err(StoreError::Closed {
                        path: "the store".into(),
                    })
                }
                _ => store.commit(writes).await,
            }
        })
    }

    fn approval(&self, mut record: ApprovalRecord) -> ApprovalRecord {
        if self.expired.load(Ordering::SeqCst) && record.state.is_open() {
            record.state = ApprovalState::Expired;
        }
        record
    }
}
