//! The server.

use super::check::{Violation, check_request};
use super::reply::{FakeBody, FakeReply};
use super::wire::{self, Naming};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, header};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures::stream::{self, Stream};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// An OpenAI-compatible server on a free port of the loopback interface, which ends when it is dropped.
///
/// It answers `POST /v1/chat/completions`, streaming or not, and `GET /v1/models`. A request the real
/// service would refuse is answered with its 400 and recorded as a violation; no reply is used up by it.
pub struct FakeOpenAi {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The body, byte for byte.
    pub body: Bytes,
    /// The body as JSON; null if it is none.
    pub json: Value,
    /// The headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The client's address and port: the same for all requests of one connection.
    pub peer: SocketAddr,
}

impl RecordedRequest {
    /// The messages, the system prompt among them.
    pub fn messages(&self) -> &[Value] {
        self.json
            .get("messages")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// How many messages have the role `assistant`: what a reply may depend on, since it is the same whichever
    /// process asks.
    pub fn assistant_messages(&self) -> usize {
        self.messages()
            .iter()
            .filter(|message| message.get("role") == Some(&"assistant".into()))
            .count()
    }

    /// The value of the header `name`, written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

struct Shared {
    answer: Answer,
    log: Mutex<Log>,
    /// How many answers are under way.
    under_way: watch::Sender<usize>,
}

/// Counts one answer as under way while it lives.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn new(shared: Arc<Shared>) -> Self {
        shared.under_way.send_modify(|count| *count += 1);
        Self(shared)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|count| *count -= 1);
    }
}

enum Answer {
    InOrder(Mutex<VecDeque<FakeReply>>),
    By(Box<dyn Fn(&RecordedRequest) -> FakeReply + Send + Sync>),
}

#[derive(Default)]
struct Log {
    /// Whether requests are forgotten once they are answered.
    forgets: bool,
    requests: Vec<RecordedRequest>,
    violations: Vec<Violation>,
}

impl FakeOpenAi {
    /// Answers with these replies, one a request, in order.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start<R: Into<FakeReply>>(replies: impl IntoIterator<Item = R>) -> io::Result<Self> {
        let replies = replies.into_iter().map(Into::into).collect();
        Self::serve(Answer::InOrder(Mutex::new(replies))).await
    }

    /// Answers each request with what `answer` says to it.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn answering(
        answer: impl Fn(&RecordedRequest) -> FakeReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(Answer::By(Box::new(answer))).await
    }

    async fn serve(answer: Answer) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            answer,
            log: Mutex::default(),
            under_way: watch::Sender::new(0),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        // Small pieces are to travel at once, not when the client has acknowledged the one before.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                eprintln!("the fake OpenAI server cannot send without delay: {error}");
            }
        });
        let router = Router::new()
            .route("/v1/chat/completions", post(chat_completions))
            .route("/v1/models", get(models))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, service).await {
                eprintln!("the fake OpenAI server ended: {error}");
            }
        });
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

    /// All requests for completions so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.log(|log| log.requests.clone())
    }

    /// Records no more requests, and forgets those it has: for long runs, whose bodies would fill the memory.
    pub fn forget_requests(&self) {
        self.shared.log(|log| {
            log.forgets = true;
            log.requests = Vec::new();
        });
    }

    /// What was refused so far, and every request for which there was no reply.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.log(|log| log.violations.clone())
    }

    /// How many replies are left; none for a server that was started with a function.
    pub fn unplayed(&self) -> usize {
        match &self.shared.answer {
            Answer::InOrder(replies) => replies.lock().unwrap_or_else(PoisonError::into_inner).len(),
            Answer::By(_) => 0,
        }
    }

    /// Ends the server: its port takes no more connections.
    pub async fn stop(mut self) {
        self.task.abort();
        // The task may have ended by itself; either way it is over.
        let _ended = (&mut self.task).await;
    }

    /// Waits until no answer is under way: each was sent to its end, or its client has gone away.
    pub async fn until_idle(&self) {
        let mut under_way = self.shared.under_way.subscribe();
        // The sender lives as long as `self`.
        let _idle = under_way.wait_for(|count| *count == 0).await;
    }

    /// Checks that nothing was refused and no reply is left.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn assert_complete(&self) {
        let violations = self.violations();
        assert!(
            violations.is_empty(),
            "the fake server had to refuse requests: {violations:#?}"
        );
        let unplayed = self.unplayed();
        assert!(
            unplayed == 0,
            "{unplayed} replies of the fake server were not asked for"
        );
    }
}

impl Drop for FakeOpenAi {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for FakeOpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeOpenAi")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn log<T>(&self, read: impl FnOnce(&mut Log) -> T) -> T {
        read(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refuse(&self, violation: Violation) -> FakeReply {
        let error = json!({
            "error": {
                "message": violation.message,
                "type": "invalid_request_error",
                "param": violation.param,
                "code": null,
            },
        });
        self.log(|log| log.violations.push(violation));
        FakeReply::raw(400, "application/json", error.to_string())
    }

    /// What to answer to `request`.
    fn answer(&self, request: &RecordedRequest) -> FakeReply {
        if let Err(violation) = check_request(&request.body) {
            return self.refuse(violation);
        }
        match &self.answer {
            Answer::By(answer) => answer(request),
            Answer::InOrder(replies) => {
                let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or_else(|| {
                    self.refuse(Violation {
                        param: "body".into(),
                        message: "the fake server has no reply left".into(),
                    })
                })
            }
        }
    }
}

async fn models() -> String {
    json!({"object": "list", "data": [{"id": "fake-model", "object": "model", "owned_by": "tidegate"}]})
        .to_string()
}

async fn chat_completions(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, axum::http::StatusCode> {
    let under_way = UnderWay::new(Arc::clone(&shared));
    let headers = headers
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let json = serde_json::from_slice(&body).unwrap_or_default();
    let request = RecordedRequest {
        body,
        json,
        headers,
        peer,
    };
    shared.log(|log| {
        if !log.forgets {
            log.requests.push(request.clone());
        }
    });
    let reply = shared.answer(&request);
    if let Some(gate) = &reply.hold {
        gate.notified().await;
    }
    let (status, content_type, body) = render(&reply.body, &request);
    let mut response = Response::builder().status(status);
    if !content_type.is_empty() {
        response = response.header(header::CONTENT_TYPE, content_type);
    }
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    response
        .body(Body::from_stream(pieces(body, &reply, under_way)))
        .map_err(|_| axum::http::StatusCode::INTERNAL_SERVER_ERROR)
}

fn render(body: &FakeBody, request: &RecordedRequest) -> (u16, String, Bytes) {
    match body {
        FakeBody::Raw {
            status,
            content_type,
            body,
        } => (*status, content_type.clone(), body.clone()),
        FakeBody::Message {
            reply,
            whole,
            without_done,
        } => {
            let model = request
                .json
                .get("model")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let naming = Naming {
                model,
                before: request.assistant_messages(),
            };
            let flag = |pointer: &str| request.json.pointer(pointer) == Some(&Value::Bool(true));
            if *whole || !flag("/stream") {
                (200, "application/json".into(), wire::whole(reply, &naming).into())
            } else {
                let stream = wire::stream(
                    reply,
                    &naming,
                    flag("/stream_options/include_usage"),
                    !without_done,
                );
                (200, "text/event-stream; charset=utf-8".into(), stream.into())
            }
        }
    }
}

/// What is done next on the way to the client.
enum Action {
    Send(Bytes),
    Wait(Arc<Notify>),
    Break,
}

/// The body, sent as the reply says.
fn pieces(
    mut body: Bytes,
    reply: &FakeReply,
    under_way: UnderWay,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let breaks = reply.cut_after.is_some_and(|after| after <= body.len());
    if let Some(after) = reply.cut_after {
        body.truncate(after);
    }
    let mut actions = VecDeque::new();
    let rest = match &reply.hold_after {
        Some((after, gate)) => {
            let rest = body.split_off((*after).min(body.len()));
            push_pieces(&mut actions, body, reply.chunk_bytes);
            actions.push_back(Action::Wait(Arc::clone(gate)));
            rest
        }
        None => body,
    };
    push_pieces(&mut actions, rest, reply.chunk_bytes);
    if breaks {
        actions.push_back(Action::Break);
    }
    stream::unfold((actions, under_way), |(mut actions, under_way)| async move {
        loop {
            match actions.pop_front()? {
                Action::Send(bytes) => {
                    // While this waits, the server sends what it has, so that pieces travel by themselves.
                    tokio::task::yield_now().await;
                    return Some((Ok(bytes), (actions, under_way)));
                }
                Action::Wait(gate) => gate.notified().await,
                Action::Break => {
                    // The same here: without it, the last piece would be lost.
                    tokio::task::yield_now().await;
                    let broken = io::Error::new(io::ErrorKind::ConnectionAborted, "broken off as told");
                    return Some((Err(broken), (actions, under_way)));
                }
            }
        }
    })
}

fn push_pieces(actions: &mut VecDeque<Action>, mut body: Bytes, chunk_bytes: Option<usize>) {
    let size = chunk_bytes.unwrap_or(usize::MAX).max(1);
    while !body.is_empty() {
        let rest = body.split_off(size.min(body.len()));
        actions.push_back(Action::Send(body));
        body = rest;
    }
}
