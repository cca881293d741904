//! Calls that fail.

use crate::common::{asking, collect, error, provider, streamed_text};
use serde_json::json;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tidegate_message::ProviderId;
use tidegate_providers::{ErrorClass, OpenAi, OpenAiConfig, ProviderError};
use tidegate_testing::{FakeOpenAi, FakeReply};
use tokio::sync::Notify;

async fn error_of(answer: FakeReply) -> ProviderError {
    let server = FakeOpenAi::start([answer]).await.unwrap();
    error(&provider(&server), asking("?")).await
}

/// The message and its causes, the port left out.
fn told(error: &ProviderError, server: &FakeOpenAi) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(&format!("\n  because: {error}"));
        cause = error.source();
    }
    told.replace(&server.base_url(), "http://127.0.0.1:PORT/v1")
}

#[tokio::test]
async fn every_refusal_has_its_class() {
    use ErrorClass::*;
    let openai = |status, code: &str| FakeReply::error(status, code, "no");
    let said = |status, message: &str| FakeReply::error(status, "", message);
    let raw = |status, body: &str| FakeReply::raw(status, "application/json", body.to_owned());
    for (answer, class) in [
        (openai(429, "rate_limit_exceeded"), RateLimited),
        (openai(429, "insufficient_quota"), Billing),
        (openai(429, ""), RateLimited),
        (openai(402, ""), Billing),
        (openai(401, "invalid_api_key"), Auth),
        (openai(403, ""), Auth),
        (openai(404, "model_not_found"), ModelNotFound),
        (openai(400, "model_not_found"), ModelNotFound),
        (openai(404, ""), ModelNotFound),
        (openai(408, ""), Timeout),
        (openai(413, ""), PayloadTooLarge),
        (openai(400, "context_length_exceeded"), ContextOverflow),
        (
            said(400, "This model's maximum context length is 8192 tokens."),
            ContextOverflow,
        ),
        (
            said(400, "the request exceeds the available context size"),
            ContextOverflow,
        ),
        (said(413, "prompt is too long: 300000 tokens"), ContextOverflow),
        (openai(400, "content_filter"), ContentPolicy),
        (openai(400, "content_policy_violation"), ContentPolicy),
        (openai(400, "invalid_request_error"), BadRequest),
        (openai(422, ""), BadRequest),
        (openai(405, ""), BadRequest),
        (openai(500, ""), Server),
        (openai(502, ""), Server),
        (openai(500, "overloaded_error"), Overloaded),
        (openai(503, ""), Overloaded),
        (openai(529, ""), Overloaded),
        (openai(504, ""), Timeout),
        (raw(500, r#"{"error": "out of memory"}"#), Server),
        (
            raw(
                400,
                r#"[{"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}]"#,
            ),
            BadRequest,
        ),
        (raw(422, r#"{"detail": "no"}"#), BadRequest),
        (raw(500, ""), Server),
        (raw(418, "null"), BadRequest),
        // An error although the status says that all is well.
        (
            raw(
                200,
                r#"{"error": {"message": "busy", "code": "rate_limit_exceeded"}}"#,
            ),
            RateLimited,
        ),
        (
            raw(
                200,
                r#"{"error": {"message": "bad", "type": "invalid_request_error"}}"#,
            ),
            BadRequest,
        ),
        (raw(200, r#"{"error": "whatever"}"#), Server),
        (raw(200, "{}"), MalformedReply),
        (raw(200, "[]"), MalformedReply),
        (raw(200, "{"), MalformedReply),
        (raw(200, r#"{"choices": []}"#), MalformedReply),
    ] {
        let shown = format!("{answer:?}");
        assert_eq!(error_of(answer).await.class, class, "{shown}");
    }
}

#[test]
fn some_classes_may_be_sent_again() {
    let transient: Vec<&str> = ErrorClass::ALL
        .iter()
        .filter(|class| class.is_transient())
        .map(|class| class.as_str())
        .collect();
    assert_eq!(
        transient,
        [
            "rate_limited",
            "overloaded",
            "server",
            "timeout",
            "transport",
            "malformed_reply"
        ]
    );
    for class in ErrorClass::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
}

#[tokio::test]
async fn the_time_to_wait_is_read_in_every_form() {
    let answer = |name: &str, value: &str| FakeReply::error(429, "", "no").with_header(name, value);
    for (name, value, expected) in [
        ("retry-after", "3", Some(Duration::from_secs(3))),
        ("retry-after", "0.5", Some(Duration::from_millis(500))),
        ("retry-after", "-1", None),
        ("retry-after", "NaN", None),
        ("retry-after", "1e300", None),
        ("retry-after", "soon", None),
        (
            "retry-after",
            "Wed, 21 Oct 2015 07:28:00 GMT",
            Some(Duration::ZERO),
        ),
        ("retry-after-ms", "1500", Some(Duration::from_millis(1500))),
        ("x-other", "3", None),
    ] {
        assert_eq!(
            error_of(answer(name, value)).await.retry_after,
            expected,
            "{name}: {value}"
        );
    }
    let date = httpdate(SystemTime::now() + Duration::from_secs(3600));
    let wait = error_of(answer("retry-after", &date)).await.retry_after.unwrap();
    assert!((3000..=3600).contains(&wait.as_secs()), "{wait:?}");
}

fn httpdate(at: SystemTime) -> String {
    httpdate::fmt_http_date(at)
}

#[tokio::test]
async fn messages_say_what_happened_and_what_to_do() {
    let mut told_all = String::new();
    for answer in [
        FakeReply::error(429, "rate_limit_exceeded", "Rate limit reached\nfor requests."),
        FakeReply::error(401, "invalid_api_key", ""),
        FakeReply::error(404, "model_not_found", "The model does not exist."),
        FakeReply::error(400, "context_length_exceeded", ""),
        FakeReply::error(400, "", "Unsupported parameter: \u{1b}[31m'stream_options'"),
        FakeReply::raw(
            200,
            "text/html; charset=utf-8",
            "<!DOCTYPE html>\n<title>Welcome\u{7}</title>",
        ),
        FakeReply::raw(200, "text/plain", ""),
        FakeReply::raw(307, "", "").with_header("location", "https://elsewhere.example/v1"),
        FakeReply::stream("data: {\"choices\""),
        FakeReply::stream("data: {\"choices\"\n\n"),
        FakeReply::stream(&b"data: \xff\n\n"[..]),
    ] {
        let server = FakeOpenAi::start([answer]).await.unwrap();
        let error = error(&provider(&server), asking("?")).await;
        told_all.push_str(&format!("{}: {}\n", error.class, told(&error, &server)));
    }
    insta::assert_snapshot!(told_all, @r#"
    rate_limited: fake: there were too many requests (HTTP 429); it says "Rate limit reached for requests."; wait, or lower max_concurrent of [providers.fake]
    auth: fake: the provider wants a key, and none was sent (HTTP 401); set api_key_env or api_key_file of [providers.fake]
    model_not_found: fake: there is no model "fake-model" at http://127.0.0.1:PORT/v1/chat/completions (HTTP 404); it says "The model does not exist."; check the model's name and base_url of [providers.fake], which often ends in /v1
    context_overflow: fake: the request is longer than the window of model "fake-model" (HTTP 400); shorten the conversation or choose a model with a larger window
    bad_request: fake: the provider refuses the request (HTTP 400); it says "Unsupported parameter: [31m'stream_options'"; see whether the model takes tools and whatever is attached
    malformed_reply: fake: the answer of http://127.0.0.1:PORT/v1/chat/completions is no reply: it is "text/html", not a stream of events, and begins with "<!DOCTYPE html> <title>Welcome</title>"; does base_url of [providers.fake] name an OpenAI-compatible address? Often it ends in /v1
    malformed_reply: fake: the answer of http://127.0.0.1:PORT/v1/chat/completions is no reply: it is "text/plain", not a stream of events; does base_url of [providers.fake] name an OpenAI-compatible address? Often it ends in /v1
    bad_request: fake: http://127.0.0.1:PORT/v1/chat/completions redirects (HTTP 307) to "https://elsewhere.example/v1"; redirects are not followed. If that address may have the session's data, set it as base_url of [providers.fake]
    transport: fake: the stream of http://127.0.0.1:PORT/v1/chat/completions ended in the middle of the reply
    malformed_reply: fake: the answer of http://127.0.0.1:PORT/v1/chat/completions is no reply: a chunk of the reply is JSON that ends too early (line 1, column 10)
    malformed_reply: fake: the answer of http://127.0.0.1:PORT/v1/chat/completions is no reply: the stream is not UTF-8
    "#);
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    // A port that was open a moment ago, and is closed.
    let server = FakeOpenAi::start([FakeReply::text("Hi")]).await.unwrap();
    let model = provider(&server);
    let base_url = server.base_url();
    server.stop().await;
    let error = error(&model, asking("?")).await;
    assert_eq!(error.class, ErrorClass::Transport);
    assert_eq!(
        error.to_string().replace(&base_url, "BASE"),
        "fake: BASE/chat/completions cannot be reached (Connection refused (os error 111)); is the server \
         running? Check base_url of [providers.fake]"
    );
}

#[tokio::test]
async fn an_address_of_another_kind_is_refused() {
    for base_url in ["ftp://127.0.0.1/v1", "mailto:someone"] {
        let model = OpenAi::new(OpenAiConfig::new(
            ProviderId::new("fake"),
            base_url.parse().unwrap(),
        ));
        let error = error(&model, asking("?")).await;
        assert_eq!(error.class, ErrorClass::BadRequest, "{error}");
        assert!(error.message.contains("http:// or https://"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_a_timeout() {
    let gate = || Arc::new(Notify::new());
    let begun =
        FakeReply::events([json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}).to_string()]);
    for (answer, shown) in [
        (FakeReply::text("Hi").hold(gate()), ""),
        (begun.cut_after(1_000).hold_after(1_000, gate()), "Hel"),
    ] {
        let server = FakeOpenAi::start([answer]).await.unwrap();
        let config = OpenAiConfig {
            timeout: Duration::from_millis(600),
            ..OpenAiConfig::new(ProviderId::new("fake"), server.base_url().parse().unwrap())
        };
        let (events, reply) = collect(&OpenAi::new(config), asking("?")).await;
        let error = reply.unwrap_err();
        assert_eq!(error.class, ErrorClass::Timeout, "{error}");
        assert!(error.message.contains("within 600 ms"), "{error}");
        assert_eq!(streamed_text(&events), shown);
    }
}

#[tokio::test]
async fn neither_key_nor_request_is_told() {
    let secret = "the merger with Northwind closes on Friday";
    let server = FakeOpenAi::answering(|request| {
        // A server that quotes whatever it got.
        let quoted = request.messages().last().unwrap()["content"].clone();
        let key = request.header("authorization").unwrap().to_owned();
        FakeReply::error(400, "", &format!("I got {quoted} with {key}"))
            .with_header("location", format!("https://x.example/{key}"))
    })
    .await
    .unwrap();
    let mut base_url: url::Url = server.base_url().parse().unwrap();
    base_url.set_query(Some("key=query-secret"));
    let config = OpenAiConfig {
        api_key: Some("sk-very-secret-key".into()),
        ..OpenAiConfig::new(ProviderId::new("fake"), base_url)
    };
    assert!(!format!("{config:?}").contains("secret"), "{config:?}");
    let error = error(&OpenAi::new(config), asking(secret)).await;
    assert_eq!(
        error.to_string(),
        "fake: the provider refuses the request (HTTP 400); it says \"I got \"[…]\" with Bearer [key]\"; see whether the \
         model takes tools and whatever is attached"
    );
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_key_no_header_may_have_is_an_error_that_does_not_show_it() {
    let server = FakeOpenAi::start([FakeReply::text("Hi")]).await.unwrap();
    let config = OpenAiConfig {
        api_key: Some("sk-123\n".into()),
        ..OpenAiConfig::new(ProviderId::new("fake"), server.base_url().parse().unwrap())
    };
    let error = error(&OpenAi::new(config), asking("?")).await;
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(!format!("{error:?}").contains("sk-123"), "{error:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = FakeOpenAi::start([FakeReply::text("Hi")]).await.unwrap();
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}/chat/completions", target.base_url());
        let answer = FakeReply::raw(status, "", "").with_header("location", location);
        assert_eq!(error_of(answer).await.class, ErrorClass::BadRequest);
    }
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn a_long_error_text_is_cut() {
    let error = error_of(FakeReply::raw(500, "text/html", "e".repeat(1024 * 1024))).await;
    assert_eq!(error.class, ErrorClass::Server);
    assert!(error.message.len() < 500, "{} bytes", error.message.len());
}

#[tokio::test]
async fn a_dropped_stream_ends_the_call() {
    use futures::StreamExt;
    use tidegate_providers::Provider;

    let gate = Arc::new(Notify::new());
    let begun =
        FakeReply::events([json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}).to_string()]);
    let server = FakeOpenAi::start([begun.hold_after(10_000, Arc::clone(&gate))])
        .await
        .unwrap();
    let model = provider(&server);
    let mut stream = model.stream(asking("?"));
    stream.next().await.unwrap().unwrap();
    drop(stream);
    server.until_idle().await;
}
