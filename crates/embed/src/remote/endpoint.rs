//! One request to `/embeddings`, and its answer.

use super::RemoteSettings;
use crate::EmbedError;
use crate::http::{Redirects, client};
use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tidegate_http::{below, is_transient, read_up_to, retry_after, root_cause, shown};
use tidegate_tools::Cancel;
use url::Url;

/// A server that asks for more than this is asked no more.
const MOST_DELAY: Duration = Duration::from_secs(60);

/// No answer for one batch is longer.
const MOST_REPLY_BYTES: usize = 64 << 20;

/// Bytes of an error answer that are read.
const MOST_ERROR_BYTES: usize = 64 << 10;

/// One server.
pub(super) struct Endpoint {
    url: Url,
    client: Client,
    bearer: Option<HeaderValue>,
    model: String,
    attempts: usize,
    first_delay: Duration,
    timeout: Duration,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// What a server says when it refuses.
#[derive(Deserialize)]
struct Refusal {
    error: RefusalError,
}

#[derive(Deserialize)]
struct RefusalError {
    code: Option<serde_json::Value>,
    r#type: Option<String>,
}

/// A request that did not succeed.
struct Failure {
    error: EmbedError,
    wait: Option<Duration>,
}

impl Endpoint {
    pub(super) fn new(settings: &RemoteSettings) -> Result<Self, EmbedError> {
        let url = below(&settings.url, "embeddings");
        let bad = |problem: String| EmbedError::BadEndpoint {
            url: shown(&url),
            problem,
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("its address has to begin with http:// or https://".to_owned()));
        }
        if settings.model.trim().is_empty() {
            return Err(bad("no model is named".to_owned()));
        }
        let bearer = match &settings.api_key {
            None => None,
            Some(key) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()));
                let mut value = value.map_err(|_| {
                    bad(
                        "its key has characters that no HTTP header may have, a line break perhaps"
                            .to_owned(),
                    )
                })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let client = client(&url, Redirects::Refused, settings.timeout).map_err(|cause| {
            let why = root_cause(&cause);
            bad(format!(
                "the HTTP client cannot be set up ({why}); are the system's certificates installed?"
            ))
        })?;
        Ok(Self {
            url,
            client,
            bearer,
            model: settings.model.clone(),
            attempts: settings.attempts.max(1),
            first_delay: settings.first_delay,
            timeout: settings.timeout,
        })
    }

    /// The vectors of `texts`, in order. Asks again where that may help.
    ///
    /// # Errors
    /// [`EmbedError::Remote`]; [`EmbedError::Cancelled`] if it was told to stop.
    pub(super) async fn embed(
        &self,
        texts: &[String],
        cancel: &Arc<dyn Cancel>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut delays = ExponentialBuilder::default()
            .with_min_delay(self.first_delay)
            .with_max_delay(MOST_DELAY)
            .with_max_times(self.attempts - 1)
            .with_jitter()
            .build();
        loop {
            let failure = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(EmbedError::Cancelled),
                outcome = self.ask(texts) => match outcome {
                    Ok(vectors) => return Ok(vectors),
                    Err(failure) => failure,
                },
            };
            let delay = delays.next().filter(|_| failure.error.is_transient());
            let delay = match (delay, failure.wait) {
                (Some(_), Some(wait)) if wait > MOST_DELAY => None,
                (Some(delay), wait) => Some(wait.unwrap_or(delay)),
                (None, _) => None,
            };
            let Some(delay) = delay else {
                return Err(failure.error);
            };
            tracing::debug!(error = %failure.error, ?delay, "asking for vectors again");
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(EmbedError::Cancelled),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let request = Request {
            model: &self.model,
            input: texts,
            encoding_format: "float",
        };
        let body = serde_json::to_vec(&request).map_err(|cause| {
            self.failed(
                "the request cannot be written".to_owned(),
                false,
                Some(Box::new(cause)),
            )
        })?;
        let mut sent = self
            .client
            .post(self.url.clone())
            .timeout(self.timeout)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(bearer) = &self.bearer {
            sent = sent.header(AUTHORIZATION, bearer.clone());
        }
        let response = sent.send().await.map_err(|cause| self.broken(cause))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let body = read_up_to(response, MOST_REPLY_BYTES + 1)
            .await
            .map_err(|cause| self.broken(cause))?;
        if body.len() > MOST_REPLY_BYTES {
            let problem =
                format!("its answer is longer than {MOST_REPLY_BYTES} bytes; embed fewer texts at once");
            return Err(self.failed(problem, false, None));
        }
        let reply: Reply = serde_json::from_slice(&body).map_err(|cause| {
            let problem = "its answer is not what `/v1/embeddings` answers; does the address end in /v1?";
            self.failed(problem.to_owned(), false, Some(Box::new(cause)))
        })?;
        self.in_order(reply, texts.len())
    }

    /// Each text's vector at its place: servers may answer in any order.
    fn in_order(&self, reply: Reply, texts: usize) -> Result<Vec<Vec<f32>>, Failure> {
        let count = reply.data.len();
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
        for item in reply.data {
            match vectors.get_mut(item.index) {
                Some(slot) if slot.is_none() => *slot = Some(item.embedding),
                _ => {
                    let problem = format!(
                        "it gave two vectors for text {} or one for a text that was not sent",
                        item.index
                    );
                    return Err(self.failed(problem, false, None));
                }
            }
        }
        let vectors: Vec<Vec<f32>> = vectors.into_iter().flatten().collect();
        if vectors.len() != texts {
            return Err(self.failed(format!("it gave {count} vectors for {texts} texts"), false, None));
        }
        Ok(vectors)
    }

    async fn refused(&self, response: Response) -> Failure {
        let status = response.status();
        let wait = retry_after(response.headers(), SystemTime::now());
        if status.is_redirection() {
            let problem = format!(
                "it redirects (HTTP {}), and redirects are not followed; configure the address that may have the texts",
                status.as_u16()
            );
            return self.failed(problem, false, None);
        }
        // The status says enough where the text cannot be read.
        let body = read_up_to(response, MOST_ERROR_BYTES).await.unwrap_or_default();
        let mut problem = format!("HTTP {}", status.as_u16());
        // Only names of errors: a server's sentence may repeat the text or the key.
        if let Some(name) = name_of_error(&body) {
            problem.push_str(&format!(", {name}"));
        }
        problem.push_str("; ");
        problem.push_str(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.bearer.is_none() => "it wants a key",
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "it does not accept the key",
            StatusCode::NOT_FOUND => "check the model's name and the address, which often ends in /v1",
            StatusCode::PAYLOAD_TOO_LARGE => "it takes fewer texts at once",
            StatusCode::TOO_MANY_REQUESTS => "there were too many requests; wait",
            _ if is_transient(status) => "try again later",
            _ => "see whether the model makes embeddings, and how long texts may be",
        });
        Failure {
            wait,
            ..self.failed(problem, is_transient(status), None)
        }
    }

    fn broken(&self, cause: reqwest::Error) -> Failure {
        let problem = if cause.is_timeout() {
            format!("there was no complete answer within {:?}", self.timeout)
        } else if cause.is_connect() {
            format!(
                "it cannot be reached ({}); is the server running?",
                root_cause(&cause)
            )
        } else {
            format!("the connection broke ({})", root_cause(&cause))
        };
        self.failed(problem, true, Some(Box::new(cause.without_url())))
    }

    fn failed(&self, problem: String, transient: bool, cause: Option<crate::Cause>) -> Failure {
        Failure {
            error: EmbedError::Remote {
                url: shown(&self.url),
                problem,
                transient,
                cause,
            },
            wait: None,
        }
    }
}

/// What kind of error a server names, if that is a name and no text.
fn name_of_error(body: &[u8]) -> Option<String> {
    const LONGEST: usize = 60;
    let Refusal { error } = serde_json::from_slice(body).ok()?;
    let code = error
        .code
        .as_ref()
        .and_then(serde_json::Value::as_str)
        .map(str::to_owned);
    let is_name = |name: &String| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
        !name.is_empty() && name.len() <= LONGEST && name.chars().all(is_plain)
    };
    [code, error.r#type].into_iter().flatten().find(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_errors_are_repeated() {
        for (body, expected) in [
            (
                r#"{"error": {"code": "context_length_exceeded", "message": "text"}}"#,
                Some("context_length_exceeded"),
            ),
            (
                r#"{"error": {"code": null, "type": "invalid_request_error"}}"#,
                Some("invalid_request_error"),
            ),
            (
                r#"{"error": {"code": 400, "type": "server_error"}}"#,
                Some("server_error"),
            ),
            (r#"{"error": {"code": "the ferry leaves at 7"}}"#, None),
            (r#"{"error": "sk-secret"}"#, None),
            ("no JSON", None),
        ] {
            assert_eq!(name_of_error(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
