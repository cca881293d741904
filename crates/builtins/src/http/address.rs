//! From a host to the addresses that are connected to.

use super::FetchError;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tidegate_policy::AddressKind;
use tidegate_tools::BoxFuture;
use url::{Host, Url};

/// Finds the addresses of a host.
pub trait Resolver: Send + Sync {
    /// All addresses of `host`, a name in lower case and punycode. It is asked once for each connection.
    ///
    /// # Errors
    /// If they cannot be found.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's own resolver: its `hosts` file, its name servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The addresses of a URL's host, looked up once. Unless the host is `listed`, every one has to be of the Internet:
/// which of several a connection takes is not up to this program.
pub(super) async fn addresses(
    url: &Url,
    listed: bool,
    resolver: &dyn Resolver,
) -> Result<Vec<IpAddr>, FetchError> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let found = match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => {
            let found = resolver.resolve(name).await;
            found.map_err(|cause| FetchError::Unresolved {
                host: host.clone(),
                cause,
            })?
        }
        None => Vec::new(),
    };
    if found.is_empty() {
        return Err(FetchError::NoAddress { host });
    }
    let kind = |address: &IpAddr| (*address, AddressKind::of(*address));
    if let Some((address, kind)) = found
        .iter()
        .map(kind)
        .find(|(_, kind)| !listed && !kind.is_global())
    {
        return Err(FetchError::Address { host, address, kind });
    }
    Ok(found)
}

/// Knows these addresses and no other, whatever it is asked.
pub(super) struct Pinned(pub(super) Vec<IpAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        // The port is the URL's.
        let addresses: Vec<SocketAddr> = self.0.iter().map(|address| (*address, 0).into()).collect();
        let addresses: Addrs = Box::new(addresses.into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}
