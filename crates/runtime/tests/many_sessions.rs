//! Many sessions at once on one store: no row is lost, nobody sees a lock, and no session hears of another.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use futures::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{
    Body, Entry, FinishReason, ModelId, ProviderId, Reply, ReplyPart, Tier, Transcript, TurnStatus, Usage,
    joined_text,
};
use tidegate_policy::{Classification, SessionId};
use tidegate_providers::{ModelRequest, Provider, ReplyStream, StreamEvent, validate_history};
use tidegate_runtime::config::{Configuration, IntegrityTest};
use tidegate_runtime::{Runtime, SessionRequest, TurnOptions, Which};
use tidegate_store::{Durability, EventFilter, SessionState, SqliteStore, Store};
use tidegate_tools::{CallContext, ToolError, TypedTool};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const SESSIONS: usize = 16;
const TURNS: usize = 200;

/// Entries of a turn: the task, the call, its result, the answer.
const ENTRIES: usize = 4;

fn marker(session: usize) -> String {
    format!("session-{session:02}-")
}

/// A model that calls a tool with what it was told, and then answers with what the tool said. It takes nothing
/// but a history that a real one would take, and one that is all about one session.
struct Echo(ProviderId);

impl Provider for Echo {
    fn id(&self) -> &ProviderId {
        &self.0
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        validate_history(&request.history).unwrap();
        let task = |entry: &Arc<Entry>| match &entry.body {
            Body::User(message) => Some(joined_text(&message.content)),
            Body::Assistant(_) | Body::Results(_) => None,
        };
        let first = request.history.iter().find_map(task).unwrap();
        let last = request.history.iter().rev().find_map(task).unwrap();
        assert_eq!(
            first.split(' ').next(),
            last.split(' ').next(),
            "a history of two sessions"
        );

        let part = match &request.history.last().unwrap().body {
            Body::User(_) => ReplyPart::Call {
                provider_id: format!("id_{}", request.history.len()),
                // Every other one is journalled.
                name: if request.history.len() % 8 == 1 {
                    "note"
                } else {
                    "look"
                }
                .into(),
                arguments: serde_json::json!({ "text": last }).to_string(),
            },
            Body::Results(results) => ReplyPart::Text(joined_text(&results.results[0].content)),
            Body::Assistant(_) => panic!("nothing to answer"),
        };
        let reply = Reply {
            model: ModelId::new(self.0.clone(), &*request.model),
            parts: vec![part],
            verbatim: None,
            usage: Usage {
                output: 1,
                ..Usage::default()
            },
            finish: FinishReason::Stop,
        };
        futures::stream::iter([Ok(StreamEvent::Done(Box::new(reply)))]).boxed()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn echo(name: &'static str) -> TypedTool<Text> {
    TypedTool::new(
        name,
        "Says what it is told.",
        |text: Text, _: CallContext| async move { Ok::<_, ToolError>(format!("heard {}", text.text)) },
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_sessions_of_two_hundred_turns_lose_no_row_and_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    let store = Arc::new(SqliteStore::open(&file, Durability::Power).unwrap());
    let provider = ProviderId::new("echo");
    let mut configuration = Configuration::default();
    // What a call returns is UNTRUSTED, and the notes would have to be licensed.
    configuration.policy.integrity = IntegrityTest::Off;
    let runtime = Runtime::builder()
        .configuration(configuration)
        .store(store.clone())
        .provider(Arc::new(Echo(provider.clone())), Classification::Restricted, 4)
        .tier(Tier::Lite, vec![ModelId::new(provider, "small")])
        .tool(Arc::new(echo("look")))
        .tool(Arc::new(echo("note").consequential(["text"])))
        .without_file_tools()
        .build()
        .unwrap();

    let (finished, progress) = mpsc::unbounded_channel();
    let reader = tokio::spawn(read_all_events(
        SqliteStore::open(&file, Durability::Power).unwrap(),
        progress,
    ));
    let mut sessions = JoinSet::new();
    for session in 0..SESSIONS {
        sessions.spawn(run(runtime.clone(), session, finished.clone()));
    }
    drop(finished);
    let ids: BTreeMap<usize, SessionId> = sessions.join_all().await.into_iter().collect();
    let read = reader.await.unwrap();

    let mut total = 0;
    for (session, id) in ids {
        let record = store.session(id).await.unwrap().unwrap();
        assert_eq!(
            (record.state, record.turns),
            (SessionState::Idle, u32::try_from(TURNS).unwrap())
        );
        let entries = store.entries(id).await.unwrap();
        check_entries(&entries, session);
        assert!(!Transcript::from_entries(entries).unwrap().is_open());
        let filter = EventFilter {
            session: Some(id),
            ..EventFilter::default()
        };
        let events = store.events(filter).await.unwrap();
        let sequences = events.iter().map(|stored| stored.event.sequence);
        assert!(
            sequences.eq(1..=u64::try_from(events.len()).unwrap()),
            "the events of {session} have a gap"
        );
        total += events.len();
    }
    assert_eq!(read, total, "who read all the while has read every event");
}

/// Runs the turns of one session.
async fn run(runtime: Runtime, session: usize, finished: mpsc::UnboundedSender<()>) -> (usize, SessionId) {
    let name = format!("session-{session}").parse().unwrap();
    let request = SessionRequest::new(Which::Named(name)).workspace(std::env::temp_dir());
    let mut opened = runtime.session(request).await.unwrap();
    for turn in 0..TURNS {
        let task = format!("{} turn {turn}.", marker(session));
        let report = opened.run(task.clone(), TurnOptions::default()).await.unwrap();
        assert_eq!(
            (report.status, report.answer),
            (TurnStatus::Success, format!("heard {task}"))
        );
        finished.send(()).unwrap();
    }
    (session, opened.id())
}

/// Reads what is new whenever a turn has finished, as another process would. Returns how many events there were.
async fn read_all_events(store: SqliteStore, mut progress: mpsc::UnboundedReceiver<()>) -> usize {
    let (mut after, mut count) = (0, 0);
    let mut sequences: BTreeMap<SessionId, u64> = BTreeMap::new();
    let mut going_on = true;
    while going_on {
        going_on = progress.recv().await.is_some();
        // Those that finished meanwhile are read with it.
        while progress.try_recv().is_ok() {}
        let filter = EventFilter {
            after,
            ..EventFilter::default()
        };
        for stored in store.events(filter).await.unwrap() {
            assert!(stored.position > after, "an event came before one that was read");
            after = stored.position;
            let sequence = sequences.entry(stored.event.session).or_default();
            *sequence += 1;
            assert_eq!(
                stored.event.sequence, *sequence,
                "an event was skipped, or came late"
            );
            count += 1;
        }
    }
    count
}

/// Every entry is there, and tells of its own session alone.
fn check_entries(entries: &[Arc<Entry>], session: usize) {
    assert_eq!(entries.len(), TURNS * ENTRIES);
    let marker = marker(session);
    for (index, entry) in entries.iter().enumerate() {
        let json = serde_json::to_string(&**entry).unwrap();
        let expected = format!("{marker} turn {}.", index / ENTRIES);
        assert!(json.contains(&expected), "{json} tells nothing of {expected}");
        assert_eq!(
            json.matches("session-").count(),
            json.matches(&marker).count(),
            "{json} tells of another"
        );
    }
}
