//! The fake server and the scripted model's helper.

use crate::common::{ask, asking};
use serde_json::Value;
use tidegate_message::ProviderId;
use tidegate_providers::{ErrorClass, ModelRequest, OpenAi, OpenAiConfig, Scripted};
use tidegate_testing::{FakeOpenAi, FakeReply, assert_complete, text};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request the real service refuses.
fn without_a_model() -> ModelRequest {
    ModelRequest {
        model: "".into(),
        ..asking(&["?"])
    }
}

fn model(server: &FakeOpenAi) -> OpenAi {
    OpenAi::new(OpenAiConfig::new(
        ProviderId::new("fake"),
        server.base_url().parse().unwrap(),
    ))
}

/// Sends a request by hand and returns status line and body.
async fn by_hand(server: &FakeOpenAi, method: &str, path: &str, body: &str) -> (String, Value) {
    let url: url::Url = server.base_url().parse().unwrap();
    let address = (url.host_str().unwrap(), url.port().unwrap());
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} /v1/{path} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all((head + body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head.lines().next().unwrap().to_owned(),
        serde_json::from_str(body).unwrap(),
    )
}

#[tokio::test]
async fn a_request_that_is_refused_uses_up_no_reply() {
    let server = FakeOpenAi::start([text("Hi")]).await.unwrap();
    let model = model(&server);
    let error = ask(&model, without_a_model()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::BadRequest);
    assert_eq!(server.violations().len(), 1);
    assert_eq!(server.violations()[0].param, "model");
    assert_eq!(server.unplayed(), 1);
    ask(&model, asking(&["?"])).await.unwrap();
    assert_eq!((server.unplayed(), server.requests().len()), (0, 2));
    let error = ask(&model, asking(&["?"])).await.unwrap_err();
    assert!(error.message.contains("no reply left"), "{error}");
}

#[tokio::test]
async fn a_function_can_answer() {
    let server = FakeOpenAi::answering(|request| {
        FakeReply::text(format!(
            "{} messages, {} mine",
            request.messages().len(),
            request.assistant_messages()
        ))
    })
    .await
    .unwrap();
    let reply = ask(&model(&server), asking(&["a", "b"])).await.unwrap();
    assert_eq!(
        reply.parts,
        [tidegate_message::ReplyPart::Text("2 messages, 0 mine".into())]
    );
    server.assert_complete();
}

#[tokio::test]
async fn without_streaming_one_object_comes() {
    let server = FakeOpenAi::start([text("Hi")]).await.unwrap();
    let body = r#"{"model": "m", "messages": [{"role": "user", "content": "?"}]}"#;
    let (status, answer) = by_hand(&server, "POST", "chat/completions", body).await;
    assert_eq!(status, "HTTP/1.0 200 OK");
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["choices"][0]["message"]["content"], "Hi");
}

#[tokio::test]
async fn a_refusal_has_the_form_of_the_real_one() {
    let server = FakeOpenAi::start([text("Hi")]).await.unwrap();
    let (status, answer) = by_hand(
        &server,
        "POST",
        "chat/completions",
        r#"{"model": "m", "messages": []}"#,
    )
    .await;
    assert_eq!(status, "HTTP/1.0 400 Bad Request");
    assert_eq!(
        answer,
        serde_json::json!({"error": {
            "message": "[] is too short",
            "type": "invalid_request_error",
            "param": "messages",
            "code": null,
        }})
    );
}

#[tokio::test]
async fn models_are_listed() {
    let server = FakeOpenAi::start([text("Hi")]).await.unwrap();
    let (_, answer) = by_hand(&server, "GET", "models", "").await;
    assert_eq!(answer["data"][0]["id"], "fake-model");
}

#[tokio::test]
#[should_panic(expected = "1 replies of the fake server were not asked for")]
async fn a_reply_nobody_asked_for_fails_the_test() {
    FakeOpenAi::start([text("Hi")]).await.unwrap().assert_complete();
}

#[tokio::test]
#[should_panic(expected = "had to refuse requests")]
async fn a_violation_fails_the_test() {
    let server = FakeOpenAi::start([] as [FakeReply; 0]).await.unwrap();
    ask(&model(&server), without_a_model()).await.unwrap_err();
    server.assert_complete();
}

#[tokio::test]
async fn a_script_that_was_played_is_complete() {
    let model = Scripted::new(ProviderId::new("x"), [text("Hi")]);
    ask(&model, asking(&["?"])).await.unwrap();
    assert_complete(&model);
}

#[test]
#[should_panic(expected = "of 1 scripted replies these were not played: [1]")]
fn a_script_that_was_not_played_fails_the_test() {
    assert_complete(&Scripted::new(ProviderId::new("x"), [text("Hi")]));
}

#[tokio::test]
#[should_panic(expected = "the scripted model was surprised:\n- reply 1 expects \"go\"")]
async fn a_surprised_script_fails_the_test() {
    let model = Scripted::new(ProviderId::new("x"), [text("Hi").expecting("go")]);
    ask(&model, asking(&["?"])).await.unwrap_err();
    assert_complete(&model);
}
