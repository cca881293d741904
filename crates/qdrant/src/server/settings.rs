//! What can be set.

use crate::QdrantError;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;
use tidegate_policy::{Classification, default_provider_clearance};
use url::Url;

/// Settings of a [`ServerIndex`](crate::ServerIndex).
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where its gRPC port is, as in `http://127.0.0.1:6334`. Of a cluster, any node or what stands before them.
    pub url: Url,
    /// The key it asks for. It is not sent unencrypted to another machine. Default: none.
    pub api_key: Option<SecretString>,
    /// Put before the names of the collections: two sets of records on one server need two. Letters, digits, `_` and
    /// `-`. Default: empty.
    pub prefix: String,
    /// On how many nodes each point is kept. Counts when the collections are made. Default: 1.
    pub replication: u32,
    /// How many of these must have a write before it is acknowledged. Counts when the collections are made. Default: the
    /// majority of them. Reads ask a majority too, so that what was written is found.
    pub write_consistency: Option<u32>,
    /// Into how many parts a collection is divided, over the nodes. Counts when the collections are made. Default: the
    /// server decides.
    pub shards: Option<u32>,
    /// How long a call may take, and how long connecting may. Default: five seconds.
    pub timeout: Duration,
    /// How often a call is tried where trying again may help. Default: 3.
    pub attempts: u32,
    /// The pause before a call is tried again; each further one is twice as long, and all are up to half as long again by
    /// chance. Default: 50 ms.
    pub pause: Duration,
    /// The highest level of what may be sent to it: vectors, words as numbers, names of users, sessions and sources. Default:
    /// RESTRICTED on this machine, else INTERNAL, as for providers
    /// ([`tidegate_policy::default_provider_clearance`]).
    pub clearance: Classification,
}

impl ServerSettings {
    /// The defaults, for this address.
    pub fn new(url: Url) -> Self {
        Self {
            clearance: default_provider_clearance(&url),
            url,
            api_key: None,
            prefix: String::new(),
            replication: 1,
            write_consistency: None,
            shards: None,
            timeout: Duration::from_secs(5),
            attempts: 3,
            pause: Duration::from_millis(50),
        }
    }

    /// How many nodes must have a write.
    pub(crate) fn acknowledging(&self) -> u32 {
        let majority = (self.replication / 2).saturating_add(1);
        self.write_consistency.unwrap_or(majority)
    }

    /// The address without what may be secret.
    pub(crate) fn shown(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().map(|port| format!(":{port}"));
        format!("{}://{host}{}", self.url.scheme(), port.unwrap_or_default())
    }

    /// Whether it can be used.
    pub(crate) fn check(&self) -> Result<(), QdrantError> {
        let address = |problem| {
            Err(QdrantError::Address {
                url: self.shown(),
                problem,
            })
        };
        if !matches!(self.url.scheme(), "http" | "https") || self.url.host_str().is_none() {
            return address("write it as http://HOST:6334 or https://HOST:6334");
        }
        if self.url.scheme() == "http" && self.url.port().is_none() {
            return address("name the port of gRPC, as in http://HOST:6334");
        }
        if !self.url.username().is_empty() || self.url.password().is_some() || self.url.query().is_some() {
            return address("a key does not belong into it; set `api_key`");
        }
        if !matches!(self.url.path(), "" | "/") {
            return address("gRPC has no paths; leave it out, or set `prefix`");
        }
        let is_clear = self.url.scheme() == "http"
            && default_provider_clearance(&self.url) != Classification::Restricted;
        if is_clear && self.api_key.is_some() {
            return address("the API key would be readable on the way; write https");
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), QdrantError> {
        let named = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        let acknowledging = self.acknowledging();
        let rules = [
            (
                self.prefix.len() <= 64 && self.prefix.chars().all(named),
                "prefix",
                self.prefix.clone(),
                "write up to 64 letters, digits, `_` and `-`",
            ),
            (
                (1..=100).contains(&self.replication),
                "replication",
                self.replication.to_string(),
                "write 1 to 100",
            ),
            (
                (1..=self.replication.max(1)).contains(&acknowledging),
                "write_consistency",
                acknowledging.to_string(),
                "write 1 up to `replication`",
            ),
            (
                self.shards.is_none_or(|shards| (1..=10_000).contains(&shards)),
                "shards",
                self.shards.unwrap_or_default().to_string(),
                "write 1 to 10000",
            ),
            (
                (1..=20).contains(&self.attempts),
                "attempts",
                self.attempts.to_string(),
                "write 1 to 20",
            ),
            (
                !self.timeout.is_zero() && self.timeout <= Duration::from_secs(600),
                "timeout",
                format!("{:?}", self.timeout),
                "write up to ten minutes",
            ),
            (
                self.api_key
                    .as_ref()
                    .is_none_or(|key| is_header_text(key.expose_secret())),
                "api_key",
                "(hidden)".to_owned(),
                "it has characters that cannot be sent, or is empty",
            ),
        ];
        for (holds, name, given, valid) in rules {
            if !holds {
                return Err(QdrantError::Setting { name, given, valid });
            }
        }
        Ok(())
    }
}

fn is_header_text(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}
