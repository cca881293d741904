//! Addresses.

use url::{Host, Url};

/// Whether an address is this machine, by what it says: no name is looked up.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address without user, password, query and fragment, any of which may hold a secret.
pub fn shown(url: &Url) -> String {
    let mut shown = format!("{}://", url.scheme());
    shown.push_str(url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        shown.push_str(&format!(":{port}"));
    }
    shown.push_str(url.path());
    shown
}

/// `url` with `path` behind what it has, without query and fragment.
pub fn below(url: &Url, path: &str) -> Url {
    let mut below = url.clone();
    below.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    below.set_query(None);
    below.set_fragment(None);
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_names_that_only_look_like_it() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("https://a.localhost/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]/", true),
            ("http://localhost.example/", false),
            ("http://192.168.0.7/", false),
            ("http://0.0.0.0/", false),
            ("data:,x", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn no_secret_of_an_address_is_shown() {
        for (url, expected) in [
            (
                "https://user:key@hub.example/a?token=1#x",
                "https://hub.example/a",
            ),
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ] {
            assert_eq!(shown(&Url::parse(url).unwrap()), expected);
        }
    }

    #[test]
    fn a_path_is_put_behind_what_an_address_has() {
        for (url, path, expected) in [
            ("https://hub.example", "a/b.json", "https://hub.example/a/b.json"),
            ("https://hub.example/mirror/", "a", "https://hub.example/mirror/a"),
            (
                "https://hub.example/mirror?x=1",
                "a",
                "https://hub.example/mirror/a",
            ),
        ] {
            assert_eq!(below(&Url::parse(url).unwrap(), path).as_str(), expected);
        }
    }
}
