//! Secrets reach the host they are for, and nothing else.

use crate::{calling, configured, decisions};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

const VALUE: &str = "tok-5f2a/9c+71 e";

/// A server that answers one request with what it was asked, headers and all.
fn echoing() -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            asked.push(byte[0]);
        }
        let asked = String::from_utf8(asked).unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            asked.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(asked.as_bytes()).unwrap();
        asked
    });
    (port, served)
}

fn secret(port: u16, tools: &str, arguments: &str) -> String {
    format!(
        "[policy.hosts]\n\"127.0.0.1\" = \"INTERNAL\"\n[secrets.api]\nenv = \"API_TOKEN\"\ntools = [\"{tools}\"]\narguments = [\"{arguments}\"]\nhosts = [\"127.0.0.1:{port}\"]"
    )
}

fn fetching(port: u16, header: &str) -> String {
    format!("{{ url = \"http://127.0.0.1:{port}/\", headers = {{ Authorization = \"{header}\" }} }}")
}

#[test]
fn a_secret_reaches_its_host_and_no_model_log_or_file() {
    let (port, served) = echoing();
    let arguments = fetching(port, "Bearer {{secret:api}}");
    let home = configured(
        calling(&[("http_get", &arguments)]),
        &secret(port, "http_get", "headers.Authorization"),
    );
    let ended = home
        .run_with(
            &[("API_TOKEN", VALUE), ("TIDEGATE_LOG", "trace")],
            ["run", "fetch it", "--session", "a"],
        )
        .code(0);
    let asked = served.join().unwrap();
    assert!(
        asked.contains(&format!("authorization: Bearer {VALUE}\r\n")),
        "{asked}"
    );
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("authorization: Bearer"), "{history}");
    for text in [&history, &ended.out, &ended.err] {
        assert!(!text.contains("5f2a"), "{text}");
    }
    let stored = home.bytes_below("data");
    assert!(
        !stored.windows(4).any(|bytes| bytes == b"5f2a"),
        "the secret is stored"
    );
}

#[test]
fn a_secret_goes_nowhere_else() {
    for (arguments, configuration, said) in [
        // Another host.
        (
            fetching(9, "{{secret:api}}"),
            secret(1, "http_get", "headers"),
            "secret-scope",
        ),
        // Another argument.
        (
            fetching(9, "{{secret:api}}"),
            secret(9, "http_get", "headers.X-Token"),
            "secret-scope",
        ),
        // Another tool.
        (
            fetching(9, "{{secret:api}}"),
            secret(9, "other", "headers"),
            "secret-scope",
        ),
        // In the address.
        (
            "{ url = \"http://127.0.0.1:9/?key={{secret:api}}\" }".to_owned(),
            secret(9, "http_get", "headers"),
            "secret-scope",
        ),
        // One that is not there.
        (
            fetching(9, "{{secret:other}}"),
            secret(9, "http_get", "headers"),
            "secret-scope",
        ),
    ] {
        let home = configured(calling(&[("http_get", &arguments)]), &configuration);
        home.run_with(&[("API_TOKEN", VALUE)], ["run", "fetch it", "--session", "a"])
            .code(0);
        assert_eq!(
            decisions(&home, "http_get"),
            [("BLOCK".to_owned(), said.to_owned())],
            "{arguments}"
        );
    }
    // In a file.
    let home = configured(
        calling(&[("write_file", "{ path = \"a.txt\", content = \"{{secret:api}}\" }")]),
        &secret(9, "http_get", "headers"),
    );
    home.run_with(&[("API_TOKEN", VALUE)], ["run", "write a.txt"])
        .code(0);
    assert!(!home.path("project/a.txt").exists());
}

#[test]
fn a_secret_without_a_value_is_told_of_when_it_is_needed() {
    let home = configured(
        calling(&[("http_get", &fetching(9, "{{secret:api}}"))]),
        &secret(9, "http_get", "headers"),
    );
    home.run(["run", "fetch it", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("no value is set for: api"), "{history}");
}

#[test]
fn a_rule_refuses_a_secret() {
    let home = configured(
        calling(&[("http_get", &fetching(9, "{{secret:api}}"))]),
        &format!(
            "{}\n[[policy.rules]]\nid = \"none\"\nhook = \"SECRET_ACCESS\"\nwhen = [{{ field = \"secret\", op = \"equals\", value = \"api\" }}]\naction = \"BLOCK\"\n",
            secret(9, "http_get", "headers")
        ),
    );
    home.run_with(&[("API_TOKEN", VALUE)], ["run", "fetch it", "--session", "a"])
        .code(0);
    let judged = crate::events(&home, "flow.judged");
    let refused = judged
        .iter()
        .find(|event| event["evaluation"]["flow"] == "secret_access")
        .unwrap();
    assert_eq!(refused["evaluation"]["decision"], "BLOCK");
}

#[test]
fn wrong_secrets_are_named_at_the_start() {
    for (configuration, value, said) in [
        (
            "[secrets.a]\ntools = [\"x\"]\narguments = [\"y\"]",
            VALUE,
            "neither env nor file",
        ),
        (
            "[secrets.a]\nenv = \"A\"\nfile = \"b\"\ntools = [\"x\"]\narguments = [\"y\"]",
            VALUE,
            "both env and file",
        ),
        (
            "[secrets.a]\nenv = \"A\"\narguments = [\"y\"]",
            VALUE,
            "names no `tools`",
        ),
        (
            "[secrets.a]\nenv = \"A\"\ntools = [\"x\"]\narguments = [\"y\"]",
            "short",
            "at least 8",
        ),
        (
            "[secrets.a]\nfile = \"missing.key\"\ntools = [\"x\"]\narguments = [\"y\"]",
            VALUE,
            "cannot be read",
        ),
    ] {
        let home = configured(calling(&[]), configuration);
        home.run_with(&[("A", value)], ["run", "work"])
            .code(1)
            .says([said]);
    }
}
