//! The remote embedder against a strict fake.

use std::sync::Arc;
use std::time::Duration;
use tidegate_embed::{EmbedError, Prefixes, RemoteEmbedder, RemoteSettings, SecretString, Url};
use tidegate_memory::{BadVector, EmbedWork, Embedder, EmbedderError};
use tidegate_testing::{FakeEmbeddings, FakeEmbeddingsReply, conformance};
use tidegate_tools::{BoxFuture, Cancel};

fn settings(server: &FakeEmbeddings) -> RemoteSettings {
    RemoteSettings {
        first_delay: Duration::from_millis(1),
        ..RemoteSettings::new(Url::parse(&server.base_url()).unwrap(), "tiny-embedding")
    }
}

async fn embed(embedder: &RemoteEmbedder, texts: &[&str]) -> Result<usize, EmbedderError> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    let embedded = embedder.embed_documents(texts, EmbedWork::default()).await?;
    Ok(embedded.len())
}

/// The error with everything below it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn it_keeps_the_contract_of_embedders() {
    let server = FakeEmbeddings::start(24, Some("sk-test")).await.unwrap();
    let embedder = RemoteEmbedder::open(RemoteSettings {
        api_key: Some(SecretString::from("sk-test")),
        ..settings(&server)
    })
    .await
    .unwrap();
    assert_eq!(embedder.model().id, "openai:tiny-embedding");
    assert_eq!(embedder.model().dimension, 24, "it was asked");
    conformance::embedder(&embedder).await;
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn with_a_configured_dimension_nothing_is_asked_at_the_start() {
    let server = FakeEmbeddings::start(24, None).await.unwrap();
    let with = |dimension| RemoteSettings {
        dimension: Some(dimension),
        ..settings(&server)
    };
    let embedder = RemoteEmbedder::open(with(24)).await.unwrap();
    assert!(server.requests().is_empty());
    assert_eq!(embed(&embedder, &["tide"]).await.unwrap(), 1);

    let embedder = RemoteEmbedder::open(with(25)).await.unwrap();
    let error = embed(&embedder, &["tide"]).await.unwrap_err();
    let expected = BadVector::Dimension {
        found: 24,
        expected: 25,
    };
    assert!(
        matches!(error, EmbedderError::BadVector { problem, .. } if problem == expected),
        "{error}"
    );
}

#[tokio::test]
async fn texts_go_in_batches_with_their_prefixes_and_come_back_in_order() {
    let server = FakeEmbeddings::start(8, None).await.unwrap();
    let embedder = RemoteEmbedder::open(RemoteSettings {
        batch: 2,
        prefixes: Prefixes {
            query: "q: ".to_owned(),
            document: "d: ".to_owned(),
        },
        ..settings(&server)
    })
    .await
    .unwrap();
    let texts = ["one", "two", "three"].map(str::to_owned).to_vec();
    let in_order = embedder
        .embed_documents(texts.clone(), EmbedWork::default())
        .await
        .unwrap();
    server.then(FakeEmbeddingsReply::Reversed);
    let reversed = embedder
        .embed_documents(texts, EmbedWork::default())
        .await
        .unwrap();
    assert_eq!(in_order, reversed);
    embedder
        .embed_query("one".to_owned(), EmbedWork::default())
        .await
        .unwrap();
    let inputs: Vec<serde_json::Value> = server
        .requests()
        .iter()
        .map(|request| request["input"].clone())
        .collect();
    let expected = serde_json::json!([
        ["tide"],
        ["d: one", "d: two"],
        ["d: three"],
        ["d: one", "d: two"],
        ["d: three"],
        ["q: one"],
    ]);
    assert_eq!(serde_json::Value::Array(inputs), expected);
}

#[tokio::test]
async fn a_long_text_is_cut_before_it_is_sent() {
    let server = FakeEmbeddings::start(8, None).await.unwrap();
    let embedder = RemoteEmbedder::open(settings(&server)).await.unwrap();
    embed(&embedder, &[&"the tide turns ".repeat(50_000)])
        .await
        .unwrap();
    let sent = server.requests().pop().unwrap()["input"][0]
        .as_str()
        .unwrap()
        .len();
    assert!(sent < 4 * 512 * 2, "{sent}");
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
    let status = |status| FakeEmbeddingsReply::Status {
        status,
        retry_after: None,
        body: "{}",
    };
    let wait = |retry_after| FakeEmbeddingsReply::Status {
        status: 429,
        retry_after: Some(retry_after),
        body: "{}",
    };
    for (replies, is_embedded, requests) in [
        (vec![status(503), status(500), status(429)], true, 4),
        (vec![wait("0"), wait("0.001")], true, 3),
        // A server that asks for an hour is not waited for.
        (vec![wait("3600")], false, 1),
        (vec![status(503); 4], false, 4),
        (vec![status(400)], false, 1),
        (vec![status(401)], false, 1),
        (vec![status(307)], false, 1),
        (
            vec![FakeEmbeddingsReply::Json(serde_json::json!({"object": "list"}))],
            false,
            1,
        ),
    ] {
        let server = FakeEmbeddings::start(8, None).await.unwrap();
        let embedder = RemoteEmbedder::open(RemoteSettings {
            dimension: Some(8),
            ..settings(&server)
        })
        .await
        .unwrap();
        replies.iter().for_each(|reply| server.then(reply.clone()));
        let outcome = embed(&embedder, &["tide"]).await;
        assert_eq!(outcome.is_ok(), is_embedded, "{replies:?}: {outcome:?}");
        assert_eq!(server.requests().len(), requests, "{replies:?}");
    }
}

#[tokio::test]
async fn answers_that_are_no_vectors_of_the_texts_are_refused() {
    let item = |index: usize, value: serde_json::Value| serde_json::json!({"object": "embedding", "index": index, "embedding": [value, 0.5]});
    let list = |data: Vec<serde_json::Value>| FakeEmbeddingsReply::Json(serde_json::json!({ "data": data }));
    let half = serde_json::json!(0.5);
    for (reply, expected) in [
        (FakeEmbeddingsReply::Dimension(3), "3 values instead of 2"),
        (list(vec![item(0, half.clone())]), "1 vectors for 2 texts"),
        (
            list(vec![item(0, half.clone()), item(0, half.clone())]),
            "two vectors for text 0",
        ),
        (
            list(vec![item(0, half.clone()), item(2, half.clone())]),
            "text that was not sent",
        ),
        (
            list(vec![item(0, half.clone()), item(1, serde_json::json!(1e300))]),
            "",
        ),
        (
            list(vec![item(0, half.clone()), item(1, serde_json::Value::Null)]),
            "not what",
        ),
    ] {
        let server = FakeEmbeddings::start(2, None).await.unwrap();
        let embedder = RemoteEmbedder::open(settings(&server)).await.unwrap();
        server.then(reply.clone());
        let error = whole(&embed(&embedder, &["one", "two"]).await.unwrap_err());
        assert!(error.contains(expected), "{reply:?}: {error}");
    }
}

#[tokio::test]
async fn no_error_repeats_a_text_or_the_key() {
    let server = FakeEmbeddings::start(2, None).await.unwrap();
    let embedder = RemoteEmbedder::open(RemoteSettings {
        api_key: Some(SecretString::from("sk-very-secret")),
        ..settings(&server)
    })
    .await
    .unwrap();
    for status in [400, 401, 413, 503] {
        for _ in 0..4 {
            server.then(FakeEmbeddingsReply::Status {
                status,
                retry_after: None,
                body: r#"{"error": {"code": "the reef plan", "type": "bad_request", "message": "the reef plan with sk-very-secret"}}"#,
            });
        }
        let error = embed(&embedder, &["the reef plan"]).await.unwrap_err();
        let text = format!("{} {error:?}", whole(&error));
        assert!(!text.contains("reef") && !text.contains("secret"), "{text}");
        assert!(text.contains("bad_request"), "{text}");
    }
    assert!(!format!("{embedder:?}").contains("secret"));
}

#[tokio::test]
async fn settings_that_cannot_work_are_said_at_once() {
    for (url, model, key, expected) in [
        ("ftp://embeddings.example/v1", "m", None, "http://"),
        ("http://127.0.0.1/v1", " ", None, "no model"),
        ("http://127.0.0.1/v1", "m", Some("two\nlines"), "line break"),
    ] {
        let settings = RemoteSettings {
            api_key: key.map(SecretString::from),
            ..RemoteSettings::new(Url::parse(url).unwrap(), model)
        };
        let error = RemoteEmbedder::open(settings).await.unwrap_err();
        assert!(matches!(error, EmbedError::BadEndpoint { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let (address, _taken) = tidegate_testing::refused_port().unwrap();
    let url = Url::parse(&format!("http://{address}/v1")).unwrap();
    let nobody = RemoteSettings {
        first_delay: Duration::from_millis(1),
        ..RemoteSettings::new(url, "m")
    };
    let error = RemoteEmbedder::open(nobody).await.unwrap_err().to_string();
    assert!(error.contains("is the server running"), "{error}");
}

/// Says stop when it is told to.
struct Later(tokio::sync::Notify);

impl Cancel for Later {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notified())
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_while_it_waits_for_an_answer() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    let embedder = RemoteEmbedder::open(RemoteSettings {
        dimension: Some(8),
        ..RemoteSettings::new(url, "m")
    })
    .await
    .unwrap();
    let later = Arc::new(Later(tokio::sync::Notify::new()));
    let embedded = embedder.embed_query("tide".to_owned(), EmbedWork::until(Arc::clone(&later) as _));
    let once_asked = async {
        let connection = listener.accept().await.unwrap();
        later.0.notify_one();
        connection
    };
    let (outcome, _connection) = futures::join!(embedded, once_asked);
    assert!(matches!(outcome, Err(EmbedderError::Cancelled)));
}
