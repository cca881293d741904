//! What a server sends, read within bounds and made into text.

use super::error::FetchError;
use super::page;
use flate2::read::{GzDecoder, ZlibDecoder};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use std::io::Read;
use url::Url;

/// The kinds of text that are told, by what their media type begins or ends with.
const TEXT_TYPES: [&str; 12] = [
    "application/atom+xml",
    "application/ecmascript",
    "application/javascript",
    "application/json",
    "application/rss+xml",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

/// What a server sent.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) media_type: String,
    charset: Option<String>,
}

/// Reads the body of an answer of `host`: at most `limit` bytes, as sent and as decompressed.
pub(super) async fn read(mut response: Response, host: &str, limit: u64) -> Result<Body, FetchError> {
    let (media_type, charset) = content_type(response.headers());
    let too_large = |what: String| FetchError::TooLarge {
        host: host.to_owned(),
        what,
        limit,
    };
    if !media_type.is_empty() && !is_text(&media_type) {
        return Err(FetchError::NotText {
            host: host.to_owned(),
            content_type: media_type,
            size: response.content_length().unwrap_or(0),
        });
    }
    if let Some(length) = response.content_length().filter(|length| *length > limit) {
        return Err(too_large(format!("{length} bytes of {}", named(&media_type))));
    }
    let encoding = header(response.headers(), CONTENT_ENCODING).to_ascii_lowercase();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|cause| FetchError::Connection {
        host: host.to_owned(),
        action: "read to the end",
        cause: cause.without_url(),
    })? {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(too_large(format!("more than that of {}", named(&media_type))));
        }
        bytes.extend_from_slice(&chunk);
    }
    let decoded = match encoding.as_str() {
        "" | "identity" => bytes,
        "gzip" | "x-gzip" => within(GzDecoder::new(bytes.as_slice()), host, limit)?,
        "deflate" => within(ZlibDecoder::new(bytes.as_slice()), host, limit)?,
        _ => {
            return Err(FetchError::Encoding {
                host: host.to_owned(),
                encoding,
            });
        }
    };
    Ok(Body {
        bytes: decoded,
        media_type,
        charset,
    })
}

/// Decompresses no more than is wanted, however little it was compressed.
fn within(decoder: impl Read, host: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    decoder
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|cause| FetchError::Broken {
            host: host.to_owned(),
            cause,
        })?;
    if bytes.len() as u64 > limit {
        return Err(FetchError::TooLarge {
            host: host.to_owned(),
            what: "more than that when decompressed".into(),
            limit,
        });
    }
    Ok(bytes)
}

impl Body {
    /// As text; a page at `url` without its markup.
    pub(super) fn text(self, url: &Url, host: &str) -> Result<String, FetchError> {
        let size = self.bytes.len() as u64;
        if self.bytes.contains(&0) || self.media_type.is_empty() && std::str::from_utf8(&self.bytes).is_err()
        {
            return Err(FetchError::NotText {
                host: host.to_owned(),
                content_type: named(&self.media_type).to_owned(),
                size,
            });
        }
        let text = match self.charset.as_deref() {
            // Every byte is the character of that number; that is nearly so in Windows' own set.
            Some("iso-8859-1" | "latin1" | "windows-1252") => {
                self.bytes.iter().map(|byte| char::from(*byte)).collect()
            }
            _ => String::from_utf8_lossy(&self.bytes).into_owned(),
        };
        let is_page = matches!(self.media_type.as_str(), "text/html" | "application/xhtml+xml");
        Ok(if is_page { page::text(text, url) } else { text })
    }
}

/// How a media type is told.
pub(super) fn named(media_type: &str) -> &str {
    if media_type.is_empty() {
        "content of no declared type"
    } else {
        media_type
    }
}

/// The media type and the character set, in lower case.
fn content_type(headers: &HeaderMap) -> (String, Option<String>) {
    let value = header(headers, CONTENT_TYPE).to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_owned();
    let charset = parts
        .filter_map(|parameter| parameter.strip_prefix("charset="))
        .map(|charset| charset.trim_matches('"').to_owned())
        .next();
    (media_type, charset)
}

fn header(headers: &HeaderMap, name: HeaderName) -> String {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
        .unwrap_or_default()
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || TEXT_TYPES.contains(&media_type)
        || media_type
            .strip_prefix("application/")
            .is_some_and(|kind| kind.ends_with("+json") || kind.ends_with("+xml") || kind.ends_with("+yaml"))
}
