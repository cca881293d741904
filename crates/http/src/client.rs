//! How clients are made.

use crate::is_loopback;
use reqwest::ClientBuilder;
use reqwest::redirect::Policy;
use rustls::crypto::CryptoProvider;
use std::time::Duration;
use url::Url;

/// How long making a connection may take, unless a client sets another limit.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that follows no redirect, waits at most [`CONNECT_TIMEOUT`] for a connection and says who it is. TLS is
/// rustls with ring and the system's certificates; proxies are the system's.
///
/// The first call installs ring for the whole process, unless the program has installed something else.
pub fn builder() -> ClientBuilder {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread has installed one in the meantime: just as good.
        let _installed_already = rustls::crypto::ring::default_provider().install_default();
    }
    ClientBuilder::new()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("tidegate/", env!("CARGO_PKG_VERSION")))
}

/// The same for one server: this machine's own ones are asked without a proxy and, over http, without reading the
/// system's certificates, which takes longer than the rest.
pub fn builder_for(url: &Url) -> ClientBuilder {
    if !is_loopback(url) {
        return builder();
    }
    let builder = builder().no_proxy();
    if url.scheme() == "http" {
        builder.tls_certs_only([])
    } else {
        builder
    }
}
