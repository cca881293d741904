//! Replies as they arrive.

use crate::common::{
    asking, collect, delta, done, error, finished, fragments, provider, reply, shown, streamed_text,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_message::{FinishReason, Usage};
use tidegate_providers::{ErrorClass, ScriptedReply, StreamEvent};
use tidegate_testing::{FakeOpenAi, FakeReply, calls, text};
use tokio::sync::Notify;

fn strange() -> ScriptedReply {
    ScriptedReply::calls([
        ("read_file", json!({"path": "合并/你好🦀.txt"})),
        ("list_files", json!({"path": "👩‍👩‍👧 ✓"})),
    ])
    .with_raw_call("list_files", "")
    .with_text("你好🦀 — it is \"done\"\r\n✓")
    .with_reasoning("思考…")
    .with_usage(Usage {
        uncached: 900,
        cache_read: 100,
        cache_write: 0,
        output: 12,
    })
}

#[tokio::test]
async fn a_reply_arrives_as_it_was_said_at_any_size_of_pieces() {
    for chunk_bytes in [1, 2, 3, 5, 7, 64, 100_000] {
        for chunk_chars in [1, 3, 1000] {
            let answer = FakeReply::from(strange().in_chunks_of(chunk_chars)).in_pieces_of(chunk_bytes);
            let server = FakeOpenAi::start([answer]).await.unwrap();
            let (events, reply) = collect(&provider(&server), asking("?")).await;
            let reply = reply.unwrap();
            assert_eq!(
                shown(&reply),
                [
                    "reasoning:思考…",
                    "text:你好🦀 — it is \"done\"\r\n✓",
                    "fake_0_0 read_file({\"path\":\"合并/你好🦀.txt\"})",
                    "fake_0_1 list_files({\"path\":\"👩‍👩‍👧 ✓\"})",
                    "fake_0_2 list_files()",
                ]
            );
            assert_eq!(streamed_text(&events), "你好🦀 — it is \"done\"\r\n✓");
            assert_eq!(reply.usage, strange().usage);
            assert_eq!(reply.finish, FinishReason::ToolCalls);
            server.assert_complete();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_reply_survives_any_pieces(
        said in "\\PC{0,40}",
        thought in "\\PC{0,20}",
        arguments in proptest::collection::vec("\\PC{0,30}", 0..4),
        chunk_bytes in 1usize..90,
        chunk_chars in 1usize..20,
        whole in any::<bool>(),
    ) {
        let script = ScriptedReply::calls(arguments.iter().map(|text| ("read_file", json!({"path": text}))))
            .with_text(said.clone())
            .with_reasoning(thought.clone())
            .in_chunks_of(chunk_chars);
        let mut expected = Vec::new();
        if !thought.is_empty() {
            expected.push(format!("reasoning:{thought}"));
        }
        if !said.is_empty() {
            expected.push(format!("text:{said}"));
        }
        for (index, text) in arguments.iter().enumerate() {
            expected.push(format!("fake_0_{index} read_file({})", json!({"path": text})));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let answer = FakeReply::from(script).in_pieces_of(chunk_bytes);
            let answer = if whole { answer.whole() } else { answer };
            let server = FakeOpenAi::start([answer]).await.unwrap();
            let (events, reply) = collect(&provider(&server), asking("?")).await;
            assert_eq!(shown(&reply.unwrap()), expected);
            assert_eq!(streamed_text(&events), said);
        });
    }
}

#[tokio::test]
async fn a_connection_that_breaks_never_makes_a_reply() {
    let script = || ScriptedReply::calls([("read_file", json!({"path": "你"}))]).with_text("I look.");
    let whole = FakeOpenAi::start([FakeReply::from(script())]).await.unwrap();
    let whole = reply(&provider(&whole), asking("?")).await;
    let server = FakeOpenAi::answering(move |request| {
        let at: usize = request.messages().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        FakeReply::from(script()).cut_after(at)
    })
    .await
    .unwrap();
    let provider = provider(&server);
    let (mut broken, mut complete) = (0, 0);
    for at in 0.. {
        match collect(&provider, asking(&at.to_string())).await.1 {
            // `[DONE]` had arrived.
            Ok(reply) if complete == 0 => {
                assert_eq!(reply, whole);
                complete += 1;
            }
            // The body is shorter than that.
            Ok(reply) => {
                assert_eq!(reply, whole);
                break;
            }
            Err(error) => {
                assert_eq!(complete, 0, "cut after {at} bytes");
                assert_eq!(
                    error.class,
                    ErrorClass::Transport,
                    "cut after {at} bytes: {error}"
                );
                broken += 1;
            }
        }
    }
    assert!(broken > 1000, "{broken} places were tried");
    assert!(server.violations().is_empty());
}

#[tokio::test]
async fn a_reply_is_complete_or_an_error() {
    let said = || delta(json!({"content": "Hello"}));
    let half_call =
        || fragments(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]));
    let nameless = || fragments(json!([{"index": 0, "id": "a", "function": {"arguments": "{}"}}]));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}).to_string();
    let table: Vec<(&str, Vec<String>, Result<&str, ErrorClass>)> = vec![
        (
            "finish reason and [DONE]",
            vec![said(), finished("stop"), done()],
            Ok("text:Hello"),
        ),
        (
            "finish reason alone",
            vec![said(), finished("stop")],
            Ok("text:Hello"),
        ),
        ("[DONE] alone", vec![said(), done()], Ok("text:Hello")),
        ("neither", vec![said()], Err(ErrorClass::Transport)),
        ("nothing at all", vec![], Err(ErrorClass::Transport)),
        ("only [DONE]", vec![done()], Err(ErrorClass::MalformedReply)),
        (
            "text after the finish reason",
            vec![
                said(),
                finished("stop"),
                delta(json!({"content": " world"})),
                usage,
                done(),
            ],
            Ok("text:Hello world"),
        ),
        (
            "what follows [DONE] is not read",
            vec![said(), finished("stop"), done(), "{".into()],
            Ok("text:Hello"),
        ),
        ("half a call", vec![half_call()], Err(ErrorClass::Transport)),
        (
            "half a call and [DONE]",
            vec![half_call(), done()],
            Err(ErrorClass::Transport),
        ),
        (
            "a call without a name",
            vec![nameless(), finished("tool_calls")],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "calls that are not there",
            vec![said(), finished("tool_calls")],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "a model that broke off",
            vec![said(), finished("error"), done()],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "broken JSON",
            vec![said(), "{\"choices\": [".into(), done()],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "another shape",
            vec!["{\"choices\": 7}".into(), done()],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "no object",
            vec!["[]".into(), done()],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "text that is none",
            vec![delta(json!({"content": 7})), done()],
            Err(ErrorClass::MalformedReply),
        ),
        (
            "an error in the stream",
            vec![
                said(),
                json!({"error": {"message": "busy", "code": "overloaded"}}).to_string(),
            ],
            Err(ErrorClass::Overloaded),
        ),
        (
            "an error in the stream, with a number",
            vec![
                said(),
                json!({"error": {"message": "busy", "code": 429}}).to_string(),
            ],
            Err(ErrorClass::RateLimited),
        ),
        (
            "an error in a choice",
            vec![
                said(),
                json!({"choices": [{"index": 0, "error": {"code": 502, "message": "x"}}]}).to_string(),
            ],
            Err(ErrorClass::Server),
        ),
        (
            "an error as vLLM writes it",
            vec![
                json!({"object": "error", "message": "maximum context length is 8", "code": 400}).to_string(),
            ],
            Err(ErrorClass::ContextOverflow),
        ),
    ];
    for (name, events, expected) in table {
        let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
        match (collect(&provider(&server), asking("?")).await.1, expected) {
            (Ok(reply), Ok(expected)) => assert_eq!(shown(&reply), [expected], "{name}"),
            (Err(error), Err(expected)) => assert_eq!(error.class, expected, "{name}: {error}"),
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn the_last_event_needs_no_empty_line_after_it() {
    for tail in ["data: [DONE]", "data: [DONE]\n", "", "data: [DO"] {
        let body = format!(
            "data: {}\n\ndata: {}\r\n\r\n{tail}",
            delta(json!({"content": "Hi"})),
            finished("stop")
        );
        let server = FakeOpenAi::start([FakeReply::stream(body)]).await.unwrap();
        let answer = collect(&provider(&server), asking("?")).await.1;
        match tail {
            // What cannot be read at the very end was cut, whatever came before it.
            "data: [DO" => assert_eq!(answer.unwrap_err().class, ErrorClass::Transport),
            _ => assert_eq!(shown(&answer.unwrap()), ["text:Hi"], "{tail:?}"),
        }
    }
}

#[tokio::test]
async fn every_form_of_event_stream_is_read() {
    let (hi, stop) = (delta(json!({"content": "Hi"})), finished("stop"));
    for body in [
        format!("data:{hi}\n\ndata:{stop}\n\ndata:[DONE]\n\n"),
        format!("data: {hi}\r\n\r\ndata: {stop}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!("data: {hi}\r\rdata: {stop}\r\rdata: [DONE]\r\r"),
        format!("\u{feff}data: {hi}\n\ndata: {stop}\n\ndata: [DONE]\n\n"),
        format!(": keep-alive\n\nevent: message\nid: 7\nretry: 10\ndata: {hi}\n\ndata: {stop}\n\n"),
        format!("data: {hi}\n\ndata:\n\ndata: {stop}\n\ndata: [DONE] \n\n"),
    ] {
        for bytes in [1, 2, 1000] {
            let answer = FakeReply::stream(body.clone()).in_pieces_of(bytes);
            let server = FakeOpenAi::start([answer]).await.unwrap();
            let reply = reply(&provider(&server), asking("?")).await;
            assert_eq!(shown(&reply), ["text:Hi"], "{body:?}");
        }
    }
}

#[tokio::test]
async fn servers_that_do_not_stream_are_understood() {
    let message = json!({"role": "assistant", "content": "Hi", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]});
    let whole = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string();
    let without_finish = json!({"choices": [{"message": message}], "usage": null}).to_string();
    for answer in [
        FakeReply::raw(200, "application/json; charset=utf-8", whole.clone()),
        FakeReply::raw(200, "application/json", without_finish),
        FakeReply::events([whole.clone(), done()]),
        FakeReply::events([whole.clone()]),
        // A server that repeats the whole message after its deltas.
        FakeReply::events([
            delta(json!({"content": "Hi"})),
            fragments(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])),
            fragments(json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}])),
            whole,
            done(),
        ]),
    ] {
        let server = FakeOpenAi::start([answer]).await.unwrap();
        let (events, reply) = collect(&provider(&server), asking("?")).await;
        let reply = reply.unwrap();
        assert_eq!(shown(&reply), ["text:Hi", "a f({})", "b g({})"]);
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(events, [StreamEvent::Text("Hi".into())]);
    }
}

#[tokio::test]
async fn a_refusal_is_text_and_finish_reasons_are_kept() {
    for (reason, finish) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("eos", FinishReason::Stop),
    ] {
        let events = [delta(json!({"refusal": "No."})), finished(reason), done()];
        let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
        let reply = reply(&provider(&server), asking("?")).await;
        assert_eq!(
            (shown(&reply), reply.finish),
            (vec!["text:No.".to_owned()], finish),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn tokens_are_counted_by_kind() {
    for (usage, expected) in [
        (json!({"prompt_tokens": 10, "completion_tokens": 4}), (10, 0, 4)),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 7}}),
            (3, 7, 4),
        ),
        (
            json!({"prompt_tokens": 10, "prompt_tokens_details": null}),
            (10, 0, 0),
        ),
        (
            json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 7}}),
            (0, 1, 0),
        ),
        (json!({"prompt_tokens": "many"}), (0, 0, 0)),
        (Value::Null, (0, 0, 0)),
    ] {
        let chunk = json!({"choices": [], "usage": usage}).to_string();
        let events = [delta(json!({"content": "Hi"})), finished("stop"), chunk, done()];
        let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
        let Usage {
            uncached,
            cache_read,
            cache_write,
            output,
        } = reply(&provider(&server), asking("?")).await.usage;
        assert_eq!(
            ((uncached, cache_read, output), cache_write),
            (expected, 0),
            "{usage}"
        );
    }
}

#[tokio::test]
async fn text_is_shown_before_the_reply_is_complete() {
    use futures::StreamExt;
    use tidegate_providers::Provider;

    let gate = Arc::new(Notify::new());
    let events = [
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo"})),
        finished("stop"),
        done(),
    ];
    let first = events[0].len() + "data: \n\n".len();
    let answer = FakeReply::events(events).hold_after(first, Arc::clone(&gate));
    let server = FakeOpenAi::start([answer]).await.unwrap();
    let provider = provider(&server);
    let mut stream = provider.stream(asking("?"));
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        StreamEvent::Text("Hel".into())
    );
    gate.notify_one();
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        StreamEvent::Text("lo".into())
    );
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Done(_)))));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    use tidegate_providers::Provider;

    let server = FakeOpenAi::start([text("Hi")]).await.unwrap();
    let provider = provider(&server);
    drop(provider.stream(asking("?")));
    assert_eq!(reply(&provider, asking("?")).await.parts.len(), 1);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_reply_without_end_is_refused() {
    let many: Vec<Value> = (0..10_001)
        .map(|index| json!({"index": index, "function": {"name": "f"}}))
        .collect();
    let line = "x".repeat(33 * 1024 * 1024);
    for answer in [
        FakeReply::events([fragments(many.into()), finished("tool_calls"), done()]),
        FakeReply::stream(format!("data: {line}")),
        FakeReply::stream(format!(": {line}")),
        FakeReply::raw(200, "application/json", line),
    ] {
        let server = FakeOpenAi::start([answer]).await.unwrap();
        let error = error(&provider(&server), asking("?")).await;
        assert_eq!(error.class, ErrorClass::MalformedReply, "{error}");
    }
}

#[tokio::test]
async fn one_connection_serves_many_calls() {
    // The reply ends with `[DONE]`; what the body has after it is read, so that the connection is free again.
    let server = FakeOpenAi::start([text("one"), text("two"), calls([("f", json!({}))])])
        .await
        .unwrap();
    let provider = provider(&server);
    for _ in 0..3 {
        reply(&provider, asking("?")).await;
    }
    let ports: Vec<_> = server.requests().iter().map(|request| request.peer).collect();
    assert_eq!(ports, [ports[0]; 3]);
}
