//! Why a model call failed.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use tidegate_message::ProviderId;

/// The classes of failure: each is handled in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Too many requests (429).
    RateLimited,
    /// The provider has no room (503, 529, or by name).
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// No answer in time (also 408 and 504).
    Timeout,
    /// The connection could not be made or broke, also in the middle of a reply.
    Transport,
    /// The request is longer than the model's window.
    ContextOverflow,
    /// The request is larger than the provider takes (413).
    PayloadTooLarge,
    /// The key is missing, wrong or not allowed to (401, 403).
    Auth,
    /// No credit (402, or by name).
    Billing,
    /// The provider will not answer this.
    ContentPolicy,
    /// There is no such model (404).
    ModelNotFound,
    /// The provider refuses the request for another reason (400), or the configuration makes no request possible.
    BadRequest,
    /// What came back is no reply: wrong content type, broken JSON, calls without a name.
    MalformedReply,
}

impl ErrorClass {
    /// All classes.
    pub const ALL: [Self; 13] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::Server,
        Self::Timeout,
        Self::Transport,
        Self::ContextOverflow,
        Self::PayloadTooLarge,
        Self::Auth,
        Self::Billing,
        Self::ContentPolicy,
        Self::ModelNotFound,
        Self::BadRequest,
        Self::MalformedReply,
    ];

    /// The name, as in events and scenario files: `rate_limited` and so on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Transport => "transport",
            Self::ContextOverflow => "context_overflow",
            Self::PayloadTooLarge => "payload_too_large",
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::ContentPolicy => "content_policy",
            Self::ModelNotFound => "model_not_found",
            Self::BadRequest => "bad_request",
            Self::MalformedReply => "malformed_reply",
        }
    }

    /// Whether the same request may succeed when it is sent again unchanged.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Server
            | Self::Timeout
            | Self::Transport
            | Self::MalformedReply => true,
            Self::ContextOverflow
            | Self::PayloadTooLarge
            | Self::Auth
            | Self::Billing
            | Self::ContentPolicy
            | Self::ModelNotFound
            | Self::BadRequest => false,
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A failed model call.
#[derive(Debug, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider.
    pub provider: ProviderId,
    /// The class.
    pub class: ErrorClass,
    /// What happened and what to do, in a sentence or two; no secrets, no request content.
    pub message: String,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// The cause, if there is a deeper one.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ProviderError {
    /// A failure of `class` without a deeper cause.
    pub fn new(provider: ProviderId, class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            provider,
            class,
            message: message.into(),
            retry_after: None,
            cause: None,
        }
    }

    /// The same failure, with what caused it.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..self
        }
    }
}
