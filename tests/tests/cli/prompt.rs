//! `tidegate prompt` and `tidegate usage`.

use crate::harness::Home;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tidegate_message::Usage;
use tidegate_providers::ScriptedReply;
use tidegate_testing::{FakeOpenAi, FakeReply, calls};

fn usage(uncached: u64, cache_read: u64, output: u64) -> Usage {
    Usage {
        uncached,
        cache_read,
        cache_write: 0,
        output,
    }
}

/// Two turns, the second with a call, and another model for the third.
async fn server() -> FakeOpenAi {
    let replies = [
        ScriptedReply::text("At noon.\nOr later.").with_usage(usage(1_000, 0, 8)),
        calls([("list_files", json!({ "path": "." }))]).with_usage(usage(100, 900, 5)),
        ScriptedReply::text("One file.").with_usage(usage(50, 1_000, 7)),
        ScriptedReply::text("You are welcome.").with_usage(usage(1_200, 0, 3)),
    ];
    FakeOpenAi::start(replies.map(FakeReply::from)).await.unwrap()
}

fn home(base_url: &str) -> Home {
    let home = Home::openai(base_url, "");
    home.write("project/tides.md", "14:20\n");
    let talk = |task: &str, policy: &str| {
        home.run(["run", task, "--session", "harbour", "--model-policy", policy])
            .code(0);
    };
    talk("When is high tide?", "o:m");
    talk("Which files are there?", "o:m");
    talk("Thanks.", "o:n");
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_of_a_request_is_what_the_server_got_byte_for_byte() {
    let server = server().await;
    let base_url = server.base_url();
    let home = tokio::task::spawn_blocking(move || home(&base_url))
        .await
        .unwrap();
    server.assert_complete();
    let sent: Vec<String> = server
        .requests()
        .iter()
        .map(|request| String::from_utf8(request.body.to_vec()).unwrap())
        .collect();
    server.stop().await;
    // Neither a server nor a key is needed to look.
    for (arguments, expected) in [
        (&["--turn", "1"][..], &sent[0]),
        (&["--turn", "2"], &sent[1]),
        (&["--turn", "2", "--round", "1", "--attempt", "1"], &sent[1]),
        (&["--turn", "2", "--round", "2"], &sent[2]),
        (&["--turn", "3"], &sent[3]),
    ] {
        let show = ["prompt", "show", "--session", "harbour"];
        let shown = crate::harness::ended(home.command(show.iter().chain(arguments))).code(0);
        assert_eq!(shown.out, *expected, "{arguments:?}");
        let bytes = format!("{} bytes", expected.len());
        assert!(shown.err.contains(&bytes), "{}", shown.err);
        assert!(shown.err.contains("over Chat Completions"), "{}", shown.err);
        let as_json = show.iter().chain(arguments).chain(&["--json"]);
        let shown = crate::harness::ended(home.command(as_json)).code(0).json();
        assert_eq!(
            (&shown["body"], &shown["exact"]),
            (&Value::from(expected.as_str()), &json!(true))
        );
        assert_eq!(shown["wire"], "chat_completions");
    }
    let prompt = home.run(["prompt", "show", "--session", "harbour"]).code(0).out;
    let first: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(first["messages"][0]["content"], prompt);
    let shown = home.json(["prompt", "show", "--session", "harbour", "--json"]);
    assert_eq!(shown["system_prompt"], prompt);

    let mut told = String::new();
    for arguments in [
        &["prompt", "show", "--session", "harbour", "--turn", "4"][..],
        &[
            "prompt",
            "show",
            "--session",
            "harbour",
            "--turn",
            "1",
            "--round",
            "3",
        ],
        &["prompt", "show", "--session", "nobody"],
        &["prompt", "diff", "1", "9", "--session", "harbour"],
    ] {
        let ended = crate::harness::ended(home.command(arguments)).code(1);
        told.push_str(&home.redacted(&ended.err));
    }
    insta::assert_snapshot!(told);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_turns_are_compared_byte_for_byte_and_line_by_line() {
    let server = server().await;
    let base_url = server.base_url();
    let home = tokio::task::spawn_blocking(move || home(&base_url))
        .await
        .unwrap();
    let diff = |from: &str, to: &str| {
        let ended = home
            .run(["prompt", "diff", from, to, "--session", "harbour"])
            .code(0);
        // How long tools and system prompt are, and what day it is, is not what this is about.
        let shown = home.redacted(&format!("{}{}", ended.err, ended.out));
        let numbers = regex::Regex::new(r"\d{4,}").unwrap();
        numbers.replace_all(&shown, "NNNN").into_owned()
    };
    insta::assert_snapshot!(format!("{}\n{}", diff("1", "2"), diff("2", "3")));
    assert!(diff("2", "2").contains("the same in all"), "{}", diff("2", "2"));

    let requests = server.requests();
    let compared = home.json(["prompt", "diff", "1", "2", "--session", "harbour", "--json"]);
    let common = requests[0]
        .body
        .iter()
        .zip(&requests[1].body)
        .take_while(|(one, other)| one == other)
        .count();
    assert_eq!(compared["common_prefix_bytes"], common);
    assert_eq!(
        (&compared["goes_on"], &compared["breaks"]),
        (&json!(true), &json!([]))
    );
    let compared = home.json(["prompt", "diff", "2", "3", "--session", "harbour", "--json"]);
    assert_eq!(compared["first_difference"]["part"], "model");
    assert_eq!(compared["breaks"][0]["cause"], "model_switch");
}

#[test]
fn nobody_is_shown_what_is_above_them_and_no_secret() {
    let scenario = r#"
[[reply]]
calls = [{ tool = "read_file", arguments = { path = "confidential/plan.md" } }]
[[reply]]
text = "Zanzibar"
[[reply]]
text = "ok"
"#;
    let home = Home::scripted(scenario);
    home.write("project/confidential/plan.md", "Timbuktu\n");
    home.run(["run", "tell me", "--session", "a"]).code(0);
    home.run(["run", "the code is swordfish-0001, mind it", "--session", "a"])
        .code(0);
    let configuration = home.read("config/tidegate/tidegate.toml");
    let show = ["prompt", "show", "--session", "a", "--turn", "2"];
    let all = home.run(show).code(0).says(["which no wire carries"]);
    assert!(all.out.contains("Timbuktu") && all.out.contains("swordfish"));

    home.configure(&format!(
        "{configuration}\n[secrets.code]\nenv = \"CODE\"\ntools = [\"x\"]\narguments = [\"y\"]\n"
    ));
    let secret = home
        .run_with(&[("CODE", "swordfish-0001")], show)
        .code(0)
        .says(["without the values of secrets (code)"]);
    assert!(
        secret.out.contains("the code is [SECRET:code], mind it"),
        "{}",
        secret.out
    );

    home.configure(&format!(
        "{configuration}\n[users.local]\nclearance = \"INTERNAL\"\n"
    ));
    for arguments in [
        &show[..],
        &["prompt", "show", "--session", "a"],
        &["prompt", "diff", "1", "2", "--session", "a"],
    ] {
        let refused = crate::harness::ended(home.command(arguments)).code(3);
        assert_eq!(refused.out, "");
        assert!(refused.err.starts_with("blocked: session s_"), "{}", refused.err);
        for content in ["Timbuktu", "Zanzibar", "plan.md", "tell me"] {
            assert!(!refused.err.contains(content), "{}", refused.err);
        }
        let refused = crate::harness::ended(home.command(arguments.iter().chain(&["--json"]))).code(3);
        assert_eq!(refused.json()["status"], "blocked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_adds_tokens_up_and_tells_how_many_came_from_a_cache() {
    let server = server().await;
    let base_url = server.base_url();
    let home = tokio::task::spawn_blocking(move || home(&base_url))
        .await
        .unwrap();
    let shown = ["model", "session", "tier"].map(|by| {
        let ended = home.run(["usage", "--by", by]).code(0);
        format!("$ tidegate usage --by {by}\n{}", home.redacted(&ended.out))
    });
    insta::assert_snapshot!(shown.join("\n"));
    let all = home.json(["usage", "--json"]);
    assert_eq!(all["total"]["input"], 4_250);
    assert_eq!(all["total"]["usage"]["cache_read"], 1_900);
    let keys: BTreeSet<&str> = all["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["o:m", "o:n"].into());
    let of_one = home.json(["usage", "--session", "harbour", "--by", "day", "--json"]);
    assert_eq!(of_one["total"], all["total"]);
    assert_eq!(of_one["rows"].as_array().unwrap().len(), 1);
    // The session's own total says the same.
    let session = home.json(["sessions", "show", "harbour", "--json"]);
    assert_eq!(session["usage"], all["total"]["usage"]);
    assert_eq!(
        Home::answering("x").run(["usage"]).code(0).out,
        "no model has answered yet\n"
    );
    home.run(["usage", "--session", "nobody"])
        .code(1)
        .says(["there is no session"]);
}
