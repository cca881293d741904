//! Why a model call failed.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tidegate_message::ProviderId;

/// The classes of failure: each is handled in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Too many requests (429).
    RateLimited,
    /// The provider has no room (503 or 529 by name).
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// No answer in time.
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
    /// The provider refuses the request for another reason (400).
    BadRequest,
    /// What came back is no reply: wrong content type, broken JSON, calls without a name.
    MalformedReply,
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
