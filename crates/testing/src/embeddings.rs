//! A strict fake of `/v1/embeddings`.

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The longest text it takes, in words. A real service counts tokens.
const MOST_WORDS: usize = 8_000;

/// The most texts of a request, as of the real service.
const MOST_TEXTS: usize = 2_048;

/// An endpoint with OpenAI's `POST /v1/embeddings` on a free port of the loopback interface, which ends when it is dropped.
///
/// The same text gets the same vector, another text another one. A request the real service would refuse is answered
/// with 400 and recorded as a violation.
#[derive(Debug)]
pub struct FakeEmbeddings {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// What is answered to one request instead of its vectors in order.
#[derive(Clone, Debug, PartialEq)]
pub enum FakeEmbeddingsReply {
    /// The right vectors, the last first: the real service promises no order.
    Reversed,
    /// Vectors of this length.
    Dimension(usize),
    /// A refusal, with `Retry-After` if one is given.
    Status {
        /// The HTTP status.
        status: u16,
        /// The header.
        retry_after: Option<&'static str>,
        /// The body.
        body: &'static str,
    },
    /// 200 with this.
    Json(Value),
}

#[derive(Debug)]
struct Shared {
    dimension: usize,
    key: Option<String>,
    state: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    replies: VecDeque<FakeEmbeddingsReply>,
    requests: Vec<Value>,
    violations: Vec<String>,
}

impl FakeEmbeddings {
    /// One whose vectors have `dimension` values. With a `key` it wants that bearer token.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start(dimension: usize, key: Option<&str>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            dimension,
            key: key.map(str::to_owned),
            state: Mutex::default(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .route("/v1/embeddings", post(embeddings))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("the fake embeddings server ended: {error}");
            }
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// The address an embedder is configured with: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers the next request that has no answer yet with `reply`.
    pub fn then(&self, reply: FakeEmbeddingsReply) {
        self.shared.state().replies.push_back(reply);
    }

    /// All requests so far, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.state().requests.clone()
    }

    /// What was refused so far, and why.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }
}

impl Drop for FakeEmbeddings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Recorded> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn embeddings(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<String> {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let problem = problem(&shared, &headers, &request);
    let mut state = shared.state();
    state.requests.push(request.clone());
    if let Some((status, problem)) = problem {
        let error = json!({"error": {"message": problem, "type": "invalid_request_error", "code": null}});
        state.violations.push(problem);
        return answer(status, None, error.to_string());
    }
    let reply = state.replies.pop_front();
    drop(state);
    let texts = texts(&request).unwrap_or_default();
    let vectors = |dimension: usize| -> Vec<Value> {
        let item = |(index, text): (usize, &str)| json!({"object": "embedding", "index": index, "embedding": vector(text, dimension)});
        texts.iter().copied().enumerate().map(item).collect()
    };
    let list = |data: Vec<Value>| {
        let reply = json!({
            "object": "list",
            "data": data,
            "model": request.get("model").cloned().unwrap_or_default(),
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        });
        answer(StatusCode::OK, None, reply.to_string())
    };
    match reply {
        None => list(vectors(shared.dimension)),
        Some(FakeEmbeddingsReply::Reversed) => {
            let mut data = vectors(shared.dimension);
            data.reverse();
            list(data)
        }
        Some(FakeEmbeddingsReply::Dimension(dimension)) => list(vectors(dimension)),
        Some(FakeEmbeddingsReply::Json(reply)) => answer(StatusCode::OK, None, reply.to_string()),
        Some(FakeEmbeddingsReply::Status {
            status,
            retry_after,
            body,
        }) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            answer(status, retry_after, body.to_owned())
        }
    }
}

fn answer(status: StatusCode, retry_after: Option<&str>, body: String) -> Response<String> {
    let mut answer = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(retry_after) = retry_after {
        answer = answer.header(header::RETRY_AFTER, retry_after);
    }
    answer.body(body).unwrap_or_default()
}

/// What the real service would refuse.
fn problem(shared: &Shared, headers: &HeaderMap, request: &Value) -> Option<(StatusCode, String)> {
    let header = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    if let Some(key) = &shared.key
        && header(header::AUTHORIZATION) != format!("Bearer {key}")
    {
        return Some((StatusCode::UNAUTHORIZED, "the key is missing or wrong".to_owned()));
    }
    let bad = |problem: String| Some((StatusCode::BAD_REQUEST, problem));
    if header(header::CONTENT_TYPE) != "application/json" {
        return bad("the request is not application/json".to_owned());
    }
    let Some(fields) = request.as_object() else {
        return bad("the request is no JSON object".to_owned());
    };
    let known = ["model", "input", "encoding_format", "dimensions", "user"];
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return bad(format!("there is no field {unknown}"));
    }
    if request["model"].as_str().is_none_or(str::is_empty) {
        return bad("model is missing".to_owned());
    }
    if !matches!(request["encoding_format"].as_str(), None | Some("float")) {
        return bad("this fake answers with floats alone".to_owned());
    }
    match texts(request) {
        None => bad("input is no list of texts".to_owned()),
        Some(texts) if texts.is_empty() || texts.len() > MOST_TEXTS => {
            bad(format!("input has {} texts", texts.len()))
        }
        Some(texts) if texts.iter().any(|text| text.is_empty()) => bad("a text is empty".to_owned()),
        Some(texts)
            if texts
                .iter()
                .any(|text| text.split_whitespace().count() > MOST_WORDS) =>
        {
            bad("a text is too long".to_owned())
        }
        Some(_) => None,
    }
}

fn texts(request: &Value) -> Option<Vec<&str>> {
    match &request["input"] {
        Value::String(text) => Some(vec![text]),
        Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// A vector that depends on the text alone.
fn vector(text: &str, dimension: usize) -> Vec<f32> {
    (0..dimension)
        .map(|place| {
            let mut hash = DefaultHasher::new();
            (text, place).hash(&mut hash);
            // 16 bits, so that it is a number in any format.
            let bits = u16::try_from(hash.finish() & 0xffff).unwrap_or_default();
            f32::from(bits) / 65_536.0 - 0.5
        })
        .collect()
}
