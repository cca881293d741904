//! A key goes to its provider and nowhere else.

use crate::harness::Home;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use tidegate_testing::{FakeOpenAi, FakeReply, calls};

const KEY: &str = "sk-verysecret-0001-abcdef";

/// Replies that make the program speak of the key where it can: the server repeats it in an error.
fn replies() -> Vec<FakeReply> {
    vec![
        FakeReply::from(calls([("list_files", json!({ "path": "." }))])),
        FakeReply::text("done"),
        FakeReply::error(
            401,
            "invalid_api_key",
            &format!("Incorrect API key provided: {KEY}"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_in_no_output_no_log_no_event_and_no_database() {
    for by_file in [false, true] {
        let server = FakeOpenAi::start(replies()).await.unwrap();
        let more = if by_file {
            "api_key_file = \"the-key\"\n"
        } else {
            "api_key_env = \"THE_KEY\"\n"
        };
        let home = Home::openai(&server.base_url(), more);
        let file = home.write("config/tidegate/the-key", format!("{KEY}\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut variables = vec![("TIDEGATE_LOG", "trace")];
        if !by_file {
            std::fs::remove_file(&file).unwrap();
            variables.push(("THE_KEY", KEY));
        }
        let mut said = String::new();
        let mut logged = 0;
        for (arguments, code) in [
            (["run", "work", "--session", "a"].as_slice(), 0),
            (&["run", "more", "--session", "a", "--json"], 1),
            (&["events", "--json"], 0),
            (&["sessions", "history", "a", "--json"], 0),
            (&["sessions", "export", "a"], 0),
            (&["config", "show"], 0),
            (&["config", "show", "--json"], 0),
            (&["config", "check"], 0),
        ] {
            let mut command = home.command(arguments);
            command.envs(variables.iter().copied());
            let ended = crate::harness::ended(command).code(code);
            logged += ended.err.len();
            said.push_str(&ended.out);
            said.push_str(&ended.err);
        }
        assert!(logged > 1_000, "there were logs to look at");
        assert_eq!(
            server.requests()[0].header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert!(!said.contains(KEY), "the key was printed or logged");
        let stored = home.bytes_below("data");
        assert!(
            !stored.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()),
            "the key was stored"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_do_not_tell_what_was_said() {
    let server = FakeOpenAi::start([FakeReply::text("ANSWER-IN-CONFIDENCE")])
        .await
        .unwrap();
    let home = Home::openai(&server.base_url(), "");
    let ended = home
        .run_with(
            &[("TIDEGATE_LOG", "trace")],
            ["run", "TASK-IN-CONFIDENCE", "--json"],
        )
        .code(0);
    assert!(!ended.err.contains("IN-CONFIDENCE"), "{}", ended.err);
}
