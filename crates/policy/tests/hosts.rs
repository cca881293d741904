//! Classification of URLs and addresses.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use proptest::prelude::*;
use std::net::IpAddr;
use tidegate_policy::{
    AddressKind::{self, *},
    Classification::{self, *},
    HostRules, Label, default_provider_clearance,
};
use url::Url;

/// Whether the one pattern matches the URL.
fn matches(pattern: &str, url: &str) -> bool {
    let rules = HostRules::new([(pattern, Confidential)]).unwrap();
    let label = rules.classify(&Url::parse(url).unwrap());
    match label.pattern {
        Some(matched) => {
            assert_eq!(matched, pattern);
            assert_eq!(
                (label.source, label.sink),
                (Label::untrusted(Confidential), Confidential)
            );
            true
        }
        None => {
            assert_eq!(label.sink, Public);
            false
        }
    }
}

#[test]
fn an_unlisted_host_is_public_and_untrusted() {
    let label = HostRules::default().classify(&"https://example.com/a?b#c".parse().unwrap());
    assert_eq!(
        (label.source, label.sink, label.pattern),
        (Label::untrusted(Public), Public, None)
    );
}

#[test]
fn the_first_matching_pattern_wins() {
    let rules = HostRules::new([
        ("blog.example.com", Public),
        ("*.example.com", Internal),
        ("vault.example.com", Restricted),
    ])
    .unwrap();
    for (url, level) in [
        ("https://blog.example.com/", Public),
        ("https://vault.example.com/", Internal),
        ("https://example.com/", Public),
    ] {
        assert_eq!(rules.classify(&url.parse().unwrap()).sink, level, "{url}");
    }
}

#[test]
fn names_match_whole_and_in_one_form() {
    for (pattern, url, expected) in [
        ("example.com", "https://example.com/", true),
        ("example.com", "https://EXAMPLE.com:8443/x", true),
        ("EXAMPLE.COM.", "http://example.com", true),
        ("example.com", "https://example.com./", true),
        ("example.com", "https://ex%61mple.com/", true),
        ("example.com", "https://ｅxample。com/", true),
        ("example.com", "https://www.example.com/", false),
        ("example.com", "https://notexample.com/", false),
        ("example.com", "https://example.com.evil.test/", false),
        ("example.com", "https://example.com@evil.test/", false),
        ("example.com", "https://evil.test/example.com", false),
        ("example.com", "https://evil.test/?https://example.com", false),
        ("example.com", "https://еxample.com/", false), // Cyrillic е
        ("bücher.example", "https://xn--bcher-kva.example/", true),
        ("xn--bcher-kva.example", "https://BÜCHER.example/", true),
        // Schemes whose hosts the URL parser leaves as they are.
        ("example.com", "redis://EXAMPLE.com./0", true),
        ("10.0.0.5", "redis://0x0a.5:6379/", true),
    ] {
        assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
    }
}

#[test]
fn a_star_is_for_hosts_below_at_any_depth_and_not_for_the_name_itself() {
    for (url, expected) in [
        ("https://a.example.com/", true),
        ("https://a.b.c.example.com./", true),
        ("https://A.EXAMPLE.COM/", true),
        ("https://example.com/", false),
        ("https://.example.com/", false),
        ("https://notexample.com/", false),
        ("https://a.example.com.evil.test/", false),
        ("https://10.0.0.1/", false),
    ] {
        assert_eq!(matches("*.example.com", url), expected, "{url}");
    }
    assert!(matches("*.bücher.example", "https://shop.xn--bcher-kva.example/"));
}

#[test]
fn addresses_match_by_value() {
    for (pattern, url, expected) in [
        ("127.0.0.1", "http://127.0.0.1:8080/", true),
        ("127.0.0.1", "http://0x7f.1/", true),
        ("127.0.0.1", "http://2130706433/", true),
        ("127.0.0.1", "http://0177.0.0.1/", true),
        ("127.0.0.1", "http://127.0.0.1./", true),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", true),
        ("[::ffff:7f00:1]", "http://127.0.0.1/", true),
        ("0x7f.1", "http://127.0.0.1/", true),
        ("127.0.0.1", "http://127.0.0.2/", false),
        ("127.0.0.1", "http://localhost/", false),
        ("::1", "http://[::1]/", true),
        ("[0:0:0:0:0:0:0:1]", "http://[::1]:99/", true),
        ("fd00::5", "http://[FD00:0::0005]/", true),
        ("fd00::5", "http://[fd00::6]/", false),
    ] {
        assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
    }
}

#[test]
fn a_port_narrows_a_pattern() {
    for (pattern, url, expected) in [
        ("example.com:8443", "https://example.com:8443/", true),
        ("example.com:8443", "https://example.com/", false),
        ("example.com:443", "https://example.com/", true),
        ("example.com:443", "http://example.com/", false),
        ("example.com:80", "http://example.com/", true),
        ("example.com:80", "foo://example.com/", false),
        ("*.example.com:8443", "https://a.example.com:8443/", true),
        ("10.0.0.5:9000", "http://10.0.0.5:9000/", true),
        ("[::1]:9000", "http://[::1]:9000/", true),
        ("[::1]:9000", "http://[::1]:9001/", false),
    ] {
        assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
    }
}

#[test]
fn a_url_that_names_no_host_is_unreadable() {
    let rules = HostRules::new([("example.com", Internal)]).unwrap();
    for url in [
        "file:///etc/passwd",
        "file://example.com/x",
        "data:text/plain,hi",
        "mailto:a@example.com",
        "foo:///x",
    ] {
        let label = rules.classify(&url.parse().unwrap());
        assert_eq!(
            (label.source, label.sink, label.pattern),
            (Label::UNREADABLE, Public, None),
            "{url}"
        );
    }
}

#[test]
fn patterns_that_are_a_mistake_are_refused_with_what_is_valid() {
    for (pattern, problem) in [
        ("", "is empty"),
        (" example.com", "white space"),
        ("exa mple.com", "white space"),
        ("https://example.com", "is more than a host and a port"),
        ("example.com/path", "is more than a host and a port"),
        ("user@example.com", "is more than a host and a port"),
        ("fe80::1%eth0", "is more than a host and a port"),
        ("*", "has a * that is not a whole first part"),
        ("*example.com", "has a * that is not a whole first part"),
        ("a.*.example.com", "has a * that is not a whole first part"),
        ("*.*.example.com", "has a * that is not a whole first part"),
        ("*.", "is not a host"),
        ("*.10.0.0.1", "has a * before an address"),
        ("*.[::1]", "has a * before an address"),
        ("example..com", "has an empty part"),
        (".example.com", "has an empty part"),
        ("*..com", "has an empty part"),
        (".", "has an empty part"),
        ("example.com:", "has a port that is not"),
        ("example.com:0", "has a port that is not"),
        ("example.com:65536", "has a port that is not"),
        ("example.com:+80", "has a port that is not"),
        ("example.com:http", "has a port that is not"),
        ("[::1]x", "has text after its address"),
        ("[::1", "is not a host"),
        ("::1:8443", "may be an address, or an address and a port"),
        ("256.0.0.1", "is not a host"),
        ("1.2.3.4.5", "is not a host"),
        ("ex|ample.com", "is not a host"),
    ] {
        let error = HostRules::new([("ok.example", Public), (pattern, Public)]).unwrap_err();
        assert_eq!(error.pattern, pattern);
        assert!(error.problem.contains(problem), "{error}");
    }
    insta::assert_snapshot!(
        HostRules::new([("*", Public)]).unwrap_err(),
        @r#"[policy.hosts] "*" has a * that is not a whole first part; write a host such as "example.com", "*.example.com" for all hosts below it, or an address such as "10.0.0.5" or "[::1]", each with ":8443" for one port alone"#
    );
}

#[test]
fn a_provider_is_local_only_where_the_url_cannot_lead_elsewhere() {
    for (url, expected) in [
        ("http://127.0.0.1:8080/v1", Restricted),
        ("http://127.8.9.1/", Restricted),
        ("http://localhost:8080", Restricted),
        ("https://LOCALHOST./v1", Restricted),
        ("http://[::1]:1/", Restricted),
        ("http://[::ffff:127.0.0.1]/", Restricted),
        ("http://0x7f.1/", Restricted),
        ("http://0.0.0.0:8080/", Internal),
        ("http://[::]/", Internal),
        ("http://a.localhost/", Internal),
        ("http://localhost.evil.test/", Internal),
        ("http://localhost@evil.test/", Internal),
        ("http://127.0.0.1.evil.test/", Internal),
        ("http://192.168.1.5/", Internal),
        ("http://[2002:7f00:1::]/", Internal),
        ("http://[64:ff9b::7f00:1]/", Internal),
        ("http://[::127.0.0.1]/", Internal),
        ("https://api.example.com/v1", Internal),
        ("file:///localhost", Internal),
        ("unix:/run/x", Internal),
    ] {
        assert_eq!(
            default_provider_clearance(&url.parse().unwrap()),
            expected,
            "{url}"
        );
    }
}

#[test]
fn addresses_are_of_the_kind_their_block_is_registered_for() {
    let table: &[(AddressKind, &[&str])] = &[
        (
            Global,
            &[
                "1.1.1.1",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.1",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "2606:4700::1111",
                "2001:200::1",
                "2a00::1",
                "::ffff:1.1.1.1",
                "64:ff9b::1.1.1.1",
                "2002:101:101::",
            ],
        ),
        (
            Loopback,
            &[
                "127.0.0.1",
                "127.255.255.255",
                "::1",
                "::ffff:127.0.0.1",
                "::127.0.0.1",
                "::ffff:0:127.0.0.1",
                "64:ff9b::127.0.0.1",
                "2002:7f00:1::1",
            ],
        ),
        (
            Private,
            &[
                "10.0.0.0",
                "10.255.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.168.0.0",
                "192.168.255.255",
                "100.64.0.0",
                "100.127.255.255",
                "fc00::",
                "fdff::1",
                "fec0::1",
                "64:ff9b:1::1",
                "::ffff:10.0.0.1",
                "64:ff9b::10.0.0.1",
                "2002:a00:1::",
                "::192.168.0.1",
            ],
        ),
        (
            LinkLocal,
            &[
                "169.254.0.0",
                "169.254.255.255",
                "fe80::1",
                "febf::1",
                "::ffff:169.254.1.1",
            ],
        ),
        (
            Metadata,
            &[
                "169.254.169.254",
                "169.254.170.2",
                "169.254.170.23",
                "100.100.100.200",
                "168.63.129.16",
                "fd00:ec2::254",
                "fd00:ec2::23",
                "fd20:ce::254",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::",
                "::169.254.169.254",
            ],
        ),
        (
            Unspecified,
            &[
                "0.0.0.0",
                "0.255.255.255",
                "::",
                "::ffff:0.0.0.0",
                "64:ff9b::",
                "2002::",
            ],
        ),
        (
            Multicast,
            &[
                "224.0.0.1",
                "239.255.255.255",
                "ff02::1",
                "ffff::",
                "::ffff:224.0.0.1",
            ],
        ),
        (
            Reserved,
            &[
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "198.18.0.0",
                "198.19.255.255",
                "198.51.100.7",
                "203.0.113.7",
                "240.0.0.0",
                "255.255.255.255",
                "2001:db8::1",
                "3fff::1",
                "3fff:fff::",
                "100::1",
                "5f00::1",
                "2001::1",
                "2001:1ff::",
                "4000::1",
                "::2:1.1.1.1",
                "::1.1.1.1",
                "e000::",
                "64:ff9b:2::",
            ],
        ),
    ];
    for (kind, addresses) in table {
        for address in *addresses {
            assert_eq!(AddressKind::of(address.parse().unwrap()), *kind, "{address}");
            assert_eq!(kind.is_global(), *kind == Global);
        }
    }
}

proptest! {
    #[test]
    fn a_mapped_address_is_what_the_address_is(bits in any::<u32>()) {
        let v4 = std::net::Ipv4Addr::from(bits);
        let plain = AddressKind::of(IpAddr::V4(v4));
        prop_assert_eq!(AddressKind::of(IpAddr::V6(v4.to_ipv6_mapped())), plain);
        if v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast()
            || v4.is_documentation() || v4.is_unspecified()
        {
            prop_assert!(!plain.is_global());
        }
    }

    #[test]
    fn classifying_is_total_and_a_host_matches_its_own_pattern(
        host in r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z]{1,6}){1,3}",
        path in ".*",
    ) {
        if let Ok(url) = Url::parse(&format!("https://{host}/{path}")) {
            if let Ok(rules) = HostRules::new([(host.clone(), Internal)]) {
                prop_assert_eq!(rules.classify(&url).sink, Internal);
            }
            let below = HostRules::new([(format!("*.{host}"), Internal)]).unwrap();
            prop_assert_eq!(below.classify(&url).sink, Public);
            let deeper = Url::parse(&format!("https://x.{host}/")).unwrap();
            prop_assert_eq!(below.classify(&deeper).sink, Internal);
        }
    }

    #[test]
    fn reading_patterns_never_panics(pattern in ".*", url in "[a-z]{1,5}:(//)?.*") {
        if let (Ok(rules), Ok(url)) = (HostRules::new([(pattern, Classification::Restricted)]), Url::parse(&url)) {
            rules.classify(&url);
        }
    }
}
