//! A model hub on the loopback interface: its lists, its addresses, its redirects, and what can go wrong with it.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use futures::stream;
use serde_json::json;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidegate_embed::Url;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) const REPOSITORY: &str = "example/tiny";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What happens to one download instead of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// The connection is cut after so many bytes of the body.
    Cut(usize),
    /// A refusal.
    Status(u16),
    /// 200 with the whole file, whatever range was asked for.
    NoRange,
    /// 206 for another range than was asked for.
    WrongRange,
}

#[derive(Debug, Default)]
struct Hub {
    files: BTreeMap<String, Vec<u8>>,
    /// What the list says of a file, where that is not true.
    lies: BTreeMap<String, Vec<u8>>,
    mishaps: VecDeque<Mishap>,
    /// Downloads: the file and the range that was asked for.
    downloads: Vec<(String, Option<String>)>,
    lists: usize,
}

pub(crate) struct HubServer {
    url: Url,
    hub: Arc<Mutex<Hub>>,
    task: JoinHandle<()>,
}

impl Drop for HubServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HubServer {
    /// A hub with these files in [`REPOSITORY`]. Those named `*.onnx` are large ones, with SHA-256 and a redirect.
    pub(crate) async fn start<'a>(files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> Self {
        let hub = Arc::new(Mutex::new(Hub {
            files: files
                .into_iter()
                .map(|(name, content)| (name.to_owned(), content))
                .collect(),
            ..Hub::default()
        }));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&hub));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url: Url::parse(&url).unwrap(),
            hub,
            task,
        }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next downloads of large files go like this.
    pub(crate) fn mishaps(&self, mishaps: impl IntoIterator<Item = Mishap>) {
        self.hub().mishaps.extend(mishaps);
    }

    /// The list says of `name` what would be right for `content`.
    pub(crate) fn lie(&self, name: &str, content: &[u8]) {
        self.hub().lies.insert(name.to_owned(), content.to_owned());
    }

    /// The ranges that were asked for of `name`, one for each connection.
    pub(crate) fn ranges(&self, name: &str) -> Vec<Option<String>> {
        let hub = self.hub();
        let of_name = hub.downloads.iter().filter(|(file, _)| file == name);
        of_name.map(|(_, range)| range.clone()).collect()
    }

    pub(crate) fn lists(&self) -> usize {
        self.hub().lists
    }
}

async fn answer(State(hub): State<Arc<Mutex<Hub>>>, request: Request) -> Response<Body> {
    let mut hub = hub.lock().unwrap_or_else(PoisonError::into_inner);
    let path = request.uri().path().to_owned();
    let range = request
        .headers()
        .get(header::RANGE)
        .and_then(|range| range.to_str().ok())
        .map(str::to_owned);
    if path == format!("/api/models/{REPOSITORY}/revision/main") {
        return whole(json!({"id": REPOSITORY, "sha": COMMIT}).to_string());
    }
    if path == format!("/api/models/{REPOSITORY}/tree/{COMMIT}") {
        assert_eq!(request.uri().query(), Some("recursive=true"));
        hub.lists += 1;
        return whole(list(&hub));
    }
    if let Some(name) = path.strip_prefix(&format!("/{REPOSITORY}/resolve/{COMMIT}/")) {
        if name.ends_with(".onnx") {
            return Response::builder()
                .status(StatusCode::FOUND)
                .header(header::LOCATION, format!("/elsewhere/{name}"))
                .body(Body::empty())
                .unwrap();
        }
        hub.downloads.push((name.to_owned(), range));
        return hub
            .files
            .get(name)
            .map_or_else(missing, |content| whole(content.clone()));
    }
    if let Some(name) = path.strip_prefix("/elsewhere/") {
        hub.downloads.push((name.to_owned(), range.clone()));
        let mishap = hub.mishaps.pop_front();
        return hub
            .files
            .get(name)
            .map_or_else(missing, |content| ranged(content, range.as_deref(), mishap));
    }
    missing()
}

fn list(hub: &Hub) -> String {
    let mut entries =
        vec![json!({"type": "directory", "oid": "a".repeat(40), "size": 0, "path": "1_Pooling"})];
    for (name, content) in &hub.files {
        let content = hub.lies.get(name).unwrap_or(content);
        let size = content.len();
        let git = |bytes: &[u8]| {
            let mut hash = Sha1::new();
            hash.update(format!("blob {}\0", bytes.len()));
            hash.update(bytes);
            hexadecimal(&hash.finalize())
        };
        entries.push(if name.ends_with(".onnx") {
            let sha256 = hexadecimal(&Sha256::digest(content));
            json!({
                "type": "file", "path": name, "size": size, "oid": git(b"a pointer"),
                "lfs": {"oid": sha256, "size": size, "pointerSize": 134},
            })
        } else {
            json!({"type": "file", "path": name, "size": size, "oid": git(content)})
        });
    }
    serde_json::Value::Array(entries).to_string()
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn whole(content: impl Into<Body>) -> Response<Body> {
    Response::new(content.into())
}

fn missing() -> Response<Body> {
    Response::builder()
        .status(StatusCode::NOT_FOUND)
        .body(Body::empty())
        .unwrap()
}

fn ranged(content: &[u8], range: Option<&str>, mishap: Option<Mishap>) -> Response<Body> {
    let first: usize = range.map_or(0, |range| {
        range
            .strip_prefix("bytes=")
            .unwrap()
            .strip_suffix('-')
            .unwrap()
            .parse()
            .unwrap()
    });
    if let Some(Mishap::Status(status)) = mishap {
        return Response::builder().status(status).body(Body::empty()).unwrap();
    }
    if mishap == Some(Mishap::NoRange) || range.is_none() && !matches!(mishap, Some(Mishap::Cut(_))) {
        return whole(content.to_owned());
    }
    if first >= content.len() {
        return Response::builder()
            .status(StatusCode::RANGE_NOT_SATISFIABLE)
            .body(Body::empty())
            .unwrap();
    }
    let rest = content[first..].to_owned();
    let told = if mishap == Some(Mishap::WrongRange) {
        first + 1
    } else {
        first
    };
    let mut answer = Response::builder().header(header::CONTENT_LENGTH, rest.len());
    if range.is_some() {
        let last = content.len() - 1;
        answer = answer.status(StatusCode::PARTIAL_CONTENT).header(
            header::CONTENT_RANGE,
            format!("bytes {told}-{last}/{}", content.len()),
        );
    }
    let body = match mishap {
        Some(Mishap::Cut(after)) => {
            let pieces = [
                Ok(Bytes::from(rest[..after].to_owned())),
                Err(std::io::Error::other("cut")),
            ];
            Body::from_stream(stream::iter(pieces))
        }
        _ => Body::from(rest),
    };
    answer.body(body).unwrap()
}
