//! The server.

use super::answer::Fault;
use super::script::{Act, acts};
use crate::RecordedRequest;
use bytes::Bytes;
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A server on a free port of the loopback interface that answers each request as its script says, down to
/// the byte. It ends when it is dropped.
///
/// It speaks TCP itself, so that it can do what no HTTP library would. Each request is answered on a
/// connection of its own. What it does depends on the requests and on [`Gate`](crate::Gate)s alone, never on
/// time. It does not judge requests: for that there is [`FakeOpenAi`](crate::FakeOpenAi).
///
/// A request past the end of the script is answered with 500 and counts as [`surplus`](Self::surplus).
#[derive(Debug)]
pub struct FaultServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    answer: Answer,
    connections: watch::Sender<Connections>,
}

enum Answer {
    /// As the script says.
    InOrder,
    By(Box<dyn Fn(&RecordedRequest) -> Fault + Send + Sync>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InOrder => "InOrder",
            Self::By(_) => "By(…)",
        })
    }
}

#[derive(Debug)]
struct State {
    script: VecDeque<Fault>,
    requests: Vec<RecordedRequest>,
    surplus: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connections {
    requests: usize,
    open: usize,
}

/// Counts one connection as open while it lives.
struct Open<'a>(&'a watch::Sender<Connections>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|connections| connections.open -= 1);
    }
}

impl FaultServer {
    /// Answers with these, one a request, in order.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start<F: Into<Fault>>(script: impl IntoIterator<Item = F>) -> io::Result<Self> {
        Self::serve(script.into_iter().map(Into::into).collect(), Answer::InOrder).await
    }

    /// Answers each request with what `answer` says to it; [`then`](Self::then) has no effect.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn answering(
        answer: impl Fn(&RecordedRequest) -> Fault + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(VecDeque::new(), Answer::By(Box::new(answer))).await
    }

    async fn serve(script: VecDeque<Fault>, answer: Answer) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                script,
                requests: Vec::new(),
                surplus: 0,
            }),
            answer,
            connections: watch::Sender::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// The address a provider is configured with: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds answers to the end of the script.
    pub fn then<F: Into<Fault>>(&self, script: impl IntoIterator<Item = F>) {
        self.shared
            .state()
            .script
            .extend(script.into_iter().map(Into::into));
    }

    /// All requests so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.state().requests.clone()
    }

    /// Requests for which the script had no answer.
    pub fn surplus(&self) -> usize {
        self.shared.state().surplus
    }

    /// Answers nobody has asked for yet.
    pub fn unplayed(&self) -> usize {
        self.shared.state().script.len()
    }

    /// Waits until `count` requests have arrived since the start.
    pub async fn until_requested(&self, count: usize) {
        let mut connections = self.shared.connections.subscribe();
        // The sender lives as long as `self`.
        let _requested = connections.wait_for(|now| now.requests >= count).await;
    }

    /// Waits until no connection is open: each was closed by its client, or by the script and its client.
    pub async fn until_all_closed(&self) {
        let mut connections = self.shared.connections.subscribe();
        let _closed = connections.wait_for(|now| now.open == 0).await;
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_to(&self, request: RecordedRequest) -> Fault {
        let fault = match &self.answer {
            Answer::By(answer) => Some(answer(&request)),
            Answer::InOrder => self.state().script.pop_front(),
        };
        let mut state = self.state();
        state.requests.push(request);
        state.surplus += usize::from(fault.is_none());
        fault.unwrap_or_else(|| Fault::raw(500, "text/plain", "the fault server has no answer left"))
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // The tasks end with the set.
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((connection, peer)) => {
                let shared = Arc::clone(&shared);
                shared
                    .connections
                    .send_modify(|connections| connections.open += 1);
                tasks.spawn(async move {
                    let _open = Open(&shared.connections);
                    // A client that goes away in the middle is what many a test is about.
                    let _gone = answer(connection, peer, &shared).await;
                });
            }
            Err(error) => {
                eprintln!("the fault server ended: {error}");
                return;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

async fn answer(mut connection: TcpStream, peer: SocketAddr, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let Some(request) = read_request(&mut connection, peer).await? else {
        return Ok(());
    };
    let model = request
        .json
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let before = request.assistant_messages();
    let fault = shared.answer_to(request);
    let mut acts = acts(&fault, &model, before);
    shared
        .connections
        .send_modify(|connections| connections.requests += 1);
    while let Some(act) = acts.pop_front() {
        match act {
            Act::Send(bytes) => {
                connection.write_all(&bytes).await?;
                // The client is to see each piece by itself.
                tokio::task::yield_now().await;
            }
            Act::Wait(gate) => {
                let mut unasked = [0; 1];
                tokio::select! {
                    () = gate.wait() => {}
                    // Nothing more is sent by a client that waits: this is its end.
                    _ = connection.read(&mut unasked) => return Ok(()),
                }
            }
            Act::HeadersForever => loop {
                connection.write_all(b"x-more: and more\r\n").await?;
            },
            Act::Reset => {
                connection.set_zero_linger()?;
                return Ok(());
            }
        }
    }
    connection.shutdown().await?;
    // The connection is over when the client closes it, too: it has seen the end then.
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).await?;
    Ok(())
}

/// One request; none if the connection ends before it is complete.
async fn read_request(connection: &mut TcpStream, peer: SocketAddr) -> io::Result<Option<RecordedRequest>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let mut body = bytes.split_off(end + 4);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let headers: Vec<(String, String)> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    while body.len() < length {
        if connection.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let body = Bytes::from(body);
    Ok(Some(RecordedRequest {
        json: serde_json::from_slice(&body).unwrap_or_default(),
        body,
        headers,
        peer,
    }))
}
