//! Redirects: each is a flow of its own.

use crate::common::{Client, Names, Server, context, text};
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_policy::Label;
use tidegate_tools::CallContext;

#[tokio::test]
async fn redirects_are_followed_and_the_last_address_is_told() {
    for status in [301, 302, 303, 307, 308] {
        let last = Server::saying(text("here")).await;
        let first = Server::redirecting(status, &format!("http://127.0.0.1:{}/there?x=1", last.port)).await;
        let ended = Client::local()
            .get(&format!("http://127.0.0.1:{}/", first.port))
            .await;
        assert_eq!(
            ended.text,
            format!(
                "HTTP 200 from http://127.0.0.1:{}/there?x=1 (text/plain, 4 bytes)\nhere",
                last.port
            ),
        );
    }
    // Relative to where it came from.
    let server = Server::with(vec![
        crate::common::Answer::Bytes(
            b"HTTP/1.1 302 X\r\nlocation: ../c\r\ncontent-length: 0\r\n\r\n".to_vec(),
        ),
        crate::common::Answer::Bytes(text("c")),
    ])
    .await;
    let ended = Client::local()
        .get(&format!("http://127.0.0.1:{}/a/b", server.port))
        .await;
    assert!(ended.ok, "{}", ended.text);
    assert!(server.requests()[1].starts_with("GET /c HTTP/1.1\r\n"));
}

#[tokio::test]
async fn redirects_that_do_not_end_are_ended() {
    let server = Server::redirecting(302, "/again").await;
    let ended = Client::local()
        .get(&format!("http://127.0.0.1:{}/", server.port))
        .await;
    assert_eq!(
        ended.text,
        format!("127.0.0.1:{} redirects more than 5 times", server.port)
    );
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let inside = Server::saying(text("SECRET")).await;
    let port = inside.port;
    for location in [
        format!("http://127.0.0.2:{port}/"),
        format!("http://inside.example:{port}/"),
        format!("//0x7f.2:{port}/"),
        format!("http://[::1]:{port}/"),
    ] {
        let first = Server::redirecting(302, &location).await;
        let names = Names::default().name("inside.example", &[&["127.0.0.1"]]);
        let client = Client::new(&[("127.0.0.1", Public)], names);
        let ended = client.get(&format!("http://127.0.0.1:{}/", first.port)).await;
        assert!(
            !ended.ok && ended.text.contains("which is a loopback address"),
            "{location}: {}",
            ended.text
        );
    }
    assert_eq!(inside.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_to_a_lower_host_is_not_followed() {
    let low = Server::saying(text("low")).await;
    let high = Server::redirecting(302, &format!("http://low.example:{}/?leak=1", low.port)).await;
    let names = || {
        Names::default()
            .name("high.example", &[&["127.0.0.1"]])
            .name("low.example", &[&["127.0.0.1"]])
    };
    let hosts = [("high.example", Internal), ("low.example", Public)];
    let url = format!("http://high.example:{}/", high.port);
    // The context is PUBLIC, but what the first host said is not.
    let client = Client::new(&hosts, names());
    let ended = client.get(&url).await;
    assert_eq!(
        (ended.ok, ended.text, ended.label),
        (
            false,
            format!(
                "high.example:{} redirects to low.example:{}, which may receive at most PUBLIC data, and this \
                 conversation holds INTERNAL data; the redirect was not followed",
                high.port, low.port
            ),
            Label::untrusted(Internal)
        )
    );
    // Not even the name was looked up.
    assert_eq!(client.names.asked(), ["high.example"]);
    // The context is higher than both.
    let client = Client::new(
        &[("high.example", Confidential), ("low.example", Internal)],
        names(),
    );
    let context = CallContext {
        label: Label::trusted(Confidential),
        ..context()
    };
    assert!(!client.get_in(&url, context).await.ok);
    assert_eq!(low.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_upwards_raises_the_result_and_stops_at_the_clearance() {
    let high = Server::saying(text("high")).await;
    let low = Server::redirecting(302, &format!("http://high.example:{}/", high.port)).await;
    let names = || {
        Names::default()
            .name("high.example", &[&["127.0.0.1"]])
            .name("low.example", &[&["127.0.0.1"]])
    };
    let url = format!("http://low.example:{}/", low.port);
    let client = Client::new(
        &[("high.example", Confidential), ("low.example", Public)],
        names(),
    );
    let ended = client.get(&url).await;
    assert!(ended.ok, "{}", ended.text);
    assert_eq!(ended.label, Label::untrusted(Confidential));
    let client = Client::new(&[("high.example", Restricted), ("low.example", Public)], names());
    let ended = client.get(&url).await;
    assert!(
        ended.text.ends_with(
            "which has the level RESTRICTED, and this session may read at most CONFIDENTIAL; the redirect was not followed"
        ),
        "{}",
        ended.text
    );
    assert_eq!(ended.label, Label::untrusted(Public));
    assert_eq!(high.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_to_what_cannot_be_fetched_is_told() {
    let table = [
        (
            "file:///etc/passwd",
            "only http:// and https:// can be fetched, not file:",
        ),
        (
            "http://user:pass@example.com/",
            "the URL holds a user name or password",
        ),
        ("http://[bad/", "is no URL"),
        ("http://example.com/\tx", "the URL holds a control character"),
    ];
    for (location, expected) in table {
        let server = Server::redirecting(302, location).await;
        let ended = Client::local()
            .get(&format!("http://127.0.0.1:{}/", server.port))
            .await;
        assert!(
            !ended.ok && ended.text.contains(expected),
            "{location}: {}",
            ended.text
        );
    }
    let server = Server::saying("HTTP/1.1 302 X\r\ncontent-length: 0\r\n\r\n").await;
    let ended = Client::local()
        .get(&format!("http://127.0.0.1:{}/", server.port))
        .await;
    assert_eq!(
        ended.text,
        format!(
            "127.0.0.1:{} answers 302 without a Location that can be followed",
            server.port
        )
    );
}
