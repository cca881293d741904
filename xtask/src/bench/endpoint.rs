//! An endpoint for models that notes when a request arrives and answers it at once.

use anyhow::Context;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long a connection may be silent before it is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// A whole streamed reply in the form of OpenAI's chat completions: one piece of text, the end, the usage.
const REPLY: &str = concat!(
    r#"data: {"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"#,
    r#""delta":{"role":"assistant","content":"Hello."},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"#,
    r#""delta":{},"finish_reason":"stop"}]}"#,
    "\n\n",
    r#"data: {"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"#,
    r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
    "\n\n",
    "data: [DONE]\n\n",
);

/// What is said to a request that is not for a reply.
const NOTHING_HERE: &str = r#"{"error":{"message":"only POST /v1/chat/completions is answered here"}}"#;

/// A request that arrived.
#[derive(Debug)]
pub(super) struct Arrival {
    /// When its first line had been read.
    pub(super) at: Instant,
    /// That line.
    pub(super) line: String,
}

impl Arrival {
    /// Whether it asks for a reply of the model.
    pub(super) fn is_for_a_reply(&self) -> bool {
        self.line.starts_with("POST /v1/chat/completions ")
    }
}

/// An endpoint on the loopback interface. Its threads end with the process.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    arrivals: Receiver<Arrival>,
}

impl Endpoint {
    /// Listens on a free port.
    pub(super) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on the loopback interface")?;
        let address = listener.local_addr().context("cannot find out the port")?;
        let (sender, arrivals) = mpsc::channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let sender = sender.clone();
                thread::spawn(move || {
                    if let Err(error) = connection.and_then(|connection| serve(connection, &sender)) {
                        eprintln!("endpoint: {error}");
                    }
                });
            }
        });
        Ok(Self { address, arrivals })
    }

    /// What a configuration names as `base_url`.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The next request, if it arrives within `patience`.
    pub(super) fn next(&self, patience: Duration) -> Result<Arrival, RecvTimeoutError> {
        self.arrivals.recv_timeout(patience)
    }

    /// Forgets the requests that have arrived so far.
    pub(super) fn forget(&self) {
        while self.arrivals.try_recv().is_ok() {}
    }
}

fn serve(connection: TcpStream, sender: &Sender<Arrival>) -> io::Result<()> {
    connection.set_read_timeout(Some(SILENCE))?;
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);

    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        // Opened and closed again.
        return Ok(());
    }
    let arrival = Arrival {
        at: Instant::now(),
        line,
    };
    let (status, kind, body) = match arrival.is_for_a_reply() {
        true => ("200 OK", "text/event-stream", REPLY),
        false => ("404 Not Found", "application/json", NOTHING_HERE),
    };
    // Nobody listens any more once the measurement has failed.
    sender.send(arrival).ok();

    let length = content_length(&mut reader)?;
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    let mut connection = reader.into_inner();
    write!(
        connection,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    connection.shutdown(Shutdown::Write)
}

/// Reads the headers; how many bytes of body follow them.
fn content_length(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            Some(_) => {}
            None => return Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_noted_and_answered() {
        let endpoint = Endpoint::start().unwrap();
        for (path, is_for_a_reply, status, end) in [
            (
                "/v1/chat/completions",
                true,
                "HTTP/1.1 200 OK\r\n",
                "data: [DONE]\n\n",
            ),
            ("/v1/models", false, "HTTP/1.1 404 Not Found\r\n", NOTHING_HERE),
        ] {
            let before = Instant::now();
            let mut connection = TcpStream::connect(endpoint.address).unwrap();
            write!(
                connection,
                "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{{}}"
            )
            .unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with(status) && answer.ends_with(end), "{answer}");

            let arrival = endpoint.next(SILENCE).unwrap();
            assert_eq!(arrival.is_for_a_reply(), is_for_a_reply, "{arrival:?}");
            assert!(arrival.at >= before);
        }
    }
}
