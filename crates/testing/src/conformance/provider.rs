//! The contract of [`Provider`].

use super::in_time;
use crate::prefix_of;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use tidegate_message::{
    AssistantMessage, AssistantPart, Body, Entry, EntrySeq, FinishReason, ModelId, ProviderId, Reply,
    ReplyPart, ResultStatus, ToolCall, ToolResult, ToolResults, ToolSpec, Usage, UserMessage,
};
use tidegate_policy::{CallId, Label, TurnId};
use tidegate_providers::{
    ErrorClass, ModelRequest, Provider, ProviderError, ScriptedReply, StreamEvent, ToolChoice, ToolSet,
};

/// A provider under test, with a peer that does as told.
pub trait ProviderCase {
    /// A provider whose model answers the next calls with these replies, in order, and streams them in several
    /// pieces. It is to be called with the model `model` and the tool `look`.
    fn saying(&self, replies: Vec<ScriptedReply>) -> BoxFuture<'_, Arc<dyn Provider>>;

    /// A provider whose calls fail.
    fn failing(&self) -> BoxFuture<'_, Arc<dyn Provider>>;

    /// A provider whose calls begin and never end; none if it cannot be made to.
    fn hanging(&self) -> BoxFuture<'_, Option<Hanging>>;

    /// The bodies of the requests the providers made here have sent so far, in order; none for a provider
    /// without a wire.
    fn sent(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Whether the model would be offered what is wrong with a history; false if nobody is there who could
    /// refuse it. Real providers refuse.
    fn refuses_invalid_histories(&self) -> bool {
        true
    }
}

/// A provider whose call never ends.
pub struct Hanging {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// Completes when its peer has got the call.
    pub begun: BoxFuture<'static, ()>,
    /// Completes when its peer has seen that the call was given up.
    pub given_up: BoxFuture<'static, ()>,
}

/// Checks a provider against the contract of [`Provider`]:
///
/// - its name is constant, and so is its account;
/// - a stream ends with exactly one [`StreamEvent::Done`] or one error of its own name, and then with nothing;
/// - the visible text that is streamed is that of the reply, in order;
/// - nothing is sent before the stream is polled, and dropping it ends the call;
/// - a history no provider would accept is an error of the class `bad_request`, not a reply;
/// - the same request is sent as the same bytes, and the next one begins with them.
///
/// # Panics
/// If it breaks a rule.
pub async fn provider(case: &dyn ProviderCase) {
    a_reply_ends_the_stream(case).await;
    an_error_ends_the_stream(case).await;
    nothing_happens_unasked(case).await;
    dropping_ends_the_call(case).await;
    invalid_histories_are_refused(case).await;
    requests_are_prefixes(case).await;
}

async fn a_reply_ends_the_stream(case: &dyn ProviderCase) {
    let said = "Here is 你好🦀, and more.";
    let reply = ScriptedReply::text(said)
        .in_chunks_of(4)
        .with_raw_call("look", r#"{"at": "a"}"#);
    let subject = case.saying(vec![reply]).await;
    assert_eq!(subject.id(), subject.id(), "the name is constant");
    assert_eq!(subject.account(), subject.account(), "the account is constant");
    let (text, end) = to_the_end(&*subject, asking("?")).await;
    let reply = end.unwrap_or_else(|error| panic!("a good answer is a reply, not {error}"));
    assert_eq!(text, said, "the text that is streamed is the text of the reply");
    assert_eq!(reply.model.provider(), subject.id(), "a reply names its provider");
    assert_eq!(
        reply.model.name(),
        "model",
        "a reply names the model that was asked"
    );
    let texts: String = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            ReplyPart::Text(text) => Some(text.as_str()),
            ReplyPart::Reasoning(_) | ReplyPart::Call { .. } => None,
        })
        .collect();
    assert_eq!(texts, said, "the reply holds the text");
    let calls: Vec<(&str, &str)> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            ReplyPart::Call { name, arguments, .. } => Some((name.as_str(), arguments.as_str())),
            ReplyPart::Text(_) | ReplyPart::Reasoning(_) => None,
        })
        .collect();
    assert_eq!(
        calls,
        [("look", r#"{"at": "a"}"#)],
        "arguments are kept as the model wrote them"
    );
}

async fn an_error_ends_the_stream(case: &dyn ProviderCase) {
    let subject = case.failing().await;
    let (_, end) = to_the_end(&*subject, asking("?")).await;
    let Err(error) = end else {
        panic!("a failing call is an error");
    };
    assert_eq!(error.provider, *subject.id(), "an error names its provider");
    assert!(!error.message.trim().is_empty(), "an error says what happened");
}

async fn nothing_happens_unasked(case: &dyn ProviderCase) {
    let subject = case.saying(vec![ScriptedReply::text("hello")]).await;
    let before = case.sent().len();
    drop(subject.stream(asking("?")));
    // The reply is still there for the first stream that is polled.
    let (text, end) = to_the_end(&*subject, asking("?")).await;
    assert!(end.is_ok(), "a stream that is never polled uses nothing up");
    assert_eq!(text, "hello");
    if !case.sent().is_empty() {
        assert_eq!(
            case.sent().len() - before,
            1,
            "a stream that is never polled sends nothing"
        );
    }
}

async fn dropping_ends_the_call(case: &dyn ProviderCase) {
    let Some(hanging) = case.hanging().await else {
        return;
    };
    let mut stream = hanging.provider.stream(asking("?"));
    let mut begun = hanging.begun;
    let polled = async {
        loop {
            tokio::select! {
                biased;
                () = &mut begun => return,
                event = stream.next() => match event {
                    // Something may have arrived before it hung.
                    Some(Ok(StreamEvent::Text(_) | StreamEvent::Reasoning(_))) => {}
                    other => panic!("a call that hangs gives no end, not {other:?}"),
                },
            }
        }
    };
    in_time("the peer gets the call", polled).await;
    drop(stream);
    in_time("dropping the stream ends the call", hanging.given_up).await;
}

async fn invalid_histories_are_refused(case: &dyn ProviderCase) {
    if !case.refuses_invalid_histories() {
        return;
    }
    let asked = [user(1, "?"), calling(2)];
    let unanswered = [user(1, "?"), calling(2), user(3, "And?")];
    let unasked = [user(1, "?"), results(2, 2)];
    let histories: [(&str, &[Arc<Entry>]); 4] = [
        ("an empty history", &[]),
        ("calls without results", &asked),
        ("calls without results before a message", &unanswered),
        ("results without calls", &unasked),
    ];
    for (what, history) in histories {
        let subject = case
            .saying(vec![ScriptedReply::text("hello"), ScriptedReply::text("hello")])
            .await;
        let (_, end) = to_the_end(&*subject, request(history.to_vec())).await;
        match end {
            Err(error) => assert_eq!(
                error.class,
                ErrorClass::BadRequest,
                "{what} is a bad request: {error}"
            ),
            Ok(_) => panic!("{what} is refused"),
        }
    }
}

async fn requests_are_prefixes(case: &dyn ProviderCase) {
    let call = ScriptedReply::text("I look.").with_raw_call("look", "{}");
    let subject = case
        .saying(vec![call.clone(), ScriptedReply::text("It says 42.")])
        .await;
    let again = case.saying(vec![call]).await;
    let before = case.sent().len();
    let first = asking("What is there?");
    let reply = match to_the_end(&*subject, first.clone()).await.1 {
        Ok(reply) => reply,
        Err(error) => panic!("a good answer is a reply, not {error}"),
    };
    let mut history = Vec::clone(&first.history);
    let mut calls = Vec::new();
    history.push(taken_in(2, *reply, &mut calls));
    let results = calls
        .iter()
        .map(|call| ToolResult::text(call, ResultStatus::Ok, Label::BOTTOM, "42"))
        .collect();
    history.push(entry(3, Body::Results(ToolResults { results })));
    let (_, end) = to_the_end(&*subject, request(history)).await;
    assert!(
        end.is_ok(),
        "what a provider said, with results, can be sent back to it: {end:?}"
    );
    // Another instance, with nothing cached.
    let fresh = asking("What is there?");
    let (_, end) = to_the_end(&*again, fresh).await;
    assert!(end.is_ok(), "a good answer is a reply: {end:?}");
    let sent = case.sent();
    if let [first, second, same] = sent.get(before..).unwrap_or_default() {
        assert_eq!(first, same, "the same request is sent as the same bytes");
        if let Err(broken) = prefix_of(first, second) {
            panic!("the next request begins with the one before: {broken}");
        }
    } else {
        assert!(
            sent.is_empty(),
            "three calls are three requests, not {}",
            sent.len() - before
        );
    }
}

/// The visible text and the end of a call. Checks that nothing follows the end.
async fn to_the_end(
    subject: &dyn Provider,
    request: ModelRequest,
) -> (String, Result<Box<Reply>, ProviderError>) {
    let mut stream = subject.stream(request);
    let mut text = String::new();
    let end = loop {
        match in_time("a call ends", stream.next()).await {
            Some(Ok(StreamEvent::Text(piece))) => {
                assert!(!piece.is_empty(), "no empty pieces of text are streamed");
                text.push_str(&piece);
            }
            Some(Ok(StreamEvent::Reasoning(_))) => {}
            Some(Ok(StreamEvent::Done(reply))) => break Ok(reply),
            Some(Err(error)) => break Err(error),
            None => panic!("a stream ends with a reply or an error, not with nothing"),
        }
    };
    let after = in_time("a stream ends after its last event", stream.next()).await;
    assert!(after.is_none(), "nothing follows the last event, not {after:?}");
    (text, end)
}

fn asking(text: &str) -> ModelRequest {
    request(vec![user(1, text)])
}

fn request(history: Vec<Arc<Entry>>) -> ModelRequest {
    let look = ToolSpec {
        name: "look".into(),
        description: "Looks.".into(),
        input_schema: serde_json::json!({"type": "object", "properties": {"at": {"type": "string"}}}),
    };
    ModelRequest {
        model: "model".into(),
        system: "Be exact.".into(),
        tools: Arc::new(ToolSet::new(vec![look])),
        history: Arc::new(history),
        tool_choice: ToolChoice::Auto,
    }
}

fn entry(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry::new(
        EntrySeq(seq),
        TurnId::from_bits(1),
        Label::BOTTOM,
        body,
    ))
}

fn user(seq: u64, text: &str) -> Arc<Entry> {
    entry(seq, Body::User(UserMessage::person(text)))
}

/// A reply as a transcript takes it in.
fn taken_in(seq: u64, reply: Reply, calls: &mut Vec<ToolCall>) -> Arc<Entry> {
    let parts = reply.parts.into_iter().map(|part| match part {
        ReplyPart::Text(text) => AssistantPart::Text { text },
        ReplyPart::Reasoning(text) => AssistantPart::Reasoning { text },
        ReplyPart::Call {
            provider_id,
            name,
            arguments,
        } => {
            let call = ToolCall {
                id: CallId::new(format!("call_{seq}_{}", calls.len())),
                provider_id,
                name,
                arguments,
            };
            calls.push(call.clone());
            AssistantPart::Call(call)
        }
    });
    let message = AssistantMessage {
        model: reply.model,
        parts: parts.collect(),
        verbatim: reply.verbatim,
        usage: reply.usage,
        finish: reply.finish,
    };
    entry(seq, Body::Assistant(message))
}

/// A model message of somebody else, with one call.
fn calling(seq: u64) -> Arc<Entry> {
    let part = ReplyPart::Call {
        provider_id: "x".into(),
        name: "look".into(),
        arguments: "{}".into(),
    };
    let reply = Reply {
        model: ModelId::new(ProviderId::new("nobody"), "model"),
        parts: vec![part],
        verbatim: None,
        usage: Usage::default(),
        finish: FinishReason::ToolCalls,
    };
    taken_in(seq, reply, &mut Vec::new())
}

fn results(seq: u64, of: u64) -> Arc<Entry> {
    let call = ToolCall {
        id: CallId::new(format!("call_{of}_0")),
        provider_id: "x".into(),
        name: "look".into(),
        arguments: "{}".into(),
    };
    let result = ToolResult::text(&call, ResultStatus::Ok, Label::BOTTOM, "42");
    entry(
        seq,
        Body::Results(ToolResults {
            results: vec![result],
        }),
    )
}
