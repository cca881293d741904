//! Which URLs and addresses are reached.

use crate::common::{Client, Names, Server, context, text};
use tidegate_policy::Classification::{Confidential, Internal, Public};
use tidegate_policy::Label;

#[tokio::test]
async fn the_host_decides_the_level_and_nothing_is_looked_up_before() {
    let client = Client::new(
        &[("wiki.example", Internal), ("*.vault.example:8443", Confidential)],
        Names::default(),
    );
    let table = [
        ("https://example.org/a?b#c", "example.org", Public),
        ("https://WIKI.example./", "wiki.example.", Internal),
        (
            "http://a.vault.example:8443/x",
            "a.vault.example:8443",
            Confidential,
        ),
        ("http://a.vault.example/x", "a.vault.example", Public),
        ("http://0x7f.1:80/", "127.0.0.1", Public),
    ];
    for (url, name, level) in table {
        assert_eq!(
            client.judged(url).await,
            (name.into(), Label::untrusted(level), level),
            "{url}"
        );
    }
    assert_eq!(client.names.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_no_url_of_the_web_is_refused_before_anything_is_sent() {
    let client = Client::local();
    let table = [
        ("", "\"\" is no URL"),
        (
            "example.com",
            "example.com is no URL (relative URL without a base)",
        ),
        (
            "file:///etc/passwd",
            "only http:// and https:// can be fetched, not file:",
        ),
        (
            "ftp://example.com/",
            "only http:// and https:// can be fetched, not ftp:",
        ),
        (
            "gopher://127.0.0.1:25/x",
            "only http:// and https:// can be fetched, not gopher:",
        ),
        (
            "data:text/plain,x",
            "only http:// and https:// can be fetched, not data:",
        ),
        (
            "http://user@example.com/",
            "the URL holds a user name or password; none is ever sent, so leave it out",
        ),
        (
            "http://:secret@example.com/",
            "the URL holds a user name or password; none is ever sent, so leave it out",
        ),
        (
            "http://example.com/\r\nHost: evil",
            "the URL holds a control character",
        ),
        ("http://example.com/\tx", "the URL holds a control character"),
        ("http://exa\u{0}mple.com/", "the URL holds a control character"),
        ("http:///", "http:/// is no URL (empty host)"),
        ("http://[::1/", "http://[::1/ is no URL (invalid IPv6 address)"),
        (
            "http://1.2.3.4.5.6/",
            "http://1.2.3.4.5.6/ is no URL (invalid IPv4 address)",
        ),
        ("http://a b/", "http://a b/ is no URL"),
    ];
    for (url, expected) in table {
        let ended = client.get(url).await;
        let expected = expected.trim_start_matches("\"\"");
        assert!(
            !ended.ok && ended.text.contains(expected),
            "{url:?}: {}",
            ended.text
        );
        assert_eq!(ended.label, Label::BOTTOM, "{url:?}");
    }
    let long = format!("http://example.com/{}", "x".repeat(9_000));
    assert_eq!(
        client.get(&long).await.text,
        "the URL has 9019 bytes, more than the 8192 that are sent"
    );
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling() {
    let server = Server::saying(text("SECRET")).await;
    let port = server.port;
    let client = Client::new(&[], Names::default());
    let table = [
        ("127.0.0.1", "loopback"),
        ("127.1", "loopback"),
        ("2130706433", "loopback"),
        ("0x7f000001", "loopback"),
        ("0177.0.0.1", "loopback"),
        ("0x7f.0.0.0x1", "loopback"),
        ("127.0.0.1.", "loopback"),
        ("①②⑦.0.0.1", "loopback"),
        ("127。0。0。1", "loopback"),
        ("%31%32%37.0.0.1", "loopback"),
        ("[::1]", "loopback"),
        ("[0:0:0:0:0:0:0:1]", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"),
        ("[::ffff:7f00:1]", "loopback"),
        ("[64:ff9b::7f00:1]", "loopback"),
        ("[2002:7f00:1::]", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0", "unspecified"),
        ("[::]", "unspecified"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "private"),
        ("[fd00::1]", "private"),
        ("169.254.0.1", "link-local"),
        ("[fe80::1]", "link-local"),
        ("169.254.169.254", "metadata"),
        ("2852039166", "metadata"),
        ("[::ffff:169.254.169.254]", "metadata"),
        ("[fd00:ec2::254]", "metadata"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
    ];
    for (host, kind) in table {
        let ended = client.get(&format!("http://{host}:{port}/")).await;
        assert!(!ended.ok, "{host}");
        let expected =
            format!("{kind} address; such addresses are reached only where the owner lists the host");
        assert!(ended.text.contains(&expected), "{host}: {}", ended.text);
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_is_refused_if_any_of_its_addresses_is_private() {
    let server = Server::saying(text("SECRET")).await;
    let names = Names::default()
        .name("inside.example", &[&["127.0.0.1"]])
        .name("both.example", &[&["203.0.114.7", "10.0.0.1"]])
        .name("mapped.example", &[&["::ffff:192.168.1.1"]])
        .name("none.example", &[&[]])
        .name("localhost", &[&["127.0.0.1"]]);
    let client = Client::new(&[], names);
    let table = [
        (
            "inside.example",
            "inside.example leads to 127.0.0.1, which is a loopback address",
        ),
        (
            "both.example",
            "both.example leads to 10.0.0.1, which is a private address",
        ),
        (
            "mapped.example",
            "mapped.example leads to ::ffff:192.168.1.1, which is a private address",
        ),
        (
            "localhost",
            "localhost leads to 127.0.0.1, which is a loopback address",
        ),
        ("none.example", "none.example has no address"),
        ("unknown.example", "unknown.example cannot be resolved"),
    ];
    for (host, expected) in table {
        let ended = client.get(&format!("http://{host}:{}/", server.port)).await;
        assert!(
            !ended.ok && ended.text.starts_with(expected),
            "{host}: {}",
            ended.text
        );
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_listed_host_may_be_private_and_has_its_level() {
    let server = Server::saying(text("intranet")).await;
    let names = || Names::default().name("wiki.example", &[&["127.0.0.1"]]);
    let client = Client::new(&[("wiki.example", Internal)], names());
    let ended = client
        .get(&format!("http://wiki.example:{}/page", server.port))
        .await;
    assert!(ended.ok && ended.text.ends_with("\nintranet"), "{}", ended.text);
    assert_eq!(ended.label, Label::untrusted(Internal));
    // Only that port of it.
    let client = Client::new(&[("wiki.example:1", Internal)], names());
    assert!(
        !client
            .get(&format!("http://wiki.example:{}/page", server.port))
            .await
            .ok
    );
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_looked_up_once_and_not_again() {
    let server = Server::saying(text("SECRET")).await;
    // Nobody listens at the first address; the server is where the name leads when it is asked again.
    let names = Names::default().name("rebind.example", &[&["127.0.0.3"], &["127.0.0.1"]]);
    let client = Client::new(&[("rebind.example", Public)], names);
    let ended = client
        .get(&format!("http://rebind.example:{}/", server.port))
        .await;
    assert!(!ended.ok, "{}", ended.text);
    assert_eq!(client.names.asked(), ["rebind.example"]);
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn exactly_the_address_that_was_found_is_connected_to_and_the_name_is_told_to_it() {
    let server = Server::saying(text("found")).await;
    // A name the system's own resolver does not know at all.
    let names = Names::default().name("only-here.example", &[&["127.0.0.1"]]);
    let client = Client::new(&[("only-here.example", Public)], names);
    let ended = client
        .get(&format!("http://only-here.example:{}/a?b=c#d", server.port))
        .await;
    assert!(ended.ok, "{}", ended.text);
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains(&format!("host: only-here.example:{}\r\n", server.port)),
        "{request}"
    );
    for sent in ["cookie", "authorization", "referer", "proxy"] {
        assert!(!request.to_lowercase().contains(sent), "{request}");
    }
}

#[tokio::test]
async fn a_cancelled_call_closes_its_connection() {
    let server = Server::with(vec![crate::common::Answer::Stall(
        b"HTTP/1.1 200 OK\r\n".to_vec(),
    )])
    .await;
    #[derive(Default)]
    struct Pull(tokio_util::sync::CancellationToken);
    impl tidegate_tools::Cancel for Pull {
        fn is_cancelled(&self) -> bool {
            self.0.is_cancelled()
        }
        fn cancelled(&self) -> tidegate_tools::BoxFuture<'_, ()> {
            Box::pin(self.0.cancelled())
        }
    }
    let pull = std::sync::Arc::new(Pull::default());
    let call = tidegate_tools::CallContext {
        cancel: std::sync::Arc::clone(&pull) as _,
        ..context()
    };
    let client = Client::local();
    let url = format!("http://127.0.0.1:{}/", server.port);
    let asked = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        pull.0.cancel();
    };
    let (ended, ()) = tokio::join!(client.get_in(&url, call), asked);
    assert_eq!(
        (ended.ok, ended.text.as_str()),
        (false, "cancelled while fetching; nothing is left open")
    );
}
