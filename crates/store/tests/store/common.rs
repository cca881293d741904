//! Sessions, entries and events for the tests of the store.

use serde_json::value::RawValue;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_message::{
    AssistantMessage, AssistantPart, Body, Content, Entry, EntrySeq, EventKind, FinishReason, ModelId,
    ModelPolicy, ResultStatus, ToolCall, ToolResult, ToolResults, ToolSpec, Usage, UserMessage, Verbatim,
};
use tidegate_policy::{
    CallId, Classification, Integrity, Label, Origin, SessionId, SessionName, SourceId, Taint, ToolName,
    TurnId, UserId,
};
use tidegate_store::{
    Committed, Durability, MemoryStore, NewEvent, NewSession, SourceText, SqliteStore, Store, StoreError,
    Write,
};
use tidegate_testing::{MeddledStore, Meddler};

pub(crate) const SECRET: Label = Label::new(Classification::Confidential, Integrity::Untrusted);

/// Runs a future on a runtime with one thread.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A folder that goes with the test, and a file name in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.sqlite");
    (folder, file)
}

pub(crate) fn open(path: &PathBuf) -> SqliteStore {
    SqliteStore::open(path, Durability::Process).unwrap()
}

pub(crate) fn session(n: u128) -> SessionId {
    SessionId::from_bits(n)
}

pub(crate) fn turn(n: u128) -> TurnId {
    TurnId::from_bits(n)
}

pub(crate) fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

pub(crate) fn tainted(label: Label) -> Taint {
    let mut taint = Taint::default();
    let origin = Origin::Tool {
        tool: ToolName::new("read_file"),
        resources: vec!["reports/q3.md".into()],
        source: Some(SourceId::new("full-1")),
    };
    taint.raise(label, origin, 1);
    taint
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name),
        description: format!("What {name} does."),
        // A number that a careless reader of floats changes in its last digit.
        input_schema: serde_json::json!({
            "type": "object",
            "properties": {"z": {"maximum": 936.2395387648645}, "path": {"type": "string"}},
        }),
    }
}

pub(crate) fn new_session(n: u128, named: Option<&str>) -> NewSession {
    NewSession {
        id: session(n),
        name: named.map(name),
        user: UserId::new("local"),
        model_policy: ModelPolicy::Auto,
        clearance: Classification::Confidential,
        taint: Taint::default(),
        workspace: PathBuf::from("/home/owner/project"),
        system_prompt: "You keep secrets.".into(),
        tools: vec![tool("read_file"), tool("search")],
    }
}

pub(crate) fn create(n: u128) -> Write {
    Write::CreateSession(Box::new(new_session(n, None)))
}

pub(crate) fn said(seq: u64, text: &str) -> Arc<Entry> {
    Arc::new(Entry::new(
        EntrySeq(seq),
        turn(1),
        Label::BOTTOM,
        Body::User(UserMessage::person(text)),
    ))
}

pub(crate) fn model() -> ModelId {
    "local:small".parse().unwrap()
}

/// A model's message with a call, whose verbatim form is `json`.
pub(crate) fn replied(seq: u64, text: &str, json: &str) -> Arc<Entry> {
    let message = AssistantMessage {
        model: model(),
        parts: vec![
            AssistantPart::Reasoning { text: String::new() },
            AssistantPart::Text { text: text.into() },
            AssistantPart::Call(call(seq)),
        ],
        verbatim: Some(Verbatim {
            provider: model().provider().clone(),
            json: RawValue::from_string(json.into()).unwrap(),
        }),
        usage: Usage {
            uncached: 100,
            cache_read: 20,
            cache_write: 3,
            output: 4,
        },
        finish: FinishReason::ToolCalls,
    };
    Arc::new(Entry::new(
        EntrySeq(seq),
        turn(1),
        SECRET,
        Body::Assistant(message),
    ))
}

pub(crate) fn call(seq: u64) -> ToolCall {
    ToolCall {
        id: CallId::new(format!("call_{seq}_0")),
        provider_id: "toolu_01".into(),
        name: ToolName::new("read_file"),
        arguments: r#"{"path":"reports/q3.md"}"#.into(),
    }
}

pub(crate) fn result(seq: u64, text: &str) -> ToolResult {
    ToolResult::text(&call(seq), ResultStatus::Ok, SECRET, text)
}

pub(crate) fn answered(seq: u64, text: &str) -> Arc<Entry> {
    let results = ToolResults {
        results: vec![result(seq - 1, text)],
    };
    Arc::new(Entry::new(EntrySeq(seq), turn(1), SECRET, Body::Results(results)))
}

pub(crate) fn text_of(entry: &Entry) -> String {
    match &entry.body {
        Body::User(message) => message.content.iter().filter_map(Content::as_text).collect(),
        Body::Assistant(message) => message.text(),
        Body::Results(results) => results
            .results
            .iter()
            .flat_map(|result| &result.content)
            .filter_map(Content::as_text)
            .collect(),
    }
}

pub(crate) fn happened(kind: EventKind) -> NewEvent {
    NewEvent {
        turn: Some(turn(1)),
        label: SECRET,
        kind,
    }
}

pub(crate) fn tool_started(call: &str) -> NewEvent {
    happened(EventKind::ToolStarted {
        call: CallId::new(call),
        tool: ToolName::new("read_file"),
    })
}

pub(crate) fn full_text(id: &str, text: &str) -> SourceText {
    SourceText {
        id: SourceId::new(id),
        label: SECRET,
        text: text.into(),
    }
}

/// Commits, from a test that is not async.
pub(crate) fn commit(store: &dyn Store, writes: Vec<Write>) -> Result<Committed, StoreError> {
    run(store.commit(writes))
}

/// A connection that knows nothing of the store's rules.
pub(crate) fn sqlite(path: &PathBuf) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    connection.pragma_update(None, "secure_delete", true).unwrap();
    connection
}

/// One of the stores.
pub(crate) type AnyStore = MeddledStore<Nobody>;

/// Lets everything pass.
pub(crate) struct Nobody;

impl Meddler for Nobody {}

/// Both kinds of store, each with session 1.
pub(crate) fn stores() -> Vec<(Option<tempfile::TempDir>, AnyStore)> {
    let (folder, path) = place();
    let stores = vec![
        (Some(folder), AnyStore::new(Arc::new(open(&path)), Nobody)),
        (None, AnyStore::new(Arc::new(MemoryStore::new()), Nobody)),
    ];
    for (_, store) in &stores {
        commit(store, vec![create(1)]).unwrap();
    }
    stores
}

pub(crate) fn refused(store: &dyn Store, writes: Vec<Write>) -> StoreError {
    commit(store, writes).unwrap_err()
}
