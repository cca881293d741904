//! Endpoints that cannot be reached and models that answer nonsense: a clear error each, and a session that
//! can be used afterwards.

use crate::harness::Home;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_testing::{FakeOpenAi, FakeReply, calls};

/// A server that gives `reply` to everything, until it is told to be sane.
async fn server(reply: FakeReply) -> (FakeOpenAi, Arc<AtomicBool>) {
    let sane = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&sane);
    let server = FakeOpenAi::answering(move |_| {
        if flag.load(Ordering::SeqCst) {
            FakeReply::text("sane again")
        } else {
            reply.clone()
        }
    })
    .await
    .unwrap();
    (server, sane)
}

fn nonsense() -> Vec<(&'static str, FakeReply)> {
    let delta = |delta: serde_json::Value, finish: serde_json::Value| {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }).to_string()
    };
    let call = |function: serde_json::Value| {
        let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
        FakeReply::events([
            delta(json!({ "role": "assistant", "tool_calls": [call] }), json!(null)),
            delta(json!({}), json!("tool_calls")),
            "[DONE]".to_owned(),
        ])
    };
    vec![
        (
            "a web page",
            FakeReply::raw(
                200,
                "text/html",
                "<html><body>Please log in \u{1b}[31m\u{202e}</body></html>",
            ),
        ),
        (
            "bytes that are no text",
            FakeReply::stream(b"data: \xff\xfe\xfd\n\n".as_slice()),
        ),
        ("no JSON", FakeReply::events(["{{{", "[DONE]"])),
        (
            "JSON of another kind",
            FakeReply::events(["{\"answer\": 42}", "[DONE]"]),
        ),
        ("nothing at all", FakeReply::stream("")),
        (
            "half a reply",
            FakeReply::text("the first half of it").cut_after(120),
        ),
        ("a call without a name", call(json!({ "arguments": "{}" }))),
        (
            "a refused key",
            FakeReply::error(
                401,
                "invalid_api_key",
                "Incorrect API key provided: sk-verysecret-0001.",
            ),
        ),
        (
            "an unknown model",
            FakeReply::error(404, "model_not_found", "The model `m` does not exist."),
        ),
        (
            "a broken server",
            FakeReply::raw(500, "text/html", "<h1>Internal Server Error</h1>"),
        ),
    ]
}

const KEY: [(&str, &str); 1] = [("THE_KEY", "sk-verysecret-0001")];

/// What is said of one kind of nonsense.
async fn told_of(name: &'static str, reply: FakeReply) -> String {
    let (server, sane) = server(reply).await;
    let home = Home::openai(&server.base_url(), "api_key_env = \"THE_KEY\"\n");
    let told = tokio::task::spawn_blocking(move || {
        let ended = home.run_with(&KEY, ["run", "work", "--session", "a"]).code(1);
        let shown = home.redacted(&ended.err);
        assert!(!shown.contains("verysecret"), "{name}: {shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{name}: {shown}");
        assert!(
            shown.contains("tidegate run --session a --resume"),
            "{name}: {shown}"
        );

        sane.store(true, Ordering::SeqCst);
        let resumed = home.run_with(&KEY, ["run", "--session", "a", "--resume"]).code(0);
        assert_eq!(resumed.out, "sane again\n", "{name}");
        let next = home.run_with(&KEY, ["run", "more", "--session", "a"]).code(0);
        assert_eq!(next.out, "sane again\n", "{name}");
        // How long it waits before it tries again is a matter of chance.
        let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('↻')).collect();
        format!("{name}\n--> {}\n\n", lines.join("\n"))
    });
    let told = told.await.unwrap();
    assert!(
        server.violations().is_empty(),
        "{name}: {:?}",
        server.violations()
    );
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_answers_nonsense_is_an_error_and_the_session_goes_on() {
    // Together: each takes the time of its tries.
    let tasks: Vec<_> = nonsense()
        .into_iter()
        .map(|(name, reply)| tokio::spawn(told_of(name, reply)))
        .collect();
    let mut all = String::new();
    for task in tasks {
        all.push_str(&task.await.unwrap());
    }
    insta::assert_snapshot!(all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_answers_or_calls_wrongly_for_ever_is_stopped() {
    let for_ever: [(&str, FakeReply, &[i32]); 4] = [
        ("nothing to say", FakeReply::text(""), &[1]),
        (
            "an unknown tool",
            calls([("no_such_tool", json!({}))]).into(),
            &[0],
        ),
        (
            "arguments of the wrong type",
            calls([("read_file", json!({ "path": 3 }))]).into(),
            &[0],
        ),
        (
            "arguments that are no JSON",
            FakeReply::events([
                json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "id": "c",
                    "type": "function", "function": { "name": "read_file", "arguments": "{{{" } }] },
                    "finish_reason": null }] })
                .to_string(),
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
                    .to_string(),
                "[DONE]".to_owned(),
            ]),
            &[0],
        ),
    ];
    for (name, reply, codes) in for_ever {
        let (server, sane) = server(reply).await;
        let home = Home::openai(&server.base_url(), "");
        let file = home.read("config/tidegate/tidegate.toml") + "[agent]\nmax_rounds = 3\n";
        home.configure(&file);
        let ended = home.run(["run", "work", "--session", "a"]);
        assert!(codes.contains(&ended.code.unwrap()), "{name}: {ended:?}");
        assert!(
            server.requests().len() <= 8,
            "{name}: {} requests",
            server.requests().len()
        );
        sane.store(true, Ordering::SeqCst);
        assert_eq!(
            home.run(["run", "more", "--session", "a"]).code(0).out,
            "sane again\n",
            "{name}"
        );
        assert!(
            server.violations().is_empty(),
            "{name}: {:?}",
            server.violations()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_not_there_is_told_and_resumed_when_it_is() {
    // A port that was free a moment ago.
    let gone = FakeOpenAi::start([FakeReply::text("x")]).await.unwrap();
    let address = gone.base_url();
    gone.stop().await;
    let home = Home::openai(&address, "");
    let ended = home.run(["run", "work", "--session", "a"]).code(1);
    assert!(ended.err.contains("cannot be reached"), "{}", ended.err);
    assert!(ended.err.contains("base_url of [providers.o]"), "{}", ended.err);

    let server = FakeOpenAi::start([FakeReply::text("there")]).await.unwrap();
    home.configure(
        &home
            .read("config/tidegate/tidegate.toml")
            .replace(&address, &server.base_url()),
    );
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "there\n"
    );
    server.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_server_accepts_what_the_program_sends() {
    let server = FakeOpenAi::start([
        FakeReply::from(calls([
            ("list_files", json!({ "path": "." })),
            ("read_file", json!({ "path": "a.txt" })),
            ("read_file", json!({ "path": "../outside" })),
        ])),
        FakeReply::text("It says 42."),
        FakeReply::text("Still 42.").whole(),
    ])
    .await
    .unwrap();
    let home = Home::openai(&server.base_url(), "api_key_env = \"THE_KEY\"\n");
    home.write("project/a.txt", "42\n");
    let key = [("THE_KEY", "sk-verysecret-0001")];
    assert_eq!(
        home.run_with(&key, ["run", "read it", "--session", "a"])
            .code(0)
            .out,
        "It says 42.\n"
    );
    assert_eq!(
        home.run_with(&key, ["run", "again", "--session", "a"])
            .code(0)
            .out,
        "Still 42.\n"
    );
    server.assert_complete();
    let sent = server.requests();
    assert_eq!(sent[0].header("authorization"), Some("Bearer sk-verysecret-0001"));
}
