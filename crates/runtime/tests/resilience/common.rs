//! What the tests share: a runtime over fault servers, a watched turn, and a clock that is moved by hand.

use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tidegate_message::{EventKind, ModelId, ProviderId, Tier};
use tidegate_policy::Classification;
use tidegate_providers::{OpenAi, OpenAiConfig, Provider};
use tidegate_runtime::{
    Observer, Runtime, RuntimeBuilder, Session, SessionRequest, Signal, TurnOptions, TurnReport, Which,
};
use tidegate_store::MemoryStore;
use tidegate_testing::FaultServer;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Stops the clock of this test's runtime: time passes when a test says so.
///
/// tokio's paused clock runs ahead to the next timer when no task can go on, and the threads of the store are no
/// tasks. It does not while a blocking task runs: this one, until the runtime drops its tasks.
pub(crate) fn stop_clock() {
    tokio::time::pause();
    let (stop, stopped) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || stopped.recv());
    tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(stop);
    });
}

/// Watches a turn and tells of its waits.
pub(crate) struct Watch {
    seen: Mutex<Seen>,
    waits: UnboundedSender<Duration>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<EventKind>,
    /// What is shown and was not retracted.
    pub(crate) text: String,
    pub(crate) retractions: usize,
    /// The text of each reply with calls, as it was shown.
    pub(crate) said: Vec<String>,
}

impl Watch {
    pub(crate) fn new() -> (Arc<Self>, UnboundedReceiver<Duration>) {
        let (sender, receiver) = unbounded_channel();
        let watch = Self {
            seen: Mutex::default(),
            waits: sender,
        };
        (Arc::new(watch), receiver)
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

impl Observer for Watch {
    fn on(&self, signal: Signal) {
        let mut seen = self.seen.lock().unwrap();
        match signal {
            Signal::Event(event) => {
                if let EventKind::ModelRetried { wait_ms, .. } | EventKind::ModelDelayed { wait_ms, .. } =
                    event.kind
                {
                    // Timers fire on whole milliseconds: two more are past any of them. Nobody may wait for it.
                    let _ = self.waits.send(Duration::from_millis(wait_ms + 2));
                }
                seen.events.push(event.kind.clone());
            }
            Signal::Text(text) => seen.text.push_str(&text),
            Signal::Retracted => {
                seen.text.clear();
                seen.retractions += 1;
            }
            // A reply is complete; what comes next is text of another.
            Signal::Entry(entry) => {
                if matches!(entry.body, tidegate_message::Body::Results(_)) {
                    let said = std::mem::take(&mut seen.text);
                    seen.said.push(said);
                }
            }
        }
    }
}

impl Seen {
    /// The waits between tries, in milliseconds.
    pub(crate) fn waits(&self) -> Vec<u64> {
        self.events
            .iter()
            .filter_map(|kind| match kind {
                EventKind::ModelRetried { wait_ms, .. } => Some(*wait_ms),
                _ => None,
            })
            .collect()
    }

    /// What happened around model calls, in short.
    pub(crate) fn story(&self) -> Vec<String> {
        self.events
            .iter()
            .filter_map(|kind| match kind {
                EventKind::ModelCalled { model, .. } => Some(format!("call {model}")),
                EventKind::ModelReplied { model, .. } => Some(format!("reply {model}")),
                EventKind::ModelFailed { class, .. } => Some(format!("failed {class}")),
                EventKind::ModelRetracted { characters, .. } => Some(format!("retracted {characters}")),
                EventKind::ModelRetried { attempt, .. } => Some(format!("try {attempt}")),
                EventKind::ModelDelayed { wait_ms, .. } => Some(format!("delayed {wait_ms}")),
                EventKind::ModelUnavailable {
                    model,
                    class,
                    wait_ms,
                } => Some(format!("unavailable {model} {class:?} {wait_ms}")),
                EventKind::ModelFallback { from, to } => Some(format!("fallback {from} {to}")),
                EventKind::ModelSkipped { model, .. } => Some(format!("skipped {model}")),
                _ => None,
            })
            .collect()
    }
}

/// A provider `name` at `server`.
pub(crate) fn openai(name: &str, server: &FaultServer) -> Arc<dyn Provider> {
    openai_at(name, &server.base_url(), None)
}

pub(crate) fn openai_at(name: &str, base_url: &str, key: Option<&str>) -> Arc<dyn Provider> {
    Arc::new(OpenAi::new(OpenAiConfig {
        api_key: key.map(Into::into),
        ..OpenAiConfig::new(ProviderId::new(name), base_url.parse().unwrap())
    }))
}

pub(crate) fn builder() -> RuntimeBuilder {
    Runtime::builder()
        .store(Arc::new(MemoryStore::new()))
        .without_file_tools()
        .jitter_seed(7)
}

/// A runtime whose tier LITE is `NAME:model-NAME` of each of these, in order.
pub(crate) fn runtime(providers: &[(&str, &FaultServer)]) -> Runtime {
    let mut builder = builder();
    let mut models = Vec::new();
    for (name, server) in providers {
        builder = builder.provider(openai(name, server), Classification::Restricted, 8);
        models.push(model(name));
    }
    builder.tier(Tier::Lite, models).build().unwrap()
}

pub(crate) fn model(provider: &str) -> ModelId {
    format!("{provider}:model-{provider}").parse().unwrap()
}

pub(crate) async fn session(runtime: &Runtime) -> Session {
    let folder = std::env::temp_dir();
    runtime
        .session(SessionRequest::new(Which::New).workspace(folder))
        .await
        .unwrap()
}

/// Runs a turn; time passes when, and as long as, it waits.
pub(crate) async fn run(session: &mut Session, task: &str) -> (TurnReport, Seen) {
    run_with(session, task, TurnOptions::default()).await
}

pub(crate) async fn run_with(
    session: &mut Session,
    task: &str,
    options: TurnOptions<'_>,
) -> (TurnReport, Seen) {
    let (watch, waits) = Watch::new();
    let options = TurnOptions {
        observer: Some(&*watch),
        ..options
    };
    let report = passing_time(session.run(task, options), waits).await.unwrap();
    (report, watch.seen())
}

/// Drives `work`, and lets the time pass that it waits for.
pub(crate) async fn passing_time<T>(
    work: impl Future<Output = T>,
    mut waits: UnboundedReceiver<Duration>,
) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            Some(wait) = waits.recv() => tokio::time::advance(wait).await,
        }
    }
}

/// A turn in a task of its own, on a clock that somebody else moves.
pub(crate) fn spawn(
    mut session: Session,
    cancel: tidegate_runtime::CancelToken,
) -> (
    Arc<Watch>,
    UnboundedReceiver<Duration>,
    tokio::task::JoinHandle<(TurnReport, Session)>,
) {
    let (watch, waits) = Watch::new();
    let observer = Arc::clone(&watch);
    let task = tokio::spawn(async move {
        let options = TurnOptions {
            cancel,
            observer: Some(&*observer),
            ..TurnOptions::default()
        };
        let report = session.run("Well?", options).await.unwrap();
        (report, session)
    });
    (watch, waits, task)
}

/// Waits until a turn has begun: in the same breath it goes on to its first model call, or to waiting for it.
pub(crate) async fn until_begun(watch: &Watch) {
    while !watch.seen().events.contains(&EventKind::TurnStarted) {
        tokio::task::yield_now().await;
    }
}

/// How often each of the servers was asked.
pub(crate) fn asked(servers: &[&FaultServer]) -> Vec<usize> {
    servers.iter().map(|server| server.requests().len()).collect()
}
