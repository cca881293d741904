//! Recording and playing.

use super::difference::difference;
use super::tape::{self, CassetteError, Exchange, KEPT, Request, Response, ResponseBody, Secrets};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use bytes::Bytes;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server on the loopback interface that records the answers of a real one in a file, or plays them again.
///
/// **Recording** passes each request on and keeps it with its answer. Headers of requests are passed on
/// (`Authorization`, `Content-Type`, `Accept`) and never kept; secrets named at the start are replaced by
/// `[scrubbed]` in paths, requests and answers, also as JSON and addresses write them. An answer is passed on when it
/// is complete: its chunks and its pace are not kept.
///
/// **Playing** is strict: a request gets the answer that was recorded for the same method, path and body (as JSON: the
/// order of keys counts for nothing), each once. One that was not recorded is answered with 500 and the first
/// difference to the next one that was, and is kept in [`strangers`](Self::strangers).
///
/// The file has one JSON object a line: `{"cassette":1}`, then `{"request":{"method","path","body"},
/// "response":{"status","headers","body"}}` for each exchange, in the order the answers were complete.
pub struct Cassette {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    mode: Mode,
    strangers: Mutex<Vec<String>>,
}

enum Mode {
    Record {
        upstream: String,
        client: reqwest::Client,
        secrets: Secrets,
        file: Mutex<File>,
    },
    Replay {
        /// Those that were not asked for yet; an exchange that was is none.
        exchanges: Mutex<Vec<Option<Exchange>>>,
    },
}

impl Cassette {
    /// Records what `upstream`, a base address like `https://api.example.com/v1`, answers; an earlier file of this
    /// name is replaced.
    ///
    /// # Errors
    /// The file cannot be written, or no port can be opened.
    pub async fn record(
        upstream: &str,
        file: impl Into<PathBuf>,
        secrets: impl IntoIterator<Item = String>,
    ) -> Result<Self, CassetteError> {
        let client = tidegate_http::builder().build().map_err(CassetteError::Client)?;
        Self::serve(Mode::Record {
            upstream: upstream.trim_end_matches('/').to_owned(),
            client,
            secrets: Secrets::new(secrets),
            file: Mutex::new(tape::create(&file.into())?),
        })
        .await
    }

    /// Plays a file.
    ///
    /// # Errors
    /// The file is no cassette, or no port can be opened.
    pub async fn replay(file: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let exchanges = tape::read(&file.into())?.into_iter().map(Some).collect();
        Self::serve(Mode::Replay {
            exchanges: Mutex::new(exchanges),
        })
        .await
    }

    async fn serve(mode: Mode) -> Result<Self, CassetteError> {
        let shared = Arc::new(Shared {
            mode,
            strangers: Mutex::default(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(CassetteError::Port)?;
        let address = listener.local_addr().map_err(CassetteError::Port)?;
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("the cassette's server ended: {error}");
            }
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// The address a provider is configured with, in the place of the real one.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that were not recorded, and how each differs from what was; of a recording, exchanges that could
    /// not be recorded, and why.
    pub fn strangers(&self) -> Vec<String> {
        self.shared
            .strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Recorded exchanges nobody has asked for yet.
    pub fn unplayed(&self) -> usize {
        match &self.shared.mode {
            Mode::Record { .. } => 0,
            Mode::Replay { exchanges } => {
                let exchanges = exchanges.lock().unwrap_or_else(PoisonError::into_inner);
                exchanges.iter().flatten().count()
            }
        }
    }

    /// Checks that every request was recorded and every recorded one was made.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn assert_complete(&self) {
        let strangers = self.strangers();
        assert!(
            strangers.is_empty(),
            "requests that are not on the cassette: {strangers:#?}"
        );
        let unplayed = self.unplayed();
        assert!(
            unplayed == 0,
            "{unplayed} exchanges of the cassette were not asked for"
        );
    }
}

impl Drop for Cassette {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> axum::http::Response<Body> {
    let path = uri
        .path_and_query()
        .map_or_else(|| uri.path().to_owned(), ToString::to_string);
    let response = match &shared.mode {
        Mode::Replay { exchanges } => {
            let request = Request::new(method.as_str(), &path, &body, &Secrets::default());
            replay(
                &mut exchanges.lock().unwrap_or_else(PoisonError::into_inner),
                &request,
            )
        }
        Mode::Record {
            upstream,
            client,
            secrets,
            file,
        } => {
            let passed = pass_on(
                client,
                &format!("{upstream}{path}"),
                &method,
                &headers,
                body.clone(),
            )
            .await;
            passed
                .map_err(|error| error.without_url().to_string())
                .and_then(|(status, kept, answer)| {
                    let exchange = Exchange {
                        request: Request::new(method.as_str(), &path, &body, secrets),
                        response: Response {
                            status,
                            headers: kept.clone(),
                            body: ResponseBody::new(&answer, secrets),
                        },
                    };
                    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                    tape::append(&mut file, &exchange)
                        .map(|()| (status, kept, answer))
                        .map_err(|error| format!("the exchange cannot be written to the cassette: {error}"))
                })
        }
    };
    let (status, headers, body) = response.unwrap_or_else(|why| {
        shared
            .strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(why.clone());
        let error = json!({"error": {"message": why, "type": "cassette"}}).to_string();
        let json = ("content-type".to_owned(), "application/json".to_owned());
        (500, BTreeMap::from([json]), error.into())
    });
    let mut response = axum::http::Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (
            header::HeaderName::try_from(name),
            header::HeaderValue::try_from(value),
        ) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

type Answer = (u16, BTreeMap<String, String>, Bytes);

/// The recorded answer to this request, or the difference to what was recorded.
fn replay(exchanges: &mut [Option<Exchange>], request: &Request) -> Result<Answer, String> {
    let same = |exchange: &Option<Exchange>| exchange.as_ref().is_some_and(|known| known.request == *request);
    if let Some(Exchange { response, .. }) = exchanges
        .iter_mut()
        .find(|exchange| same(exchange))
        .and_then(Option::take)
    {
        return Ok((response.status, response.headers, response.body.bytes()));
    }
    let asked = format!("{} {}", request.method, request.path);
    let Some((number, next)) = exchanges
        .iter()
        .zip(1..)
        .find_map(|(known, number)| Some((number, known.as_ref()?)))
    else {
        return Err(format!(
            "{asked}: all {} exchanges of the cassette have been played",
            exchanges.len()
        ));
    };
    let recorded = format!("{} {}", next.request.method, next.request.path);
    let why = if asked == recorded {
        difference(&next.request.body, &request.body).unwrap_or_else(|| "it was played already".into())
    } else {
        format!("the cassette has {recorded}")
    };
    Err(format!(
        "{asked} is not on the cassette; exchange {number}, the next one, differs: {why}"
    ))
}

async fn pass_on(
    client: &reqwest::Client,
    url: &str,
    method: &Method,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Answer, reqwest::Error> {
    let mut request = client.request(method.clone(), url).body(body);
    for name in [header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT] {
        if let Some(value) = headers.get(&name) {
            request = request.header(name, value);
        }
    }
    let response = request.send().await?;
    let status = response.status().as_u16();
    let kept = KEPT
        .iter()
        .filter_map(|name| {
            let value = response.headers().get(*name)?.to_str().ok()?;
            Some(((*name).to_owned(), value.to_owned()))
        })
        .collect();
    Ok((status, kept, response.bytes().await?))
}
