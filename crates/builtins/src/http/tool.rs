//! The tool.

use super::address::{Resolver, SystemResolver};
use super::error::FetchError;
use super::fetch::{Way, fetch};
use super::hop::{host, parse};
use crate::causes::causes;
use crate::tool::definition;
use reqwest::Certificate;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tidegate_policy::{HostRules, Label, Resource, ResourceKind, ResourceRef, SinkLevel};
use tidegate_tools::{
    BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput, until_cancelled,
};
use url::Url;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The whole URL, as in https://example.com/page?q=1.
    url: String,
    /// Headers to send with it, by name, to this host alone: a redirect does not get them.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// How long and how much a fetch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// For making one connection. Default: 10 s.
    pub connect: Duration,
    /// For all of it: looking up, redirects, reading. Default: 30 s.
    pub total: Duration,
    /// For a body, as sent and as decompressed, in bytes. Default: 5 MiB.
    pub body: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            body: 5 << 20,
        }
    }
}

/// What `http_get` needs to know.
#[derive(Clone)]
pub struct HttpSettings {
    hosts: Arc<HostRules>,
    resolver: Arc<dyn Resolver>,
    limits: HttpLimits,
    authorities: Vec<Certificate>,
}

impl HttpSettings {
    /// Hosts have the levels of `hosts` (`[policy.hosts]`); those listed there may also be private addresses.
    pub fn new(hosts: Arc<HostRules>) -> Self {
        Self {
            hosts,
            resolver: Arc::new(SystemResolver),
            limits: HttpLimits::default(),
            authorities: Vec::new(),
        }
    }

    /// Looks hosts up with `resolver` instead of the system's.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Trusts servers whose certificates one of these authorities signed, too, such as that of an own network. The
    /// system's authorities stay trusted. `pem` is what a file of certificates holds.
    ///
    /// # Errors
    /// [`FetchError::Authorities`] if there is no certificate in it, or one that cannot be read.
    pub fn authorities(mut self, pem: &[u8]) -> Result<Self, FetchError> {
        let found = Certificate::from_pem_bundle(pem)
            .map_err(|cause| FetchError::Authorities { cause: Some(cause) })?;
        if found.is_empty() {
            return Err(FetchError::Authorities { cause: None });
        }
        self.authorities.extend(found);
        Ok(self)
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("hosts", &self.hosts)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The tool `http_get`, read-only, for role USER.
///
/// The whole URL is what is sent, so the host is a sink as well as a source, both of its level in `[policy.hosts]`
/// (default PUBLIC); what comes back is UNTRUSTED. Nothing is looked up or connected to before the gate has judged
/// that. A host is then looked up once, every address it has is checked, and only those addresses are connected
/// to; a redirect is judged like a call of its own.
pub fn http_get(settings: HttpSettings) -> Arc<dyn Tool> {
    let mut definition =
        definition::<Arguments>("http_get", include_str!("../../templates/http_get.txt"), &[]);
    definition.policy.control_arguments = vec!["url".into()];
    // A fetch sends its URL: the owner's, or one that stands whole in what was read.
    definition.policy.integrity.egress = true;
    definition.policy.integrity.content_arguments = vec!["headers".into()];
    // Above its own, so that it can say itself what took so long.
    definition.timeout = Some(settings.limits.total.saturating_add(Duration::from_secs(5)));
    Arc::new(HttpGet { definition, settings })
}

struct HttpGet {
    definition: ToolDefinition,
    settings: HttpSettings,
}

impl Tool for HttpGet {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedCall>, ToolError>> {
        Box::pin(ready(self.prepared(arguments)))
    }
}

impl HttpGet {
    fn prepared(&self, arguments: Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        // The schema was checked; what is left are rules of the types that no schema can express.
        let Arguments { url, headers } =
            serde_json::from_value(Value::Object(arguments)).map_err(|error| {
                ToolError::new(format!("arguments of {}: {error}", self.definition.spec.name))
            })?;
        let url = parse(&url).map_err(|error| told(&error, Label::BOTTOM))?;
        let headers = headers_of(&headers).map_err(|error| told(&error, Label::BOTTOM))?;
        let label = self.settings.hosts.classify(&url);
        let what = ResourceRef {
            kind: ResourceKind::Url,
            name: host(&url),
        };
        let resources = vec![
            Resource::Source {
                what: what.clone(),
                label: label.source,
            },
            Resource::Sink {
                what,
                level: SinkLevel::Level(label.sink),
            },
        ];
        Ok(Box::new(HttpCall {
            settings: self.settings.clone(),
            url,
            headers,
            resources,
        }))
    }
}

/// Headers that are the connection's own, or that a request is routed by.
const NOT_TO_BE_SET: [&str; 10] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers as they are sent. Their values are never shown: they may be secrets.
fn headers_of(given: &BTreeMap<String, String>) -> Result<HeaderMap, FetchError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = |problem| FetchError::Header {
            name: name.clone(),
            problem,
        };
        let parsed: HeaderName = name
            .parse()
            .map_err(|_| wrong("is no name of a header: write letters, digits and -"))?;
        if NOT_TO_BE_SET.contains(&parsed.as_str()) || parsed.as_str().starts_with("proxy-") {
            return Err(wrong("is not to be set: it belongs to the connection"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            wrong("has a value that no header can have: write one line of visible characters")
        })?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

struct HttpCall {
    settings: HttpSettings,
    url: Url,
    headers: HeaderMap,
    resources: Vec<Resource>,
}

impl PreparedCall for HttpCall {
    fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn resolved(&self) -> Vec<String> {
        vec![self.url.to_string()]
    }

    fn reread(&mut self) -> BoxFuture<'_, Result<Vec<Resource>, ToolError>> {
        // A URL's level is that of its name.
        Box::pin(ready(Ok(self.resources.clone())))
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let HttpSettings {
                hosts,
                resolver,
                limits,
                authorities,
            } = self.settings;
            let host = hosts.classify(&self.url).source;
            let way = Way {
                resolver: &*resolver,
                limits,
                authorities: &authorities,
            };
            let work = fetch(self.url, self.headers, &hosts, way, &context);
            match until_cancelled(&*context.cancel, work).await {
                Some((Ok(text), label)) => Ok(ToolOutput::text(text).with_label(label)),
                Some((Err(error), label)) => Err(told(&error, label)),
                None => Err(told(&FetchError::Cancelled, host)),
            }
        })
    }
}

fn told(error: &FetchError, label: Label) -> ToolError {
    ToolError::new(causes(error)).with_label(label)
}
