//! What is configured about a remote endpoint.

use crate::Prefixes;
use secrecy::SecretString;
use std::time::Duration;
use tidegate_http::is_loopback;
use tidegate_policy::Classification;
use url::Url;

/// A remote endpoint for embeddings.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// The address before `/embeddings`: often it ends in `/v1`.
    pub url: Url,
    /// The model's name there.
    pub model: String,
    /// The key, sent as a bearer token. Default: none.
    pub api_key: Option<SecretString>,
    /// The length of its vectors. Default: asked once, with a word that says nothing about anybody.
    pub dimension: Option<usize>,
    /// Up to which level it may see texts. Default: RESTRICTED on the loopback interface, else INTERNAL.
    pub clearance: Option<Classification>,
    /// What it wants before texts. Default: nothing.
    pub prefixes: Prefixes,
    /// The most tokens of a text; what is behind them is cut off, since such services refuse long texts. They are
    /// estimated, on the safe side. Default: 512.
    pub most_tokens: usize,
    /// Texts of a request. Default: 64.
    pub batch: usize,
    /// How often a request is sent before it counts as failed. Default: 4.
    pub attempts: usize,
    /// The time before it is sent again, which doubles; `Retry-After` counts more. Default: 500 ms.
    pub first_delay: Duration,
    /// How long an answer may take. Default: 60 s.
    pub timeout: Duration,
    /// The share of the dense vectors in a fused score, from 0 to 1. Default: 0.5.
    pub dense_share: f32,
}

impl RemoteSettings {
    /// The model `model` at `url`, with the defaults.
    pub fn new(url: Url, model: impl Into<String>) -> Self {
        Self {
            url,
            model: model.into(),
            api_key: None,
            dimension: None,
            clearance: None,
            prefixes: Prefixes::default(),
            most_tokens: 512,
            batch: 64,
            attempts: 4,
            first_delay: Duration::from_millis(500),
            timeout: Duration::from_secs(60),
            dense_share: 0.5,
        }
    }

    /// Up to which level it may see texts: what is configured, or what its address means.
    pub fn clearance(&self) -> Classification {
        self.clearance.unwrap_or(if is_loopback(&self.url) {
            Classification::Restricted
        } else {
            Classification::Internal
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_machine_may_be_internal_unless_more_is_configured() {
        use Classification::{Confidential, Internal, Public, Restricted};
        for (url, configured, expected) in [
            ("https://embeddings.example/v1", None, Internal),
            ("http://127.0.0.1:8080/v1", None, Restricted),
            ("http://[::1]:8080/v1", None, Restricted),
            ("http://localhost/v1", None, Restricted),
            ("http://localhost.example/v1", None, Internal),
            ("http://192.168.0.7/v1", None, Internal),
            ("https://embeddings.example/v1", Some(Confidential), Confidential),
            ("http://127.0.0.1:8080/v1", Some(Public), Public),
        ] {
            let settings = RemoteSettings {
                clearance: configured,
                ..RemoteSettings::new(Url::parse(url).unwrap(), "m")
            };
            assert_eq!(settings.clearance(), expected, "{url} {configured:?}");
        }
    }
}
