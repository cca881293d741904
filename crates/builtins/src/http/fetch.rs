//! Fetching, redirect by redirect.

use super::address::{Pinned, Resolver, addresses};
use super::body::{self, named};
use super::error::{FetchError, shown};
use super::hop::{REDIRECTS, host, next};
use super::tool::HttpLimits;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, LOCATION};
use reqwest::{Certificate, Client, Response};
use std::sync::Arc;
use tidegate_policy::{HostRules, Label};
use tidegate_tools::CallContext;
use tokio::time::{Instant, timeout_at};
use url::Url;

/// What is asked for first.
const WANTED: &str =
    "text/html,application/xhtml+xml,application/json,text/*;q=0.9,application/xml;q=0.9,*/*;q=0.1";

/// How hosts are reached.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) resolver: &'a dyn Resolver,
    pub(super) limits: HttpLimits,
    /// Those that are trusted beside the system's.
    pub(super) authorities: &'a [Certificate],
}

/// Fetches `url`, which the gate has let pass. Gives the text, or why there is none, and the join of the labels of all
/// hosts that were asked.
pub(super) async fn fetch(
    mut url: Url,
    mut headers: HeaderMap,
    hosts: &HostRules,
    way: Way<'_>,
    context: &CallContext,
) -> (Result<String, FetchError>, Label) {
    let limits = way.limits;
    let deadline = Instant::now() + limits.total;
    let mut rules = hosts.classify(&url);
    let mut received = rules.source;
    for _ in 0..=REDIRECTS {
        let asked = ask(&url, &headers, rules.pattern.is_some(), way);
        let response = match within(deadline, &url, limits, asked).await {
            Ok(response) => response,
            Err(error) => return (Err(error), received),
        };
        let status = response.status().as_u16();
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            let read = tell(response, &url, limits);
            return (within(deadline, &url, limits, read).await, received);
        }
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok());
        match next(&url, status, location, received, hosts, context) {
            Ok((to, label)) => {
                // They were given for the first host, and may be its credentials.
                headers.clear();
                url = to;
                received = received.join(label.source);
                rules = label;
            }
            Err(error) => return (Err(error), received),
        }
    }
    let host = host(&url);
    let limit = REDIRECTS;
    (Err(FetchError::TooManyRedirects { host, limit }), received)
}

async fn within<T>(
    deadline: Instant,
    url: &Url,
    limits: HttpLimits,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    timeout_at(deadline, work).await.unwrap_or_else(|_| {
        Err(FetchError::TooSlow {
            host: host(url),
            seconds: limits.total.as_secs_f64(),
        })
    })
}

/// Sends one request, to one of the addresses that were looked at and no other.
async fn ask(url: &Url, headers: &HeaderMap, listed: bool, way: Way<'_>) -> Result<Response, FetchError> {
    let failed = |action| {
        let host = host(url);
        move |cause: reqwest::Error| FetchError::Connection {
            host,
            action,
            cause: cause.without_url(),
        }
    };
    let addresses = addresses(url, listed, way.resolver).await?;
    let client = client(url, addresses, way).map_err(failed("prepared for"))?;
    let request = client
        .get(url.clone())
        .header(ACCEPT, WANTED)
        .header(ACCEPT_ENCODING, "identity")
        .headers(headers.clone());
    request.send().await.map_err(failed("reached"))
}

/// A client for one request: what it learnt of one host must not serve another.
fn client(url: &Url, addresses: Vec<std::net::IpAddr>, way: Way<'_>) -> Result<Client, reqwest::Error> {
    let mut builder = tidegate_http::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Pinned(addresses)))
        .connect_timeout(way.limits.connect)
        .pool_max_idle_per_host(0);
    if url.scheme() == "http" {
        // Loading the system's certificates takes longer than the rest.
        builder = builder.tls_certs_only([]);
    } else {
        builder = builder.tls_certs_merge(way.authorities.iter().cloned());
    }
    builder.build()
}

/// The answer as text, after a line that says what it is.
async fn tell(response: Response, url: &Url, limits: HttpLimits) -> Result<String, FetchError> {
    let status = response.status().as_u16();
    let name = host(url);
    let body = body::read(response, &name, limits.body).await?;
    let (size, media_type) = (body.bytes.len(), body.media_type.clone());
    let from = url.clone();
    let text = tokio::task::spawn_blocking(move || body.text(&from, &name))
        .await
        .map_err(|cause| FetchError::Page { cause })??;
    let media_type = shown(named(&media_type));
    let text = if text.is_empty() { "(empty)" } else { &text };
    Ok(format!(
        "HTTP {status} from {} ({media_type}, {size} bytes)\n{text}",
        shown(url.as_str())
    ))
}
