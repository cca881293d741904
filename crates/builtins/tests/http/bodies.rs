//! What servers send.

use crate::common::{Answer, Client, Names, Server, answer, text};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write as _;
use std::time::Duration;
use tidegate_builtins::HttpLimits;
use tidegate_policy::Classification::Public;

async fn got(bytes: Vec<u8>) -> (bool, String) {
    let server = Server::saying(bytes).await;
    let ended = Client::local()
        .get(&format!("http://127.0.0.1:{}/x", server.port))
        .await;
    (ended.ok, ended.text.replace(&format!(":{}", server.port), ""))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn text_is_told_and_everything_else_is_named() {
    let table: Vec<(Vec<u8>, bool, &str)> = vec![
        (text("plain"), true, "HTTP 200 from http://127.0.0.1/x (text/plain, 5 bytes)\nplain"),
        (text(""), true, "HTTP 200 from http://127.0.0.1/x (text/plain, 0 bytes)\n(empty)"),
        (
            answer("content-type: Application/JSON; charset=utf-8\r\n", "{\"a\": 1}"),
            true,
            "HTTP 200 from http://127.0.0.1/x (application/json, 8 bytes)\n{\"a\": 1}",
        ),
        (
            answer("content-type: application/problem+json\r\n", "{}"),
            true,
            "HTTP 200 from http://127.0.0.1/x (application/problem+json, 2 bytes)\n{}",
        ),
        (
            answer("content-type: text/html\r\n", "<title>T</title><p>a <a href='y'>b</a><script>c</script>"),
            true,
            "HTTP 200 from http://127.0.0.1/x (text/html, 56 bytes)\nT\n\na b <http://127.0.0.1/y>",
        ),
        (
            answer("content-type: text/plain; charset=iso-8859-1\r\n", b"caf\xe9"),
            true,
            "HTTP 200 from http://127.0.0.1/x (text/plain, 4 bytes)\ncafé",
        ),
        (
            answer("content-type: text/plain\r\n", b"caf\xe9"),
            true,
            "HTTP 200 from http://127.0.0.1/x (text/plain, 4 bytes)\ncaf\u{fffd}",
        ),
        (
            answer("", "no type"),
            true,
            "HTTP 200 from http://127.0.0.1/x (content of no declared type, 7 bytes)\nno type",
        ),
        (
            answer("", b"\xff\xfe\x00"),
            false,
            "127.0.0.1 sends content of no declared type (3 bytes), which is no text and not shown",
        ),
        (
            answer("content-type: text/plain\r\n", b"a\0b"),
            false,
            "127.0.0.1 sends text/plain (3 bytes), which is no text and not shown",
        ),
        (
            answer("content-type: image/png\r\n", b"\x89PNG"),
            false,
            "127.0.0.1 sends image/png (4 bytes), which is no text and not shown",
        ),
        (
            answer("content-type: application/octet-stream\r\n", "x"),
            false,
            "127.0.0.1 sends application/octet-stream (1 bytes), which is no text and not shown",
        ),
        (
            b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 7\r\n\r\nnothing".to_vec(),
            true,
            "HTTP 404 from http://127.0.0.1/x (text/plain, 7 bytes)\nnothing",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec(),
            true,
            "HTTP 200 from http://127.0.0.1/x (text/plain, 5 bytes)\nabcde",
        ),
    ];
    for (bytes, ok, expected) in table {
        assert_eq!(got(bytes).await, (ok, expected.to_owned()));
    }
}

#[tokio::test]
async fn an_answer_that_is_none_or_breaks_off_is_an_error() {
    for bytes in [
        "",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let (ok, told) = got(bytes.into()).await;
        assert!(
            !ok && told.starts_with("127.0.0.1 cannot be "),
            "{bytes:?}: {told}"
        );
    }
}

#[tokio::test]
async fn no_more_than_the_limit_is_read() {
    let limit = 5 << 20;
    let (ok, told) = got(text(&"x".repeat(limit))).await;
    assert!(ok && told.len() > limit, "{}", told.len());
    let (ok, told) = got(text(&"x".repeat(limit + 1))).await;
    assert_eq!(
        (ok, told.as_str()),
        (
            false,
            "127.0.0.1 sends 5242881 bytes of text/plain; at most 5242880 bytes are read"
        )
    );
    // One that does not say how much, and never ends.
    let first = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec();
    let server = Server::with(vec![Answer::Endless(first, vec![b'x'; 65_536])]).await;
    let ended = Client::local()
        .get(&format!("http://127.0.0.1:{}/", server.port))
        .await;
    assert!(
        ended
            .text
            .ends_with("sends more than that of text/plain; at most 5242880 bytes are read"),
        "{}",
        ended.text
    );
}

#[tokio::test]
async fn what_was_compressed_though_not_asked_for_is_read_within_the_limit() {
    let encoded = |encoding: &str, bytes: Vec<u8>| {
        answer(
            &format!("content-type: text/plain\r\ncontent-encoding: {encoding}\r\n"),
            bytes,
        )
    };
    let fine = "HTTP 200 from http://127.0.0.1/x (text/plain, 5 bytes)\nwater";
    let bomb = gzip(&vec![0; 200 << 20]);
    assert!(bomb.len() < 300_000);
    let too_large = "127.0.0.1 sends more than that when decompressed; at most 5242880 bytes are read";
    let table = [
        (encoded("gzip", gzip(b"water")), true, fine),
        (encoded("x-gzip", gzip(b"water")), true, fine),
        (encoded("deflate", zlib(b"water")), true, fine),
        (encoded("identity", b"water".to_vec()), true, fine),
        (encoded("gzip", bomb), false, too_large),
        (encoded("deflate", zlib(&vec![b'x'; 6 << 20])), false, too_large),
        (
            encoded("br", b"x".to_vec()),
            false,
            "127.0.0.1 sends content encoded as br, which is not understood; no encoding was asked for",
        ),
        (
            encoded("gzip, gzip", gzip(&gzip(b"water"))),
            false,
            "127.0.0.1 sends content encoded as gzip, gzip, which is not understood; no encoding was asked for",
        ),
        (
            encoded("gzip", b"this is surely not gzip".to_vec()),
            false,
            "what 127.0.0.1 sends is broken: invalid gzip header",
        ),
    ];
    for (bytes, ok, expected) in table {
        assert_eq!(got(bytes).await, (ok, expected.to_owned()));
    }
}

#[tokio::test]
async fn a_server_that_is_slow_is_left() {
    let beginning = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\n".to_vec();
    for stall in [Vec::new(), b"HTTP/1.1 2".to_vec(), beginning] {
        let server = Server::with(vec![Answer::Stall(stall)]).await;
        let limits = HttpLimits {
            total: Duration::from_millis(300),
            ..HttpLimits::default()
        };
        let client = Client::limited(&[("127.0.0.1", Public)], Names::default(), limits);
        let ended = client.get(&format!("http://127.0.0.1:{}/", server.port)).await;
        assert!(
            !ended.ok && ended.text.contains("did not answer in full within 0.3 s"),
            "{}",
            ended.text
        );
    }
}
