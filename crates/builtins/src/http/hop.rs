//! Which URLs are fetched, and where a redirect may lead.

use super::FetchError;
use tidegate_policy::{HostRules, Label, UrlLabel};
use tidegate_tools::CallContext;
use url::Url;

/// The longest URL that is sent, in bytes.
const LONGEST: usize = 8 << 10;

/// How many redirects are followed.
pub(super) const REDIRECTS: usize = 5;

/// Reads a URL as a model wrote it.
pub(super) fn parse(text: &str) -> Result<Url, FetchError> {
    // The parser leaves tabs and line breaks out, so that the URL that is judged would not be the one that was written.
    if text.chars().any(char::is_control) {
        return Err(FetchError::ControlCharacter);
    }
    let url = Url::parse(text).map_err(|cause| FetchError::NotAUrl {
        given: text.to_owned(),
        cause,
    })?;
    check(url)
}

/// That a URL can be fetched; without its fragment, which is not sent.
fn check(mut url: Url) -> Result<Url, FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Scheme {
            scheme: url.scheme().to_owned(),
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Credentials);
    }
    url.set_fragment(None);
    let length = url.as_str().len();
    if length > LONGEST {
        return Err(FetchError::TooLong {
            length,
            limit: LONGEST,
        });
    }
    Ok(url)
}

/// The host, and the port if it is not the scheme's own.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Where a redirect from `from` to `location` leads, if it may be followed.
///
/// A redirect is a flow of its own: the host that answered learns nothing new, but the next one is sent a URL that
/// the context chose and the first host completed. So the label of the context, joined with that of all that was
/// received so far, has to be able to flow there, as the gate's checks 5 and 6 would ask.
pub(super) fn next(
    from: &Url,
    status: u16,
    location: Option<&str>,
    received: Label,
    hosts: &HostRules,
    context: &CallContext,
) -> Result<(Url, UrlLabel), FetchError> {
    let host_from = host(from);
    let location = location.ok_or_else(|| FetchError::NoLocation {
        host: host_from.clone(),
        status,
    })?;
    let redirect = |cause| FetchError::Redirect {
        host: host_from.clone(),
        cause: Box::new(cause),
    };
    if location.chars().any(char::is_control) {
        return Err(redirect(FetchError::ControlCharacter));
    }
    let to = from
        .join(location)
        .map_err(|cause| FetchError::NotAUrl {
            given: location.to_owned(),
            cause,
        })
        .and_then(check)
        .map_err(redirect)?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(FetchError::Downgrade { host: host_from });
    }
    let label = hosts.classify(&to);
    let moving = context.label.join(received).classification;
    if !moving.can_flow_to(label.sink) {
        return Err(FetchError::RedirectDown {
            host: host_from,
            to: host(&to),
            sink: label.sink,
            moving,
        });
    }
    if !label.source.can_flow_to(context.clearance) {
        return Err(FetchError::RedirectAbove {
            host: host_from,
            to: host(&to),
            source_level: label.source.classification,
            clearance: context.clearance,
        });
    }
    Ok((to, label))
}
