//! What a URL is as a source and as a sink.

use crate::{AddressKind, Classification, Label};
use std::net::{IpAddr, Ipv6Addr};
use url::{Host, Url};

/// What a URL is as a source and as a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlLabel {
    /// As a source.
    pub source: Label,
    /// As a sink: the whole URL is the payload, so a GET is a sink too.
    pub sink: Classification,
    /// The pattern that matched, as written; none for the default.
    pub pattern: Option<String>,
}

/// Classifies URLs by `[policy.hosts]`: the first matching pattern gives the level as a source, always
/// UNTRUSTED, and as a sink. Without a match both are PUBLIC.
///
/// | pattern | what it matches |
/// | --- | --- |
/// | `example.com` | that host alone |
/// | `*.example.com` | hosts below it at any depth; not `example.com` itself |
/// | `10.0.0.5`, `::1`, `[::1]` | that address |
/// | any of these and `:8443` | the same at that port alone, which may be the scheme's own (443 of `https`) |
///
/// Both sides are compared in one form: lower case, punycode, no final dot, addresses by value (so that
/// `0x7f.1` is `127.0.0.1`, and so is `[::ffff:127.0.0.1]`). A name is never compared with the addresses
/// it resolves to.
///
/// A URL without a host, or of the scheme `file`, cannot be classified: RESTRICTED and UNTRUSTED as a
/// source, PUBLIC as a sink.
///
/// ```
/// use tidegate_policy::{Classification::*, HostRules, Label};
///
/// let rules = HostRules::new([("*.example.com", Internal)])?;
/// let label = rules.classify(&"https://Wiki.Example.COM./page".parse()?);
///
/// assert_eq!((label.source, label.sink), (Label::untrusted(Internal), Internal));
/// assert_eq!(rules.classify(&"https://example.com/".parse()?).sink, Public);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HostRules {
    patterns: Vec<HostPattern>,
}

#[derive(Clone, Debug)]
struct HostPattern {
    text: String,
    level: Classification,
    host: HostMatch,
    port: Option<u16>,
}

#[derive(Clone, Debug)]
enum HostMatch {
    Exactly(HostName),
    /// With its leading dot.
    Below(String),
}

/// A host in the one form both sides are compared in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Domain(String),
    Address(IpAddr),
}

/// A pattern of `[policy.hosts]` that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "[policy.hosts] {pattern:?} {problem}; write a host such as \"example.com\", \"*.example.com\" for all \
     hosts below it, or an address such as \"10.0.0.5\" or \"[::1]\", each with \":8443\" for one port alone"
)]
pub struct HostRulesError {
    /// The pattern, as written.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: &'static str,
    /// What the parser of hosts said, if it was asked.
    #[source]
    pub cause: Option<url::ParseError>,
}

impl HostRules {
    /// The rules of these patterns, in order; the first that matches wins.
    ///
    /// # Errors
    /// If a pattern is none of the forms above.
    pub fn new<P: Into<String>>(
        patterns: impl IntoIterator<Item = (P, Classification)>,
    ) -> Result<Self, HostRulesError> {
        let patterns = patterns
            .into_iter()
            .map(|(text, level)| HostPattern::parse(text.into(), level))
            .collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// Classifies a URL by its host and port.
    pub fn classify(&self, url: &Url) -> UrlLabel {
        let Some(host) = host_of(url) else {
            return UrlLabel {
                source: Label::UNREADABLE,
                sink: Classification::Public,
                pattern: None,
            };
        };
        let port = url.port_or_known_default();
        let matching = self.patterns.iter().find(|pattern| pattern.matches(&host, port));
        let level = matching.map_or(Classification::Public, |pattern| pattern.level);
        UrlLabel {
            source: Label::untrusted(level),
            sink: level,
            pattern: matching.map(|pattern| pattern.text.clone()),
        }
    }
}

/// The clearance of a model provider at this base URL that configures none: RESTRICTED if the URL names
/// this machine, by a loopback address or as `localhost`, else INTERNAL.
///
/// Only names that cannot lead elsewhere count: not `0.0.0.0`, not other names below `localhost`, and no
/// IPv6 form that a translator or tunnel would carry away, such as 6to4 of `127.0.0.1`.
///
/// ```
/// use tidegate_policy::{Classification::*, default_provider_clearance};
///
/// assert_eq!(default_provider_clearance(&"http://127.0.0.1:8080/v1".parse()?), Restricted);
/// assert_eq!(default_provider_clearance(&"https://api.example.com/v1".parse()?), Internal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn default_provider_clearance(base_url: &Url) -> Classification {
    let local = match host_of(base_url) {
        Some(HostName::Domain(name)) => name == "localhost",
        Some(HostName::Address(IpAddr::V4(address))) => {
            AddressKind::of(address.into()) == AddressKind::Loopback
        }
        Some(HostName::Address(IpAddr::V6(address))) => address == Ipv6Addr::LOCALHOST,
        None => false,
    };
    if local {
        Classification::Restricted
    } else {
        Classification::Internal
    }
}

impl HostPattern {
    fn parse(text: String, level: Classification) -> Result<Self, HostRulesError> {
        match parse_pattern(&text) {
            Ok((host, port)) => Ok(Self {
                text,
                level,
                host,
                port,
            }),
            Err((problem, cause)) => Err(HostRulesError {
                pattern: text,
                problem,
                cause,
            }),
        }
    }

    fn matches(&self, host: &HostName, port: Option<u16>) -> bool {
        let host_matches = match (&self.host, host) {
            (HostMatch::Exactly(wanted), _) => wanted == host,
            (HostMatch::Below(suffix), HostName::Domain(name)) => name
                .strip_suffix(suffix.as_str())
                .is_some_and(|below| !below.is_empty()),
            (HostMatch::Below(_), HostName::Address(_)) => false,
        };
        host_matches && (self.port.is_none() || self.port == port)
    }
}

type Problem = (&'static str, Option<url::ParseError>);

fn parse_pattern(text: &str) -> Result<(HostMatch, Option<u16>), Problem> {
    if text.is_empty() {
        return Err(("is empty", None));
    }
    if text
        .chars()
        .any(|character| character.is_whitespace() || character.is_control())
    {
        return Err(("holds white space or a control character", None));
    }
    if text.contains(['/', '\\', '?', '#', '@', '%']) {
        return Err(("is more than a host and a port", None));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        if text
            .rsplit_once(':')
            .is_some_and(|(before, _)| before.parse::<Ipv6Addr>().is_ok())
        {
            return Err((
                "may be an address, or an address and a port; put the address in brackets",
                None,
            ));
        }
        return Ok((
            HostMatch::Exactly(HostName::Address(IpAddr::V6(address).to_canonical())),
            None,
        ));
    }
    let (below, rest) = match text.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if rest.contains('*') {
        return Err(("has a * that is not a whole first part", None));
    }
    let (host, port) = split_port(rest)?;
    match (
        below,
        normalised(host).map_err(|cause| ("is not a host", Some(cause)))?,
    ) {
        (_, HostName::Domain(name)) if name.split('.').any(str::is_empty) => {
            Err(("has an empty part between dots", None))
        }
        (false, name) => Ok((HostMatch::Exactly(name), port)),
        (true, HostName::Domain(name)) => Ok((HostMatch::Below(format!(".{name}")), port)),
        (true, HostName::Address(_)) => Err(("has a * before an address", None)),
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), Problem> {
    // The colons inside the brackets of an IPv6 address are not the one before a port.
    let port_colon = match text.rsplit_once(']') {
        Some((_, "")) => None,
        Some((_, after)) if !after.starts_with(':') => return Err(("has text after its address", None)),
        Some(_) | None => text.rsplit_once(':'),
    };
    let Some((host, port)) = port_colon else {
        return Ok((text, None));
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port @ 1..) if digits => Ok((host, Some(port))),
        _ => Err(("has a port that is not a number from 1 to 65535", None)),
    }
}

fn host_of(url: &Url) -> Option<HostName> {
    if url.scheme() == "file" {
        return None;
    }
    // Only schemes of the web have their hosts normalised by the URL parser.
    normalised(url.host_str()?).ok()
}

fn normalised(host: &str) -> Result<HostName, url::ParseError> {
    Ok(match Host::parse(host)? {
        Host::Domain(name) => HostName::Domain(name.strip_suffix('.').unwrap_or(&name).to_owned()),
        Host::Ipv4(address) => HostName::Address(address.into()),
        Host::Ipv6(address) => HostName::Address(IpAddr::V6(address).to_canonical()),
    })
}
