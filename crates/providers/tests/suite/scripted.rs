//! The scripted model.

use crate::common::{Talk, asking, collect, error, reply, shown, streamed_text, verbatim};
use serde_json::json;
use std::time::Duration;
use tidegate_message::{FinishReason, ProviderId, Usage, UserMessage};
use tidegate_providers::{
    ErrorClass, Provider, Scripted, ScriptedError, ScriptedReply, StreamEvent, ToolChoice,
};
use tidegate_testing::{FakeOpenAi, FakeReply, assert_complete, calls, text};

const SCENARIO: &str = r#"
[scenario]
description = "reads a file, then answers"

[[reply]]
expect = ["What"]
expect_not = ["secret"]
reasoning = "A file, then."
text = "I shall look."
calls = [
  { tool = "read_file", arguments = { path = "a.txt", depth = 0x10, exact = true, rate = 1.5, at = 2026-01-02 } },
  { tool = "read_file", raw_arguments = '{"path": ' },
  { tool = "list_files" },
]

[[reply]]
expect = ["42"]
text = "It says 42. 你好🦀"
chunk_chars = 4
usage = { uncached = 900, cache_read = 100, output = 12 }
finish = "length"

[[reply.errors]]
class = "rate_limited"
message = "slow down"
retry_after_s = 3

[[reply.errors]]
class = "transport"
after_chars = 5

[[reply]]
errors = [{ class = "billing" }]
"#;

fn scripted(scenario: &str) -> Scripted {
    Scripted::from_str(ProviderId::new("demo"), "demo.toml", scenario).unwrap()
}

#[tokio::test]
async fn a_scenario_is_played_from_first_to_last() {
    let model = scripted(SCENARIO);
    let mut talk = Talk::asking("What does it say?");
    let first = reply(&model, talk.request()).await;
    assert_eq!(
        shown(&first),
        [
            "reasoning:A file, then.",
            "text:I shall look.",
            "scripted_1_0 read_file({\"path\":\"a.txt\",\"depth\":16,\"exact\":true,\"rate\":1.5,\"at\":\"2026-01-02\"})",
            "scripted_1_1 read_file({\"path\": )",
            "scripted_1_2 list_files()",
        ]
    );
    assert_eq!(first.finish, FinishReason::ToolCalls);
    assert!(verbatim(&first).contains("\"id\":\"scripted_1_2\""));
    let asked = talk.reply(first);
    talk.results(&asked, "42");

    let limited = error(&model, talk.request()).await;
    assert_eq!(
        (limited.class, limited.retry_after),
        (ErrorClass::RateLimited, Some(Duration::from_secs(3)))
    );
    assert_eq!(limited.to_string(), "demo: slow down");
    let (events, broken) = collect(&model, talk.request()).await;
    assert_eq!(streamed_text(&events), "It sa");
    assert_eq!(
        broken.unwrap_err().to_string(),
        "demo: scripted failure (transport)"
    );
    assert_eq!(model.unplayed(), [2, 3]);

    let (events, second) = collect(&model, talk.request()).await;
    let second = second.unwrap();
    let pieces: Vec<StreamEvent> = ["It s", "ays ", "42. ", "你好🦀"]
        .iter()
        .map(|piece| StreamEvent::Text((*piece).into()))
        .collect();
    assert_eq!(events, pieces);
    assert_eq!(second.finish, FinishReason::Length);
    assert_eq!(
        second.usage,
        Usage {
            uncached: 900,
            cache_read: 100,
            cache_write: 0,
            output: 12
        }
    );
    talk.reply(second);
    talk.user(UserMessage::person("And?"));
    for _ in 0..3 {
        assert_eq!(error(&model, talk.request()).await.class, ErrorClass::Billing);
    }
    assert_complete(&model);
    assert!(
        model.requests().is_empty(),
        "a scenario from a file records nothing"
    );
}

#[tokio::test]
async fn another_process_goes_on_where_the_conversation_is() {
    let mut talk = Talk::asking("What?");
    let asked = talk.reply(reply(&scripted(SCENARIO), talk.request()).await);
    talk.results(&asked, "42");
    let resumed = Scripted::new(ProviderId::new("demo"), [text("first"), text("second")]);
    assert_eq!(shown(&reply(&resumed, talk.request()).await), ["text:second"]);
    assert_eq!((resumed.played(), resumed.unplayed()), (vec![2], vec![1]));
}

#[tokio::test]
async fn what_the_script_does_not_provide_for_is_an_error() {
    let mut told = String::new();
    let model = scripted(SCENARIO);
    let open_calls = {
        let mut talk = Talk::asking("What?");
        talk.reply(reply(&model, talk.request()).await);
        talk
    };
    let past_the_end = {
        let mut talk = Talk::asking("?");
        for _ in 0..3 {
            talk.reply(reply(&Scripted::new(ProviderId::new("x"), [text("Hi")]), asking("?")).await);
            talk.user(UserMessage::person("And?"));
        }
        talk
    };
    for request in [
        asking("Hello"),
        asking("What is the secret?"),
        // Said before the model's last message: not new.
        {
            let mut talk = Talk::asking("42");
            talk.reply(reply(&Scripted::new(ProviderId::new("x"), [text("Hi")]), asking("?")).await);
            talk.user(UserMessage::person("And?"));
            talk.request()
        },
        open_calls.request(),
        past_the_end.request(),
    ] {
        let error = error(&model, request).await;
        assert_eq!(error.class, ErrorClass::BadRequest);
        told.push_str(&format!("{error}\n"));
    }
    assert_eq!(model.surprises().len(), 5);
    insta::assert_snapshot!(told, @r#"
    demo: demo.toml:5:1: reply 1 expects "What" in what was sent since the model's last message, and it is not there
    demo: demo.toml:5:1: reply 1 expects that "secret" is not in what was sent since the model's last message, and it is there
    demo: demo.toml:16:1: reply 2 expects "42" in what was sent since the model's last message, and it is not there
    demo: model message 2 has calls, and no results follow at once; the first is call_2_0
    demo: the scenario demo.toml has 3 replies; the model was called for reply 4
    "#);
}

#[tokio::test]
async fn calls_are_made_even_if_they_are_forbidden() {
    let model = Scripted::new(ProviderId::new("x"), [calls([("f", json!({}))])]);
    let mut request = asking("?");
    request.tool_choice = ToolChoice::None;
    assert_eq!(shown(&reply(&model, request).await), ["scripted_1_0 f({})"]);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::None);
}

#[tokio::test]
async fn a_scripted_reply_comes_the_same_from_the_fake_server() {
    let script = || {
        calls([("f", json!({"x": [1, "你"]}))])
            .with_text("a 🦀")
            .with_reasoning("hm")
    };
    let local = reply(&Scripted::new(ProviderId::new("fake"), [script()]), asking("?")).await;
    let server = FakeOpenAi::start([FakeReply::from(script()).in_pieces_of(1)])
        .await
        .unwrap();
    let remote = reply(&crate::common::provider(&server), asking("?")).await;
    assert_eq!(
        verbatim(&local).replace("scripted_1_0", "ID"),
        verbatim(&remote).replace("fake_0_0", "ID")
    );
}

#[tokio::test]
async fn nothing_is_played_before_the_stream_is_polled() {
    let model = Scripted::new(ProviderId::new("x"), [text("Hi")]);
    drop(model.stream(asking("?")));
    assert!(model.requests().is_empty());
    assert_eq!(model.unplayed(), [1]);
}

#[tokio::test]
async fn scripts_can_be_written_in_rust() {
    let model = Scripted::new(
        ProviderId::new("x"),
        [
            ScriptedReply::default()
                .with_raw_call("f", "nonsense")
                .expecting("go"),
            ScriptedReply::text("done")
                .not_expecting("go")
                .failing_first(ScriptedError::new(ErrorClass::Overloaded))
                .with_finish(FinishReason::ContentFilter),
            ScriptedReply::failing(ScriptedError::new(ErrorClass::Auth)),
        ],
    );
    let mut talk = Talk::asking("go");
    let asked = talk.reply(reply(&model, talk.request()).await);
    talk.results(&asked, "no");
    assert_eq!(error(&model, talk.request()).await.class, ErrorClass::Overloaded);
    let second = reply(&model, talk.request()).await;
    assert_eq!(second.finish, FinishReason::ContentFilter);
    talk.reply(second);
    talk.user(UserMessage::person("And?"));
    assert_eq!(error(&model, talk.request()).await.class, ErrorClass::Auth);
    assert_complete(&model);
}

#[tokio::test]
async fn a_model_that_thinks_says_nothing_meanwhile() {
    use futures::{FutureExt, StreamExt};

    let model = scripted("[[reply]]\ntext = \"Hi\"\nthinking_ms = 600000");
    assert!(model.stream(asking("?")).next().now_or_never().is_none());
    assert_eq!(model.unplayed(), [1]);
    let model = scripted("[[reply]]\ntext = \"Hi\"\nthinking_ms = 1");
    assert_eq!(shown(&reply(&model, asking("?")).await), ["text:Hi"]);
}

#[test]
fn mistakes_in_a_scenario_are_located() {
    let mut told = String::new();
    for scenario in [
        "",
        "[[reply]]\ntext = \"a\"\ntext = \"b\"",
        "[[reply]]\ntxet = \"a\"",
        "[[reply]]\n  colour = \"a\"",
        "[[reply]]\ntext = 7",
        "[[reply]]\nexpect = \"a\"",
        "[[reply]]\ntext = \"é\"\nexpect = [\"a\", 7]",
        "[[reply]]\nusage = { uncashed = 1 }",
        "[[reply]]\nusage = { output = -1 }",
        "[[reply]]\ntext = \"a\"\nchunk_chars = 0",
        "[[reply]]\ntext = \"a\"\nfinish = \"stopp\"",
        "[[reply]]\ntext = \"a\"\n\n[[reply]]\nexpect = [\"b\"]",
        "[[reply]]\ncalls = [{ arguments = {} }]",
        "[[reply]]\ncalls = [{ tool = \"\" }]",
        "[[reply]]\ncalls = [{ tool = \"f\", arguments = \"{}\" }]",
        "[[reply]]\ncalls = [{ tool = \"f\", arguments = { x = nan } }]",
        "[[reply]]\ncalls = [{ tool = \"f\", arguments = {}, raw_arguments = \"\" }]",
        "[[reply]]\ncalls = [7]",
        "[[reply]]\nerrors = [{ class = \"rate_limit\" }]",
        "[[reply]]\nerrors = [{ message = \"no\" }]",
        "reply = 7",
        "[replies]\n",
        "[scenario]\ndescription = 7\n[[reply]]\ntext = \"a\"",
        "[[reply]]\ntext = \"a\nb\"",
    ] {
        match Scripted::from_str(ProviderId::new("demo"), "demo.toml", scenario) {
            Ok(_) => panic!("accepted: {scenario}"),
            Err(error) => told.push_str(&format!("{error}\n")),
        }
    }
    insta::assert_snapshot!(told, @r#"
    demo.toml: the scenario has no [[reply]]
    demo.toml:3:1: duplicate key at "text"
    demo.toml:2:1: [[reply]] has no key "txet"; did you mean "text"? Its keys are text, reasoning, calls, expect, expect_not, usage, finish, chunk_chars, thinking_ms, errors
    demo.toml:2:3: [[reply]] has no key "colour". Its keys are text, reasoning, calls, expect, expect_not, usage, finish, chunk_chars, thinking_ms, errors
    demo.toml:2:8: "text" has to be a string, not 7
    demo.toml:2:10: "expect" has to be an array of strings, not a string
    demo.toml:3:16: "expect[1]" has to be a string, not 7
    demo.toml:2:11: usage has no key "uncashed"; did you mean "uncached"? Its keys are uncached, cache_read, cache_write, output
    demo.toml:2:20: "output" has to be a whole number from 0 on, not -1
    demo.toml:3:15: "chunk_chars" has to be a whole number from 1 on, not 0
    demo.toml:3:10: "finish" cannot be "stopp"; did you mean "stop"? Write one of stop, tool_calls, length, content_filter
    demo.toml:4:1: [[reply]] has nothing to play; give it "text", "reasoning", "calls" or "errors"
    demo.toml:2:10: a call needs the key "tool"
    demo.toml:2:10: a call needs the key "tool"
    demo.toml:2:36: "arguments" has to be a table, not a string
    demo.toml:2:42: "x" has to be made of numbers that JSON can write, not nan
    demo.toml:2:56: a call has either "arguments" or "raw_arguments", not both
    demo.toml:2:10: "a call" has to be a table, not 7
    demo.toml:2:21: "class" cannot be "rate_limit"; did you mean "rate_limited"? Write one of rate_limited, overloaded, server, timeout, transport, context_overflow, payload_too_large, auth, billing, content_policy, model_not_found, bad_request, malformed_reply
    demo.toml:2:11: an error needs the key "class"
    demo.toml:1:9: "reply" has to be an array of tables, not 7
    demo.toml:1:2: a scenario has no key "replies". Its keys are scenario, reply
    demo.toml:2:15: "description" has to be a string, not 7
    demo.toml:3:3: key with no value, expected `=`
    "#);
}

#[test]
fn a_file_is_read_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.toml");
    let load = || Scripted::from_file(ProviderId::new("demo"), &path);
    let missing = load().unwrap_err();
    assert_eq!(
        missing.to_string(),
        format!("cannot read the scenario file {}", path.display())
    );
    assert!(std::error::Error::source(&missing).is_some());
    std::fs::write(&path, SCENARIO).unwrap();
    assert_eq!(load().unwrap().replies().len(), 3);
    std::fs::write(&path, "[[reply]]\nx = 1").unwrap();
    assert!(
        load()
            .unwrap_err()
            .to_string()
            .starts_with(&format!("{}:2:1: ", path.display()))
    );
}
