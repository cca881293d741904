//! `tidegate run`.

use crate::harness::{Home, Running, ended};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

/// A tool call, then a text beside another call, then the answer.
const WORK: &str = r#"
[[reply]]
text = "I look."
calls = [{ tool = "list_files", arguments = { path = "." } }]
usage = { uncached = 10, output = 2 }
[[reply]]
text = "It is empty."
usage = { uncached = 20, output = 3 }
"#;

/// Calls a tool, so that it is seen that the run has begun, and then thinks without end.
pub(crate) const ENDLESS: &str = r#"
[[reply]]
calls = [{ tool = "list_files", arguments = { path = "." } }]
[[reply]]
thinking_ms = 3600000
text = "never said"
[[reply]]
text = "finished at last"
"#;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_answer_is_on_standard_output_and_what_was_done_on_standard_error() {
    let home = Home::scripted(WORK);
    let ended = home.run(["run", "look", "--session", "one"]).code(0);
    assert_eq!(ended.out, "It is empty.\n");
    insta::assert_snapshot!(home.redacted(&ended.err), @r"
    I look.
    ✓ list_files .  N ms
    ▲ this session is INTERNAL now, by list_files of .
    session one · INTERNAL · 1 tool call · 30 tokens in, 5 out
    ");
}

#[test]
fn the_json_of_a_run_has_exactly_the_fields_that_are_documented() {
    let home = Home::scripted(WORK);
    let ended = home.run(["run", "look", "--session", "one", "--json"]).code(0);
    assert_eq!(ended.err, "");
    let report = ended.json();
    assert_eq!(
        keys(&report),
        [
            "session",
            "turn",
            "status",
            "answer",
            "model",
            "rounds",
            "calls_used",
            "label",
            "usage"
        ]
    );
    assert!(report["session"].as_str().unwrap().starts_with("s_"), "{report}");
    assert!(report["turn"].as_str().unwrap().starts_with("u_"), "{report}");
    assert_eq!(report["status"], "success");
    assert_eq!(report["answer"], "It is empty.");
    assert_eq!(report["model"], "s:m");
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["calls_used"], 1);
    assert_eq!(
        report["label"],
        json!({ "classification": "INTERNAL", "integrity": "UNTRUSTED" })
    );
    assert_eq!(report["usage"]["uncached"], 30);
    assert_eq!(report["usage"]["output"], 5);
}

#[test]
fn a_run_that_fails_has_the_same_fields_and_an_error() {
    let home = Home::scripted("[[reply]]\nerrors = [{ class = \"auth\", message = \"go away\" }]\n");
    let report = home.run(["run", "look", "--json"]).code(1).json();
    assert_eq!(report["status"], "error");
    assert!(report["error"].as_str().unwrap().contains("go away"), "{report}");
    let extra: Vec<&str> = keys(&report)
        .into_iter()
        .filter(|key| {
            ![
                "answer",
                "calls_used",
                "label",
                "model",
                "rounds",
                "session",
                "status",
                "turn",
                "usage",
                "error",
            ]
            .contains(key)
        })
        .collect();
    assert_eq!(extra, Vec::<&str>::new());
}

#[test]
fn an_error_before_the_turn_is_an_object_too() {
    let home = Home::bare();
    let report = home.run(["run", "look", "--json"]).code(1).json();
    assert_eq!(report["status"], "error");
    let error = report["error"].as_str().unwrap();
    assert!(error.contains("no model is configured for tier LITE"), "{error}");
}

#[test]
fn the_exit_code_tells_how_it_ended() {
    let home = Home::scripted(WORK);
    home.run(["run", "look"]).code(0);
    home.run(["run", "look", "--level", "RESTRICTED"])
        .code(3)
        .says(["blocked: the task is RESTRICTED; this session may read at most CONFIDENTIAL"]);
    home.run(["run", "--session", "a", "--resume"]).code(1);
    home.run(["run"]).code(2);
}

#[test]
fn a_refused_task_is_told_once_and_the_session_can_be_used() {
    let home = Home::answering("done");
    let blocked = home.run(["run", "top secret", "--session", "a", "--level", "RESTRICTED"]);
    let blocked = blocked.code(3);
    insta::assert_snapshot!(home.redacted(&blocked.err), @r"
    blocked: the task is RESTRICTED; this session may read at most CONFIDENTIAL
      possible: give it to a session with a higher clearance, or give it a lower level if that is true
    session a · PUBLIC · 0 tool calls · 0 tokens in, 0 out
    ");
    assert_eq!(home.run(["run", "work", "--session", "a"]).code(0).out, "done\n");
}

#[test]
fn the_task_may_come_from_standard_input() {
    let home = Home::scripted("[[reply]]\nexpect = [\"line one\\nline two ü\"]\ntext = \"read\"\n");
    let with_input = |bytes: &[u8]| {
        let mut command = home.command(["run", "-"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            err,
        )
    };
    let (code, out, err) = with_input("line one\nline two ü\n".as_bytes());
    assert_eq!((code, out.as_str()), (Some(0), "read\n"), "{err}");
    let (code, _, err) = with_input(b" \n");
    assert_eq!(code, Some(2));
    assert!(err.contains("the task on standard input is empty"), "{err}");
    let (code, _, err) = with_input(b"caf\xe9");
    assert_eq!(code, Some(1));
    assert!(err.contains("is not UTF-8 text"), "{err}");
}

#[test]
fn resuming_with_nothing_to_finish_gives_the_last_answer_again() {
    let home = Home::answering("the answer");
    home.run(["run", "work", "--session", "a"]).code(0);
    for _ in 0..2 {
        let again = home.run(["run", "--session", "a", "--resume"]).code(0);
        assert_eq!(again.out, "the answer\n");
    }
    let report = home.json(["run", "--session", "a", "--resume", "--json"]);
    assert_eq!(report["status"], "success");
    assert_eq!(report["answer"], "the answer");
}

#[test]
fn a_session_is_continued_by_name_or_id() {
    let home =
        Home::scripted("[[reply]]\ntext = \"one\"\n[[reply]]\ntext = \"two\"\n[[reply]]\ntext = \"three\"\n");
    let first = home.json(["run", "a", "--session", "notes", "--json"]);
    let second = home.json(["run", "b", "--session", "notes", "--json"]);
    let id = first["session"].as_str().unwrap();
    let third = home.json(["run", "c", "--session", id, "--json"]);
    assert_eq!(first["session"], second["session"]);
    assert_eq!(first["session"], third["session"]);
    assert_eq!(third["answer"], "three");
}

#[test]
fn what_is_asked_for_has_to_exist() {
    let home = Home::answering("done");
    home.run(["run", "work", "--session", "here"]).code(0);
    let unknown_id = "s_00000000000000000000000000000000";
    for (arguments, said) in [
        (
            ["run", "--session", "nobody", "--resume"].as_slice(),
            "there is no session \"nobody\"",
        ),
        (
            &["run", "work", "--session", unknown_id],
            "there is no session \"s_0000",
        ),
        (
            &["run", "work", "--model-policy", "other:m"],
            "there is no provider other; there are: s",
        ),
        (
            &["run", "work", "--workspace", "nowhere"],
            "the workspace nowhere cannot be used",
        ),
        (&["run", "work", "--workspace", "/dev/null"], "--workspace DIR"),
        (
            &["run", "work", "--session", "here", "--workspace", "/"],
            "possible: leave --workspace out",
        ),
        (
            &["run", "work", "--config", "nowhere.toml"],
            "cannot read the configuration file nowhere.toml",
        ),
    ] {
        ended(home.command(arguments)).code(1).says([said]);
    }
    home.run(["run", "work", "--session", "here", "--workspace", "."]);
}

#[test]
fn the_workspace_is_the_current_folder_unless_another_is_given() {
    let home = Home::scripted(WORK);
    home.write("other/place/a.txt", "a");
    let session = home.json(["run", "look", "--workspace", "../other/place", "--json"]);
    let shown = home.json(["sessions", "show", session["session"].as_str().unwrap(), "--json"]);
    assert_eq!(shown["workspace"], home.path("other/place").display().to_string());
    let session = home.json(["run", "look", "--json"]);
    let shown = home.json(["sessions", "show", session["session"].as_str().unwrap(), "--json"]);
    assert_eq!(shown["workspace"], home.path("project").display().to_string());
}

#[test]
fn an_interrupt_cancels_the_turn_and_the_session_goes_on() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = Home::scripted(ENDLESS);
        let mut run = Running::start(home.command(["run", "work", "--session", "a"]));
        let mut err = run.err();
        err.until("✓ list_files");
        run.signal(signal);
        assert_eq!(run.code(), Some(130));
        let said = err.rest();
        assert!(
            said.contains("cancelled\n  to go on: tidegate run --session a --resume"),
            "{said}"
        );
        let shown = home.json(["sessions", "show", "a", "--json"]);
        assert_eq!(shown["state"], "idle");
        home.play(
            "[[reply]]\ntext = \"x\"\n[[reply]]\ntext = \"on we go\"\n[[reply]]\ntext = \"on we go\"\n",
        );
        assert_eq!(
            home.run(["run", "more", "--session", "a"]).code(0).out,
            "on we go\n"
        );
    }
}

#[test]
fn a_cancelled_run_tells_so_as_json() {
    let home = Home::scripted(ENDLESS);
    let mut follow = Running::start(home.command(["events", "--follow", "--kind", "tool"]));
    let mut events = follow.out();
    let mut run = Running::start(home.command(["run", "work", "--json"]));
    let out = run.out();
    events.until("tool.finished");
    run.signal(Signal::INT);
    assert_eq!(run.code(), Some(130));
    let report: Value = serde_json::from_str(&out.rest()).unwrap();
    assert_eq!(report["status"], "cancelled");
}

#[test]
fn a_second_interrupt_leaves_at_once() {
    let home = Home::scripted(ENDLESS);
    let mut run = Running::start(home.command(["run", "work", "--session", "a"]));
    let mut err = run.err();
    err.until("✓ list_files");
    // The end of the turn cannot be stored while somebody else writes: the first interrupt is not enough.
    let database = rusqlite::Connection::open(home.path("data/tidegate.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    run.signal(Signal::INT);
    err.until("cancelling");
    run.signal(Signal::INT);
    assert_eq!(run.code(), Some(130));
    let said = err.rest();
    assert!(!said.contains("error"), "{said}");
    database.execute_batch("ROLLBACK").unwrap();

    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["state"], "in_turn");
    home.play("[[reply]]\ntext = \"x\"\n[[reply]]\ntext = \"finished\"\n");
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "finished\n"
    );
}

#[test]
fn a_session_in_use_is_not_used_twice() {
    let home = Home::scripted(ENDLESS);
    let mut run = Running::start(home.command(["run", "work", "--session", "a"]));
    run.err().until("✓ list_files");
    for arguments in [
        ["run", "more", "--session", "a"].as_slice(),
        &["run", "--session", "a", "--resume"],
        &["sessions", "delete", "a", "--yes"],
    ] {
        ended(home.command(arguments))
            .code(1)
            .says(["is in use; wait until its turn is over"]);
    }
    home.run(["sessions", "show", "a"]).code(0);
}
