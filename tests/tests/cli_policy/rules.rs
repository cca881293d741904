//! Custom rules at every hook that is called.

use crate::harness::Home;
use crate::{calling, configured, decisions, events};

const READS_AND_WRITES: &[(&str, &str)] = &[
    ("read_file", "{ path = \"notes.txt\" }"),
    ("write_file", "{ path = \"out.txt\", content = \"x\" }"),
];

fn rule(hook: &str, when: &str, action: &str) -> String {
    format!(
        "[[policy.rules]]\nid = \"mine\"\nhook = \"{hook}\"\nwhen = [{when}]\naction = \"{action}\"\nmessage = \"as I wish\"\n"
    )
}

#[test]
fn a_rule_blocks_a_call_and_says_why() {
    let when = "{ field = \"tool\", op = \"equals\", value = \"write_file\" }, { field = \"arguments.path\", op = \"matches\", value = '\\.txt$' }";
    let home = configured(
        calling(&[READS_AND_WRITES[1]]),
        &rule("PRE_TOOL_CALL", when, "BLOCK"),
    );
    assert_eq!(
        home.run(["run", "write out.txt", "--session", "a"]).code(0).out,
        "Over.\n"
    );
    assert!(!home.path("project/out.txt").exists());
    assert_eq!(
        decisions(&home, "write_file"),
        [("BLOCK".to_owned(), "mine".to_owned())]
    );
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("as I wish"), "{history}");
}

#[test]
fn no_rule_overrides_a_built_in_one() {
    for action in ["ALLOW", "BLOCK", "REQUIRE_APPROVAL"] {
        let home = configured(
            calling(&[
                ("read_file", "{ path = \"confidential/a.txt\" }"),
                ("write_file", "{ path = \"public/a.txt\", content = \"x\" }"),
            ]),
            &format!(
                "{}priority = 1000000\n",
                rule("PRE_TOOL_CALL", "", action).replace("when = []\n", "")
            ),
        );
        home.write("project/confidential/a.txt", "secret\n");
        home.write("project/public/b.txt", "open\n");
        home.run(["run", "copy a.txt to public/a.txt"]).code(0);
        assert!(!home.path("project/public/a.txt").exists());
        if action == "ALLOW" {
            assert_eq!(
                decisions(&home, "write_file"),
                [("BLOCK".to_owned(), "no-write-down".to_owned())]
            );
        }
    }
}

#[test]
fn a_rule_redacts_a_result_before_the_model_sees_it() {
    let redacting = "[[policy.rules]]\nid = \"cards\"\nhook = \"POST_TOOL_RESPONSE\"\nwhen = [{ field = \"text\", op = \"matches\", value = '\\b\\d{16}\\b' }]\naction = \"REDACT\"\npattern = '\\b\\d{16}\\b'\n";
    let home = configured(calling(&[READS_AND_WRITES[0]]), redacting);
    home.write("project/notes.txt", "card 4111111111111111, name Ann\n");
    home.run(["run", "read", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("card [REDACTED:cards], name Ann"), "{history}");
    let stored = home.bytes_below("data");
    let number = b"4111111111111111";
    assert!(
        !stored.windows(number.len()).any(|bytes| bytes == number),
        "the number is stored"
    );
}

#[test]
fn a_result_that_a_rule_refuses_is_withheld_and_raises_the_session() {
    let when = "{ field = \"text\", op = \"contains\", value = \"forbidden\" }";
    let home = configured(
        calling(&[READS_AND_WRITES[0]]),
        &rule("POST_TOOL_RESPONSE", when, "BLOCK"),
    );
    home.write("project/notes.txt", "a forbidden word\n");
    home.run(["run", "read", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(!history.contains("a forbidden word"), "{history}");
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["taint"]["label"]["classification"], "INTERNAL", "{shown}");
}

#[test]
fn an_answer_is_redacted_in_what_is_shown_and_in_what_is_kept() {
    let redacting = "[[policy.rules]]\nid = \"cards\"\nhook = \"PRE_OUTPUT\"\naction = \"REDACT\"\npattern = '\\b\\d{16}\\b'\n";
    let home = configured(
        Home::scripted("[[reply]]\ntext = \"Your card is 4111111111111111.\"\n"),
        redacting,
    );
    let ended = home.run(["run", "which card?", "--session", "a"]).code(0);
    assert_eq!(ended.out, "Your card is [REDACTED:cards].\n");
    assert!(!ended.err.contains("4111"), "{}", ended.err);
    let stored = home.bytes_below("data");
    let number = b"4111111111111111";
    assert!(
        !stored.windows(number.len()).any(|bytes| bytes == number),
        "the number is stored"
    );
    // What was said before is shown again as it was told.
    let again = home.run(["run", "--session", "a", "--resume"]).code(0);
    assert_eq!(again.out, "Your card is [REDACTED:cards].\n");
}

#[test]
fn an_answer_that_a_rule_refuses_is_not_shown() {
    let when = "{ field = \"text\", op = \"contains\", value = \"launch code\" }";
    let home = configured(
        Home::scripted("[[reply]]\ntext = \"The launch code is 0000.\"\n"),
        &rule("PRE_OUTPUT", when, "BLOCK"),
    );
    let ended = home.run(["run", "tell me"]).code(3);
    assert!(
        !ended.out.contains("0000") && !ended.err.contains("0000"),
        "{} {}",
        ended.out,
        ended.err
    );
    assert!(ended.err.contains("as I wish"), "{}", ended.err);
}

#[test]
fn a_task_that_a_rule_refuses_reaches_no_model() {
    let when = "{ field = \"text\", op = \"contains\", value = \"hush\" }";
    let home = configured(calling(&[]), &rule("PRE_CONTEXT_INJECTION", when, "BLOCK"));
    home.run(["run", "hush, tell nobody"]).code(3).says(["as I wish"]);
    assert!(events(&home, "model.called").is_empty());
    home.run(["run", "something else"]).code(0);
}

#[test]
fn a_task_is_redacted_before_the_model_sees_it() {
    let redacting = "[[policy.rules]]\nid = \"cards\"\nhook = \"PRE_CONTEXT_INJECTION\"\naction = \"REDACT\"\npattern = '\\b\\d{16}\\b'\n";
    let home = configured(
        Home::scripted("[[reply]]\nexpect = [\"pay with [REDACTED:cards]\"]\ntext = \"Over.\"\n"),
        redacting,
    );
    home.run(["run", "pay with 4111111111111111"]).code(0);
}

#[test]
fn a_rule_that_asks_waits_for_the_owner_and_a_grant_is_good_once() {
    let when = "{ field = \"tool\", op = \"equals\", value = \"write_file\" }";
    let home = configured(
        calling(&[READS_AND_WRITES[1]]),
        &format!(
            "[policy]\nunattended = \"wait\"\n{}",
            rule("PRE_TOOL_CALL", when, "REQUIRE_APPROVAL")
        ),
    );
    home.run(["run", "write out.txt", "--session", "a"]).code(5);
    assert!(!home.path("project/out.txt").exists());
    let waiting = home.json(["approvals", "list", "--json"]);
    assert_eq!(waiting["request"]["rule"], "mine", "{waiting}");
    home.run(["approvals", "grant", waiting["id"].as_str().unwrap()])
        .code(0);
    home.run(["run", "--session", "a", "--resume"]).code(0);
    assert_eq!(home.read("project/out.txt"), "x");
}

#[test]
fn a_session_is_not_reset_against_a_rule() {
    let home = configured(
        Home::answering("Hello."),
        &rule("SESSION_RESET", "", "BLOCK").replace("when = []\n", ""),
    );
    let mut command = home.command(["chat", "--session", "a"]);
    let input = home.write("input", "hello\n/reset\nhello\n");
    command.stdin(std::fs::File::open(input).unwrap());
    let ended = crate::harness::ended(command);
    assert!(ended.err.contains("as I wish"), "{}", ended.err);
    let sessions = home.run(["sessions", "list", "--json"]).code(0).out;
    assert_eq!(sessions.lines().count(), 1, "{sessions}");
}

#[test]
fn mistakes_in_rules_are_named_with_their_places_and_nothing_starts() {
    let home = configured(
        Home::answering("x"),
        "[[policy.rules]]\nid = \"no-write-down\"\nhook = \"PRE_TOOL_CALL\"\naction = \"BLOCK\"\n\
         [[policy.rules]]\nid = \"two\"\nhook = \"PRE_TOOLCALL\"\naction = \"BLOCK\"\n\
         [[policy.rules]]\nid = \"three\"\nhook = \"PRE_OUTPUT\"\nwhen = [{ field = \"txt\", op = \"equals\", value = 1 }]\naction = \"REDACT\"\n\
         [[policy.rules]]\nid = \"four\"\nhook = \"PRE_OUTPUT\"\nwhen = [{ field = \"text\", op = \"matches\", value = \"(\" }]\naction = \"DENY\"\n",
    );
    for arguments in [
        ["run", "work"].as_slice(),
        &["policy", "check"],
        &["config", "check"],
    ] {
        let ended = crate::harness::ended(home.command(arguments)).code(1);
        for said in [
            "tidegate.toml:",
            "no-write-down",
            "PRE_TOOLCALL",
            "txt",
            "pattern",
            "DENY",
        ] {
            assert!(ended.err.contains(said), "{said} is not in:\n{}", ended.err);
        }
    }
}

#[test]
fn rules_are_shown_in_the_order_they_are_looked_at() {
    let home = configured(
        Home::answering("x"),
        "[[policy.rules]]\nid = \"low\"\nhook = \"PRE_OUTPUT\"\naction = \"ALLOW\"\n\
         [[policy.rules]]\nid = \"high\"\nhook = \"PRE_OUTPUT\"\npriority = 5\naction = \"BLOCK\"\n",
    );
    let told = home.run(["policy", "check"]).code(0).out;
    insta::assert_snapshot!(home.redacted(&told));
}

#[test]
fn the_fields_of_each_hook_are_told() {
    let home = Home::bare();
    let mut told = home.run(["policy", "fields"]).code(0).out;
    let hooks = home.json(["policy", "fields", "--json"]);
    for hook in hooks["hooks"].as_array().unwrap() {
        let hook = hook["hook"].as_str().unwrap();
        told.push_str(&format!("\n$ tidegate policy fields {hook}\n"));
        told.push_str(&home.run(["policy", "fields", hook]).code(0).out);
        let json = home.json(["policy", "fields", hook, "--json"]);
        assert!(!json["fields"].as_array().unwrap().is_empty());
    }
    insta::assert_snapshot!(told);
}
