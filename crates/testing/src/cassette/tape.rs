//! The file: one JSON object a line.
//!
//! The first line is `{"cassette":1}`. Each other line is one exchange:
//!
//! ```json
//! {"request":{"method":"POST","path":"/chat/completions","body":{"model":"m"}},
//!  "response":{"status":200,"headers":{"content-type":"text/event-stream"},"body":"data: …"}}
//! ```
//!
//! (on one line). A request's body is JSON, or a string if it is none. A response's body is text, or an array of
//! bytes if it is none. No header of a request is kept, and of a response only [`KEPT`].

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The headers of a response that are kept.
pub(super) const KEPT: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

/// What stands for a secret.
const SCRUBBED: &str = "[scrubbed]";

/// What can be wrong with a cassette.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read or written.
    #[error("the cassette {file} cannot be used; record it first, or check the path")]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A line is no exchange.
    #[error("{file}:{line} is no exchange of a cassette; record it anew")]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// The file is no cassette of this version.
    #[error(
        "{file} is no cassette of version 1: its first line has to be {{\"cassette\":1}}; record it anew"
    )]
    Version {
        /// The file.
        file: PathBuf,
    },
    /// No port can be opened.
    #[error("no port can be opened for the cassette")]
    Port(#[source] io::Error),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client for recording cannot be set up")]
    Client(#[source] reqwest::Error),
}

#[derive(Serialize, Deserialize)]
struct Header {
    cassette: u32,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) response: Response,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: String,
    /// What follows the base address, with the query.
    pub(super) path: String,
    pub(super) body: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: ResponseBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ResponseBody {
    Text(String),
    Bytes(Vec<u8>),
}

impl Request {
    pub(super) fn new(method: &str, path: &str, body: &[u8], secrets: &Secrets) -> Self {
        let body = secrets.scrub(&String::from_utf8_lossy(body));
        Self {
            method: method.to_owned(),
            path: secrets.scrub(path),
            body: serde_json::from_str(&body).unwrap_or(Value::String(body)),
        }
    }
}

impl ResponseBody {
    pub(super) fn new(body: &[u8], secrets: &Secrets) -> Self {
        match std::str::from_utf8(body) {
            Ok(text) => Self::Text(secrets.scrub(text)),
            Err(_) => Self::Bytes(body.to_vec()),
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

/// Texts that must not get into a cassette.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// These, also as they are written in JSON and in addresses.
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
            let in_json = Value::from(secret.as_str()).to_string();
            forms.push(in_json.trim_matches('"').to_owned());
            forms.push(percent_encoded(&secret));
            forms.push(secret);
        }
        // The longest first: a form may hold another one.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self(forms)
    }

    fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), SCRUBBED)
        })
    }
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Begins a new file.
pub(super) fn create(file: &Path) -> Result<File, CassetteError> {
    let failed = |cause| CassetteError::File {
        file: file.to_owned(),
        cause,
    };
    let mut created = File::create(file).map_err(failed)?;
    created.write_all(b"{\"cassette\":1}\n").map_err(failed)?;
    Ok(created)
}

/// Adds an exchange.
pub(super) fn append(file: &mut File, exchange: &Exchange) -> io::Result<()> {
    let mut line = serde_json::to_vec(exchange)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Reads a whole file.
pub(super) fn read(file: &Path) -> Result<Vec<Exchange>, CassetteError> {
    let text = std::fs::read_to_string(file).map_err(|cause| CassetteError::File {
        file: file.to_owned(),
        cause,
    })?;
    let mut lines = text.lines().zip(1..);
    let header = lines
        .next()
        .and_then(|(line, _)| serde_json::from_str::<Header>(line).ok());
    if header.is_none_or(|header| header.cassette != 1) {
        return Err(CassetteError::Version {
            file: file.to_owned(),
        });
    }
    lines
        .filter(|(text, _)| !text.trim().is_empty())
        .map(|(text, line)| {
            serde_json::from_str(text).map_err(|cause| CassetteError::Line {
                file: file.to_owned(),
                line,
                cause,
            })
        })
        .collect()
}
