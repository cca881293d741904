//! The clients of this crate.

use reqwest::Client;
use reqwest::redirect::Policy;
use std::time::Duration;
use tidegate_http::builder_for;
use url::Url;

/// The most hops from a hub to where a file lies.
const MOST_REDIRECTS: usize = 10;

/// Whether redirects are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// Never: what is sent may go to one address alone.
    Refused,
    /// For fetching what is public, but never from https to http.
    Followed,
}

/// A client for `url`. `silence` is how long a server may say nothing at all.
pub(crate) fn client(url: &Url, redirects: Redirects, silence: Duration) -> Result<Client, reqwest::Error> {
    let policy = match redirects {
        Redirects::Refused => Policy::none(),
        Redirects::Followed => Policy::custom(|attempt| {
            let is_downgrade = attempt.url().scheme() != "https"
                && attempt
                    .previous()
                    .last()
                    .is_some_and(|from| from.scheme() == "https");
            if is_downgrade {
                attempt.error("it redirects from https to http")
            } else if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("it redirects again and again")
            } else {
                attempt.follow()
            }
        }),
    };
    builder_for(url).redirect(policy).read_timeout(silence).build()
}
