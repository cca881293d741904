//! Headers of the caller's own.

use crate::common::{Client, Server, text};
use serde_json::json;

#[tokio::test]
async fn headers_go_to_the_host_they_were_given_for_and_not_on_with_a_redirect() {
    let last = Server::saying(text("here")).await;
    let first = Server::redirecting(302, &format!("http://127.0.0.1:{}/", last.port)).await;
    let url = format!("http://127.0.0.1:{}/", first.port);
    let headers = json!({ "Authorization": "Bearer a-token", "accept": "text/csv" });
    let told = Client::local().get_with(&url, headers).await.unwrap();
    assert!(told.ends_with("here"), "{told}");
    let asked = first.requests().concat();
    assert!(asked.contains("authorization: Bearer a-token\r\n"), "{asked}");
    assert_eq!(asked.matches("accept: ").count(), 1, "{asked}");
    assert!(asked.contains("accept: text/csv\r\n"), "{asked}");
    let asked = last.requests().concat();
    assert!(
        !asked.contains("a-token") && !asked.contains("text/csv"),
        "{asked}"
    );
}

#[tokio::test]
async fn headers_that_are_none_or_are_the_connections_own_are_refused_without_telling_their_values() {
    let server = Server::saying(text("x")).await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    for (headers, expected) in [
        (json!({ "Host": "SECRET" }), "the header Host is not to be set"),
        (
            json!({ "content-length": "SECRET" }),
            "the header content-length is not to be set",
        ),
        (
            json!({ "Transfer-Encoding": "SECRET" }),
            "the header Transfer-Encoding is not to be set",
        ),
        (
            json!({ "Proxy-Authorization": "SECRET" }),
            "the header Proxy-Authorization is not to be set",
        ),
        (json!({ "a b": "SECRET" }), "is no name of a header"),
        (json!({ "": "SECRET" }), "is no name of a header"),
        (
            json!({ "x": "SECRET\r\nHost: elsewhere" }),
            "the header x has a value that no header can have",
        ),
    ] {
        let told = Client::local().get_with(&url, headers).await.unwrap_err();
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("SECRET"), "{told}");
    }
    assert!(server.requests().is_empty());
}
