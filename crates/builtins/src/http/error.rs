//! What can go wrong with a fetch, told to models and people.

use std::net::IpAddr;
use tidegate_policy::{AddressKind, Classification, escaped};

/// An address that cannot be fetched, or an answer that cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A header that cannot be sent. Its value is not told.
    #[error("the header {} {problem}", shown(name))]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It is no URL.
    #[error("{} is no URL ({cause}); write one as in https://example.com/page", shown(.given))]
    NotAUrl {
        /// As given.
        given: String,
        /// What is wrong with it.
        #[source]
        cause: url::ParseError,
    },
    /// A URL with characters that a client would silently leave out.
    #[error("the URL holds a control character, which no URL may have; write it percent-encoded, as in %0A")]
    ControlCharacter,
    /// The URL is too long.
    #[error("the URL has {length} bytes, more than the {limit} that are sent")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Another scheme than those of the web.
    #[error("only http:// and https:// can be fetched, not {}:", shown(.scheme))]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A user or a password in the URL.
    #[error("the URL holds a user name or password; none is ever sent, so leave it out")]
    Credentials,
    /// The host has no address.
    #[error("{} cannot be resolved", shown(.host))]
    Unresolved {
        /// The host.
        host: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The host has an empty list of addresses.
    #[error("{} has no address", shown(.host))]
    NoAddress {
        /// The host.
        host: String,
    },
    /// An address that is not of the Internet.
    #[error(
        "{} leads to {address}, which is {} {kind} address; such addresses are reached only where the owner lists the \
         host in [policy.hosts]",
        shown(.host),
        if *kind == AddressKind::Unspecified { "an" } else { "a" }
    )]
    Address {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
        /// What kind of address that is.
        kind: AddressKind,
    },
    /// Too many redirects.
    #[error("{} redirects more than {limit} times", shown(.host))]
    TooManyRedirects {
        /// The host that was asked at last.
        host: String,
        /// How many are followed.
        limit: usize,
    },
    /// A redirect without a place to go to.
    #[error("{} answers {status} without a Location that can be followed", shown(.host))]
    NoLocation {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
    /// A redirect from an encrypted to an open connection.
    #[error("{} redirects from https:// to http://, which is not followed: everybody on the way could read it", shown(.host))]
    Downgrade {
        /// The host.
        host: String,
    },
    /// A redirect to a host that may not receive what the conversation holds.
    #[error(
        "{} redirects to {}, which may receive at most {sink} data, and this conversation holds {moving} data; the \
         redirect was not followed",
        shown(.host),
        shown(.to)
    )]
    RedirectDown {
        /// The host that redirects.
        host: String,
        /// Where to.
        to: String,
        /// What may go there.
        sink: Classification,
        /// What would.
        moving: Classification,
    },
    /// A redirect to a host above the clearance.
    #[error(
        "{} redirects to {}, which has the level {source_level}, and this session may read at most {clearance}; the \
         redirect was not followed",
        shown(.host),
        shown(.to)
    )]
    RedirectAbove {
        /// The host that redirects.
        host: String,
        /// Where to.
        to: String,
        /// What comes from there.
        source_level: Classification,
        /// What the session may read.
        clearance: Classification,
    },
    /// A redirect to something that cannot be fetched.
    #[error("{} redirects to something that cannot be fetched", shown(.host))]
    Redirect {
        /// The host that redirects.
        host: String,
        /// Why it cannot.
        #[source]
        cause: Box<FetchError>,
    },
    /// Certificates of authorities cannot be read.
    #[error(
        "no certificates of authorities can be read there; they have to be in PEM form, each between BEGIN CERTIFICATE and END CERTIFICATE"
    )]
    Authorities {
        /// Why; none if there are simply none.
        #[source]
        cause: Option<reqwest::Error>,
    },
    /// The connection failed.
    #[error("{} cannot be {action}", shown(.host))]
    Connection {
        /// The host.
        host: String,
        /// `reached` and the like.
        action: &'static str,
        /// Why.
        #[source]
        cause: reqwest::Error,
    },
    /// It took too long.
    #[error("{} did not answer in full within {seconds} s", shown(.host))]
    TooSlow {
        /// The host.
        host: String,
        /// The limit.
        seconds: f64,
    },
    /// The answer is too large.
    #[error("{} sends {what}; at most {limit} bytes are read", shown(.host))]
    TooLarge {
        /// The host.
        host: String,
        /// `7340032 bytes of text/plain` and the like.
        what: String,
        /// How many may be read.
        limit: u64,
    },
    /// The answer is compressed in a way that was not asked for.
    #[error("{} sends content encoded as {}, which is not understood; no encoding was asked for", shown(.host), shown(.encoding))]
    Encoding {
        /// The host.
        host: String,
        /// The encoding.
        encoding: String,
    },
    /// The answer cannot be decompressed.
    #[error("what {} sends is broken", shown(.host))]
    Broken {
        /// The host.
        host: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The answer is no text.
    #[error("{} sends {} ({size} bytes), which is no text and not shown", shown(.host), shown(.content_type))]
    NotText {
        /// The host.
        host: String,
        /// Its media type.
        content_type: String,
        /// How much was read, in bytes.
        size: u64,
    },
    /// The call was cancelled.
    #[error("cancelled while fetching; nothing is left open")]
    Cancelled,
    /// Work on the page did not come to an end.
    #[error("the page cannot be made into text")]
    Page {
        /// Why.
        #[source]
        cause: tokio::task::JoinError,
    },
}

/// A name from elsewhere, escaped and not too long.
pub(super) fn shown(name: &str) -> String {
    const LONGEST: usize = 200;
    let cut = tidegate_tools::graphemes_within(name, LONGEST);
    let dots = if cut.len() < name.len() { "…" } else { "" };
    format!("{}{dots}", escaped(cut))
}
