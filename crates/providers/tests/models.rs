//! Asking a server which models it has.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;
use tidegate_message::ProviderId;
use tidegate_providers::{ErrorClass, OpenAi, OpenAiConfig, ProviderError};

const KEY: &str = "sk-secret-0123456789";

/// Asks a server that gives this answer. Gives what came of it, and the request.
async fn ask(answer: &str) -> (Result<Option<Vec<String>>, ProviderError>, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    let served = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            let length = connection.read(&mut piece).unwrap();
            request.extend(piece.iter().take(length));
        }
        connection.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    let mut config = OpenAiConfig::new(ProviderId::new("o"), base_url.parse().unwrap());
    config.api_key = Some(KEY.to_owned().into());
    config.timeout = Duration::from_secs(60);
    let models = OpenAi::new(config).models().await;
    (models, served.join().unwrap())
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn the_list_is_given_in_the_order_of_the_server() {
    let body = r#"{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"}]}"#;
    let (models, request) = ask(&answer("200 OK", body)).await;
    assert_eq!(models.unwrap().unwrap(), ["b", "a"]);
    assert!(request.starts_with("GET /v1/models HTTP/1.1\r\n"), "{request}");
    assert!(
        request
            .to_lowercase()
            .contains(&format!("authorization: bearer {KEY}\r\n")),
        "{request}"
    );
}

#[tokio::test]
async fn a_server_without_such_a_list_answers_all_the_same() {
    for (status, body) in [
        ("404 Not Found", "no"),
        ("405 Method Not Allowed", ""),
        ("200 OK", "<html>"),
        ("200 OK", "[]"),
    ] {
        let (models, _) = ask(&answer(status, body)).await;
        assert_eq!(models.unwrap(), None, "{status} {body}");
    }
}

#[tokio::test]
async fn what_does_not_work_is_told_without_the_key() {
    for (given, class) in [
        (answer("401 Unauthorized", KEY), ErrorClass::Auth),
        (answer("403 Forbidden", KEY), ErrorClass::Auth),
        (answer("500 Internal Server Error", KEY), ErrorClass::Server),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_owned(),
            ErrorClass::Transport,
        ),
    ] {
        let (models, _) = ask(&given).await;
        let error = models.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
}
