//! What the fault server puts on the wire.

use crate::common::{ask, asking, model_at};
use std::time::Duration;
use tidegate_providers::{ErrorClass, ScriptedReply};
use tidegate_testing::{At, ChunkFault, Fault, FaultServer, Framing, Gate, SilentPort, refused_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection on which one request was sent.
async fn requested(server: &FaultServer) -> TcpStream {
    let url: url::Url = server.base_url().parse().unwrap();
    let address = (url.host_str().unwrap(), url.port().unwrap());
    let mut connection = TcpStream::connect(address).await.unwrap();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"?"}]}"#;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

/// Everything that comes, and whether it ended well.
async fn whole(fault: Fault) -> (String, bool) {
    let server = FaultServer::start([fault]).await.unwrap();
    let mut connection = requested(&server).await;
    let mut bytes = Vec::new();
    let ended = connection.read_to_end(&mut bytes).await.is_ok();
    (String::from_utf8(bytes).unwrap(), ended)
}

const HEAD: &str = "HTTP/1.1 200 told to\r\nconnection: close\r\ncontent-type: text/event-stream\r\n";

#[tokio::test]
async fn an_answer_is_on_the_wire_as_told() {
    let hello = || Fault::stream("hello");
    let chunked = format!("{HEAD}transfer-encoding: chunked\r\n\r\n");
    for (fault, expected) in [
        (hello(), format!("{chunked}5\r\nhello\r\n0\r\n\r\n")),
        (
            hello().in_pieces_of(2),
            format!("{chunked}2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"),
        ),
        (
            hello().framed(Framing::Length),
            format!("{HEAD}content-length: 5\r\n\r\nhello"),
        ),
        (hello().framed(Framing::UntilClose), format!("{HEAD}\r\nhello")),
        (hello().cut(At::Body(2)), format!("{chunked}2\r\nhe\r\n")),
        (hello().cut(At::Body(0)), chunked.clone()),
        (hello().cut(At::Body(99)), format!("{chunked}5\r\nhello\r\n")),
        (
            hello().framed(Framing::Length).cut(At::Body(4)),
            format!("{HEAD}content-length: 5\r\n\r\nhell"),
        ),
        (hello().cut(At::Head(8)), "HTTP/1.1".into()),
        (hello().cut(At::Head(0)), String::new()),
        (
            Fault::raw(429, "", "")
                .header("retry-after", "7")
                .framed(Framing::UntilClose),
            "HTTP/1.1 429 told to\r\nconnection: close\r\nretry-after: 7\r\n\r\n".into(),
        ),
        (
            hello().broken_chunks(ChunkFault::SizeIsNoNumber),
            format!("{chunked}2\r\nhe\r\nhalf\r\nllo\r\n0\r\n\r\n"),
        ),
        (
            hello().broken_chunks(ChunkFault::SizeTooSmall),
            format!("{chunked}2\r\nhe\r\n2\r\nllo\r\n0\r\n\r\n"),
        ),
        (
            hello().broken_chunks(ChunkFault::SizeTooLarge),
            format!("{chunked}2\r\nhe\r\n3eb\r\nllo"),
        ),
        (
            hello().broken_chunks(ChunkFault::NoLineEnd),
            format!("{chunked}2\r\nhe\r\n3\r\nllo0\r\n\r\n"),
        ),
        (
            hello().broken_chunks(ChunkFault::NoLastChunk),
            format!("{chunked}2\r\nhe\r\n3\r\nllo\r\n"),
        ),
    ] {
        let shown = format!("{fault:?}");
        assert_eq!(whole(fault).await, (expected, true), "{shown}");
    }
}

#[tokio::test]
async fn a_reset_is_seen_as_one() {
    let (_, ended) = whole(Fault::stream("hello").reset(At::Body(2))).await;
    assert!(!ended);
}

#[tokio::test]
async fn at_a_gate_the_server_stands_still_until_it_is_opened() {
    let gate = Gate::new();
    let server = FaultServer::start([Fault::stream("hello")
        .framed(Framing::UntilClose)
        .hang(At::Body(2), &gate)])
    .await
    .unwrap();
    let mut connection = requested(&server).await;
    gate.until_reached(1).await;
    let mut before = vec![0; HEAD.len() + 4];
    connection.read_exact(&mut before).await.unwrap();
    assert!(before.ends_with(b"\r\n\r\nhe"));
    gate.open();
    let mut after = String::new();
    connection.read_to_string(&mut after).await.unwrap();
    assert_eq!(after, "llo");
}

#[tokio::test]
async fn a_drip_lets_one_piece_pass_at_a_time() {
    let gate = Gate::new();
    let slow = Fault::stream("abc")
        .framed(Framing::UntilClose)
        .one_byte_at_a_time()
        .drip(&gate);
    let server = FaultServer::start([slow]).await.unwrap();
    let mut connection = requested(&server).await;
    let mut head = vec![0; HEAD.len() + 2];
    connection.read_exact(&mut head).await.unwrap();
    for (count, byte) in (1..).zip(*b"abc") {
        gate.until_reached(count).await;
        gate.pass();
        assert_eq!(connection.read_u8().await.unwrap(), byte);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_noticed_at_a_gate() {
    let gate = Gate::new();
    let server = FaultServer::start([Fault::stream("hello").hang(At::Head(0), &gate)])
        .await
        .unwrap();
    let connection = requested(&server).await;
    gate.until_reached(1).await;
    drop(connection);
    server.until_all_closed().await;
    assert_eq!(
        (server.requests().len(), server.unplayed(), server.surplus()),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn endless_headers_end_with_the_client() {
    let server = FaultServer::start([Fault::endless_head()]).await.unwrap();
    let mut connection = requested(&server).await;
    let mut some = vec![0; 100_000];
    connection.read_exact(&mut some).await.unwrap();
    assert!(!String::from_utf8(some).unwrap().contains("\r\n\r\n"));
    drop(connection);
    server.until_all_closed().await;
}

#[tokio::test]
async fn a_script_is_played_in_order_and_past_its_end_is_an_error() {
    let date = Fault::error(429).retry_after_date(Duration::from_secs(60));
    let server = FaultServer::start([date, ScriptedReply::text("hello").into()])
        .await
        .unwrap();
    let model = model_at(&server.base_url(), None);
    let error = ask(&model, asking(&["?"])).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::RateLimited);
    let wait = error.retry_after.unwrap();
    assert!((57..=60).contains(&wait.as_secs()), "{wait:?}");
    ask(&model, asking(&["?"])).await.unwrap();
    assert_eq!(
        ask(&model, asking(&["?"])).await.unwrap_err().class,
        ErrorClass::Server
    );
    assert_eq!(server.surplus(), 1);
    server.then([Fault::from(ScriptedReply::text("more"))]);
    ask(&model, asking(&["?"])).await.unwrap();
    assert_eq!(server.requests().len(), 4);
    server.until_requested(4).await;
}

#[tokio::test]
async fn ports_that_refuse_and_ports_that_are_silent() {
    let (address, _socket) = refused_port().unwrap();
    let error = ask(&model_at(&format!("http://{address}/v1"), None), asking(&["?"]))
        .await
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Transport);

    let port = SilentPort::open().await.unwrap();
    let address = port.base_url();
    let mut connection = TcpStream::connect(address.trim_start_matches("http://").trim_end_matches("/v1"))
        .await
        .unwrap();
    connection.write_all(b"hello").await.unwrap();
    drop(connection);
    assert_eq!(port.until_let_go().await.unwrap(), b"hello");
}
