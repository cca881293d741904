//! The provider.

use super::encode::encode_request;
use super::endpoint::Endpoint;
use super::exchange::Exchange;
use crate::{ModelRequest, Provider, ProviderError, ReplyStream};
use bytes::Bytes;
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::ProviderId;
use url::Url;

/// Where a provider is and how it is called.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// Its name in the configuration.
    pub id: ProviderId,
    /// The address to which `/chat/completions` is added; it often ends in `/v1`.
    pub base_url: Url,
    /// The key, sent as a bearer token; none for servers that want none.
    pub api_key: Option<SecretString>,
    /// How long one model call may take, from connecting to the last byte.
    pub timeout: Duration,
}

impl OpenAiConfig {
    /// The default of [`timeout`](Self::timeout): 240 seconds.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(240);

    /// A server without a key and with the default timeout.
    pub fn new(id: ProviderId, base_url: Url) -> Self {
        Self {
            id,
            base_url,
            api_key: None,
            timeout: Self::DEFAULT_TIMEOUT,
        }
    }
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("id", &self.id)
            .field("base_url", &tidegate_http::shown(&self.base_url))
            .field("api_key", &self.api_key)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// A server that speaks Chat Completions (`kind = "openai"`): OpenAI, llama.cpp, Ollama, vLLM, OpenRouter.
///
/// Replies are streamed; a server that answers with one complete object all the same is understood. The
/// HTTP client is built at the first call and shared by all calls; for plain HTTP on this machine it loads
/// no certificates and uses no proxy. Redirects are not followed: they would carry the context to an address
/// nobody cleared.
///
/// **A reply is complete or an error.** If the stream ends before its finish reason (and without
/// `[DONE]`), the call fails with [`ErrorClass::Transport`](crate::ErrorClass::Transport), whatever was
/// streamed until then.
///
/// **Limits:** a reply of 32 MiB, 10,000 calls, an error text of 64 KiB; more is
/// [`ErrorClass::MalformedReply`](crate::ErrorClass::MalformedReply), or cut, for the error text.
///
/// Error messages show what the server said, on one line, without control characters, and without
/// the key and whatever the server quotes of the request.
pub struct OpenAi {
    endpoint: Arc<Endpoint>,
}

impl OpenAi {
    /// The server of this configuration. Nothing is connected or loaded yet.
    pub fn new(config: OpenAiConfig) -> Self {
        Self {
            endpoint: Arc::new(Endpoint::new(config)),
        }
    }

    /// Asks the server which models it has: `GET` of the address with `/models` added, with the key and nothing
    /// else. In the server's order; none if it answers but has no such list.
    ///
    /// # Errors
    /// If it cannot be reached within the configured time, fails, or does not accept the key.
    pub async fn models(&self) -> Result<Option<Vec<String>>, ProviderError> {
        self.endpoint.models().await
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("config", self.endpoint.config())
            .finish_non_exhaustive()
    }
}

impl Provider for OpenAi {
    fn id(&self) -> &ProviderId {
        self.endpoint.id()
    }

    /// The address and a hash of the key.
    fn account(&self) -> String {
        self.endpoint.account()
    }

    fn body(&self, request: &ModelRequest) -> Option<Bytes> {
        Some(encode_request(self.endpoint.id(), request))
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        Box::pin(Exchange::new(Arc::clone(&self.endpoint), request))
    }
}
