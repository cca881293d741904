//! Sessions, entries and events for the checks.

use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_message::{
    AssistantMessage, AssistantPart, Body, Entry, EntrySeq, EventKind, FinishReason, ModelId, ModelPolicy,
    ProviderId, ResultStatus, ToolCall, ToolResult, ToolResults, ToolSpec, Usage, UserMessage, Verbatim,
};
use tidegate_policy::{
    CallId, Classification, Integrity, Label, Origin, SessionId, SessionName, SourceId, Taint, ToolName,
    TurnId, UserId,
};
use tidegate_store::{Checkpoint, FileLabel, NewEvent, NewSession, SourceText, Write};

pub(super) const SECRET: Label = Label::new(Classification::Confidential, Integrity::Untrusted);

/// What one reply costs.
pub(super) const USAGE: Usage = Usage {
    uncached: 100,
    cache_read: 20,
    cache_write: 3,
    output: 4,
};

pub(super) fn session(n: u128) -> SessionId {
    SessionId::from_bits(n)
}

pub(super) fn turn(n: u128) -> TurnId {
    TurnId::from_bits(n)
}

pub(super) fn name(text: &str) -> SessionName {
    text.parse()
        .unwrap_or_else(|error| panic!("{text:?} is a session's name: {error}"))
}

pub(super) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name),
        description: format!("What {name} does."),
        // A number that a careless reader of floats changes in its last digit.
        input_schema: serde_json::json!({"type": "object", "properties": {"n": {"maximum": 936.2395387648645}}}),
    }
}

pub(super) fn tainted(label: Label) -> Taint {
    let mut taint = Taint::default();
    let origin = Origin::Tool {
        tool: ToolName::new("read_file"),
        resources: vec!["reports/q3.md".into()],
        source: Some(SourceId::new("full-1")),
    };
    taint.raise(label, origin, 1);
    taint
}

pub(super) fn new_session(n: u128, named: Option<&str>) -> NewSession {
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

pub(super) fn create(n: u128) -> Write {
    Write::CreateSession(Box::new(new_session(n, None)))
}

pub(super) fn said(seq: u64, text: &str) -> Arc<Entry> {
    entry(seq, Body::User(UserMessage::person(text)))
}

/// A model's message with a call, and a verbatim form whose spaces and numbers have to stay as they are.
pub(super) fn replied(seq: u64) -> Arc<Entry> {
    let provider = ProviderId::new("local");
    let json = r#"{ "z": 1.50, "a":"\u00e9" }"#;
    let json = RawValue::from_string(json.into()).unwrap_or_else(|error| panic!("{json} is JSON: {error}"));
    entry(
        seq,
        Body::Assistant(AssistantMessage {
            model: ModelId::new(provider.clone(), "small"),
            parts: vec![
                AssistantPart::Reasoning { text: String::new() },
                AssistantPart::Text {
                    text: "I look, 你好🦀\u{0}.".into(),
                },
                AssistantPart::Call(call(seq)),
            ],
            verbatim: Some(Verbatim { provider, json }),
            usage: USAGE,
            finish: FinishReason::ToolCalls,
        }),
    )
}

pub(super) fn answered(seq: u64) -> Arc<Entry> {
    let results = vec![result(seq - 1, "42")];
    entry(seq, Body::Results(ToolResults { results }))
}

fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry::new(EntrySeq(seq), turn(1), SECRET, body))
}

pub(super) fn call(seq: u64) -> ToolCall {
    ToolCall {
        id: CallId::new(format!("call_{seq}_0")),
        provider_id: "toolu_01".into(),
        name: ToolName::new("read_file"),
        arguments: r#"{"path":"reports/q3.md"}"#.into(),
    }
}

pub(super) fn result(seq: u64, text: &str) -> ToolResult {
    ToolResult::text(&call(seq), ResultStatus::Ok, SECRET, text)
}

pub(super) fn started(seq: u64) -> Write {
    Write::CallStarted {
        session: session(1),
        turn: turn(1),
        call: call(seq).id,
        tool: call(seq).name,
    }
}

pub(super) fn finished(seq: u64, text: &str) -> Write {
    Write::CallFinished {
        session: session(1),
        turn: turn(1),
        result: Box::new(result(seq, text)),
    }
}

pub(super) fn happened(call: &str) -> NewEvent {
    NewEvent {
        turn: Some(turn(1)),
        label: SECRET,
        kind: EventKind::ToolStarted {
            call: CallId::new(call),
            tool: ToolName::new("read_file"),
        },
    }
}

pub(super) fn text(id: &str, text: &str) -> SourceText {
    SourceText {
        id: SourceId::new(id),
        label: SECRET,
        text: text.into(),
    }
}

pub(super) fn checkpoint(version: u32) -> Checkpoint {
    Checkpoint {
        turn: turn(1),
        version,
        data: vec![0, 255, 10, 0],
    }
}

pub(super) fn file_label(byte: u8) -> FileLabel {
    FileLabel {
        hash: [byte; 32],
        label: SECRET,
    }
}
