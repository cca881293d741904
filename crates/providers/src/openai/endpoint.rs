//! The server's side of a call: address, key, client, and how its failures are told.

mod models;

use super::OpenAiConfig;
use super::classify::Refusal;
use super::echo::without_echo;
use crate::{ErrorClass, ModelRequest, ProviderError};
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::sync::OnceLock;
use std::time::Duration;
use tidegate_http::{builder_for, root_cause, shown};
use tidegate_message::ProviderId;
use url::Url;

/// One server.
pub(super) struct Endpoint {
    config: OpenAiConfig,
    url: Url,
    client: OnceLock<Client>,
}

impl Endpoint {
    pub(super) fn new(config: OpenAiConfig) -> Self {
        let mut url = config.base_url.clone();
        let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url.set_fragment(None);
        Self {
            config,
            url,
            client: OnceLock::new(),
        }
    }

    pub(super) fn config(&self) -> &OpenAiConfig {
        &self.config
    }

    pub(super) fn id(&self) -> &ProviderId {
        &self.config.id
    }

    /// The address and a hash of the key: what the server counts limits against.
    pub(super) fn account(&self) -> String {
        let key = self.config.api_key.as_ref().map(ExposeSecret::expose_secret);
        let mut account = format!("{} without a key", shown(&self.url));
        if let Some(key) = key {
            let hash = Sha256::digest(key.as_bytes());
            account = shown(&self.url);
            account.extend(hash.iter().map(|byte| format!(" {byte:02x}")));
        }
        account
    }

    /// Sends `body`; whatever the server answers is a success here.
    pub(super) async fn send(&self, body: Bytes) -> Result<Response, ProviderError> {
        if !matches!(self.url.scheme(), "http" | "https") {
            let message = format!(
                "base_url of [providers.{}] has to begin with http:// or https://, not {}:",
                self.id(),
                self.url.scheme()
            );
            return Err(self.error(ErrorClass::BadRequest, message));
        }
        let mut request = self
            .client()?
            .post(self.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(
                ACCEPT,
                HeaderValue::from_static("text/event-stream, application/json"),
            )
            .body(body);
        if let Some(key) = &self.config.api_key {
            request = request.header(AUTHORIZATION, self.bearer(key)?);
        }
        request.send().await.map_err(|error| self.not_sent(error))
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = builder_for(&self.url).timeout(self.config.timeout).build();
        let client = built.map_err(|error| {
            let message = format!(
                "the HTTP client for {} cannot be set up ({}); are the system's certificates installed?",
                shown(&self.url),
                root_cause(&error)
            );
            self.error(ErrorClass::BadRequest, message).caused_by(error)
        })?;
        // If another call was first, its client serves all.
        Ok(self.client.get_or_init(|| client))
    }

    fn bearer(&self, key: &SecretString) -> Result<HeaderValue, ProviderError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| {
            let message = format!(
                "the key of [providers.{}] has characters that no HTTP header may have, a line break perhaps; \
                 check api_key_env or api_key_file",
                self.id()
            );
            self.error(ErrorClass::Auth, message)
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// An error of this server.
    pub(super) fn error(&self, class: ErrorClass, message: impl Into<String>) -> ProviderError {
        ProviderError::new(self.id().clone(), class, message)
    }

    fn not_sent(&self, error: reqwest::Error) -> ProviderError {
        if error.is_connect() {
            let class = if error.is_timeout() {
                ErrorClass::Timeout
            } else {
                ErrorClass::Transport
            };
            let message = format!(
                "{} cannot be reached ({}); is the server running? Check base_url of [providers.{}]",
                shown(&self.url),
                root_cause(&error),
                self.id()
            );
            return self.error(class, message).caused_by(error.without_url());
        }
        self.broken(error, "before the reply began")
    }

    /// The connection broke, or the time ran out.
    pub(super) fn broken(&self, error: reqwest::Error, when: &str) -> ProviderError {
        let (class, message) = if error.is_timeout() {
            let message = format!(
                "{} gave no complete answer within {} (timeout_s of [providers.{}])",
                shown(&self.url),
                shown_duration(self.config.timeout),
                self.id()
            );
            (ErrorClass::Timeout, message)
        } else {
            let message = format!(
                "the connection to {} broke {when} ({})",
                shown(&self.url),
                root_cause(&error)
            );
            (ErrorClass::Transport, message)
        };
        self.error(class, message).caused_by(error.without_url())
    }

    /// The stream came to its end, and the reply had not.
    pub(super) fn cut(&self) -> ProviderError {
        let message = format!(
            "the stream of {} ended in the middle of the reply",
            shown(&self.url)
        );
        self.error(ErrorClass::Transport, message)
    }

    /// What came is no reply; `reason` is a clause.
    pub(super) fn malformed(&self, reason: &str) -> ProviderError {
        self.error(
            ErrorClass::MalformedReply,
            format!("the answer of {} is no reply: {reason}", shown(&self.url)),
        )
    }

    /// The answer is of a type that no reply has.
    pub(super) fn wrong_type(
        &self,
        media_type: &str,
        excerpt: &str,
        request: &ModelRequest,
    ) -> ProviderError {
        self.malformed(&format!(
            "it is {}, not a stream of events{}; does base_url of [providers.{}] name an OpenAI-compatible \
             address? Often it ends in /v1",
            self.quoted(media_type, request),
            match self.quoted(excerpt, request).as_str() {
                "\"\"" => String::new(),
                excerpt => format!(", and begins with {excerpt}"),
            },
            self.id()
        ))
    }

    /// The server sends its callers elsewhere.
    pub(super) fn redirected(&self, status: u16, location: &str, request: &ModelRequest) -> ProviderError {
        let message = format!(
            "{} redirects (HTTP {status}) to {}; redirects are not followed. If that address may have the \
             session's data, set it as base_url of [providers.{}]",
            shown(&self.url),
            self.quoted(location, request),
            self.id()
        );
        self.error(ErrorClass::BadRequest, message)
    }

    /// The server refused the request, with an HTTP status or in the middle of the stream.
    pub(super) fn refused(
        &self,
        status: Option<u16>,
        refusal: &Refusal,
        request: &ModelRequest,
    ) -> ProviderError {
        let id = self.id();
        let again = || "try again later, or use another model".to_owned();
        let (mut message, advice): (String, String) = match refusal.class {
            ErrorClass::RateLimited => (
                "there were too many requests".into(),
                format!("wait, or lower max_concurrent of [providers.{id}]"),
            ),
            ErrorClass::Overloaded => ("the provider has no room for the request".into(), again()),
            ErrorClass::Server => ("the provider failed".into(), again()),
            ErrorClass::Timeout => ("the provider had no answer in time".into(), again()),
            ErrorClass::Transport => ("the provider lost the connection".into(), again()),
            ErrorClass::MalformedReply => ("the provider got no usable reply".into(), again()),
            ErrorClass::ContextOverflow => (
                format!(
                    "the request is longer than the window of model {}",
                    self.quoted(&request.model, request)
                ),
                "shorten the conversation or choose a model with a larger window".into(),
            ),
            ErrorClass::PayloadTooLarge => (
                "the request is larger than the provider takes".into(),
                "shorten the conversation or its attachments".into(),
            ),
            ErrorClass::Auth if self.config.api_key.is_none() => (
                "the provider wants a key, and none was sent".into(),
                format!("set api_key_env or api_key_file of [providers.{id}]"),
            ),
            ErrorClass::Auth => (
                "the provider does not accept the key".into(),
                format!(
                    "check api_key_env or api_key_file of [providers.{id}] and what the key is allowed to do"
                ),
            ),
            ErrorClass::Billing => (
                "the account has no credit".into(),
                "add credit at the provider".into(),
            ),
            ErrorClass::ContentPolicy => (
                "the provider will not answer this under its content policy".into(),
                String::new(),
            ),
            ErrorClass::ModelNotFound => (
                format!(
                    "there is no model {} at {}",
                    self.quoted(&request.model, request),
                    shown(&self.url)
                ),
                format!("check the model's name and base_url of [providers.{id}], which often ends in /v1"),
            ),
            ErrorClass::BadRequest => (
                "the provider refuses the request".into(),
                "see whether the model takes tools and whatever is attached".into(),
            ),
        };
        if let Some(status) = status {
            message.push_str(&format!(" (HTTP {status})"));
        }
        let said = self.quoted(&refusal.said, request);
        if said != "\"\"" {
            message.push_str("; it says ");
            message.push_str(&said);
        }
        message.push_str("; ");
        message.push_str(&advice);
        self.error(refusal.class, message)
    }

    /// Text of the server, in quotation marks and fit to be shown.
    fn quoted(&self, text: &str, request: &ModelRequest) -> String {
        let key = self.config.api_key.as_ref().map(ExposeSecret::expose_secret);
        format!("\"{}\"", without_echo(text, request, key))
    }
}

fn shown_duration(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
