//! What requests have in common.

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use rustls::crypto::CryptoProvider;
use std::error::Error;
use std::time::{Duration, SystemTime};
use url::{Host, Url};

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most hops from a hub to where a file lies.
const MOST_REDIRECTS: usize = 10;

/// Whether redirects are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// Never: what is sent may go to one address alone.
    Refused,
    /// For fetching what is public, but never from https to http.
    Followed,
}

/// A client for `url`. `silence` is how long a server may say nothing at all.
pub(crate) fn client(url: &Url, redirects: Redirects, silence: Duration) -> Result<Client, reqwest::Error> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread has installed one in the meantime: just as good.
        let _installed_already = rustls::crypto::ring::default_provider().install_default();
    }
    let policy = match redirects {
        Redirects::Refused => Policy::none(),
        Redirects::Followed => Policy::custom(|attempt| {
            let is_downgrade = attempt.url().scheme() != "https"
                && attempt
                    .previous()
                    .last()
                    .is_some_and(|from| from.scheme() == "https");
            if is_downgrade {
                attempt.error("it redirects from https to http")
            } else if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("it redirects again and again")
            } else {
                attempt.follow()
            }
        }),
    };
    let mut builder = Client::builder()
        .redirect(policy)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(silence)
        .user_agent(concat!("tidegate/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        builder = builder.no_proxy();
        if url.scheme() == "http" {
            // Loading the system's certificates takes longer than the rest.
            builder = builder.tls_certs_only([]);
        }
    }
    builder.build()
}

/// Whether an address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address without user, password, query and fragment, any of which may hold a secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = format!("{}://", url.scheme());
    shown.push_str(url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        shown.push_str(&format!(":{port}"));
    }
    shown.push_str(url.path());
    shown
}

/// `url` with `path` behind what it has.
pub(crate) fn below(url: &Url, path: &str) -> Url {
    let mut below = url.clone();
    below.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    below.set_query(None);
    below.set_fragment(None);
    below
}

/// The innermost error: the one that says what really happened.
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    printable(&innermost.to_string(), 200)
}

/// The beginning of a foreign text without control characters.
pub(crate) fn printable(text: &str, characters: usize) -> String {
    let text = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    text.take(characters).collect::<String>().trim().to_owned()
}

/// Whether the same request may be answered another time.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        )
}

/// How long the server asks to wait: `Retry-After` in seconds or as a date (RFC 9110, 10.2.3). A date that has passed
/// means now; what cannot be read means nothing.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

/// The first `most` bytes of the body.
pub(crate) async fn read_up_to(mut response: Response, most: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < most {
        match response.chunk().await? {
            Some(bytes) => body.extend(bytes.iter().take(most - body.len())),
            None => break,
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_an_address_is_shown() {
        for (url, expected) in [
            (
                "https://user:key@hub.example/a?token=1#x",
                "https://hub.example/a",
            ),
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ] {
            assert_eq!(shown(&Url::parse(url).unwrap()), expected);
        }
    }

    #[test]
    fn a_path_is_put_behind_what_an_address_has() {
        for (url, path, expected) in [
            ("https://hub.example", "a/b.json", "https://hub.example/a/b.json"),
            ("https://hub.example/mirror/", "a", "https://hub.example/mirror/a"),
            (
                "https://hub.example/mirror?x=1",
                "a",
                "https://hub.example/mirror/a",
            ),
        ] {
            assert_eq!(below(&Url::parse(url).unwrap(), path).as_str(), expected);
        }
    }
}
