//! `tidegate chat` over a pipe: each line is a message.

use crate::harness::{Ended, Home, Running};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Answers three messages, each with what is expected in it.
const THREE: &str = r#"
[[reply]]
expect = ["one"]
text = "first"
[[reply]]
expect = ["two"]
text = "second"
[[reply]]
expect = ["three"]
text = "third"
"#;

#[track_caller]
pub(crate) fn with_input(mut command: Command, input: impl AsRef<[u8]>) -> Ended {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A program that ended before it read everything is seen by its exit code.
    let _ = child.stdin.take().unwrap().write_all(input.as_ref());
    let output = child.wait_with_output().unwrap();
    let ended = Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    ended
}

fn chat(home: &Home, arguments: &[&str], input: &str) -> Ended {
    let arguments = ["chat"].iter().chain(arguments);
    with_input(home.command(arguments), input)
}

#[test]
fn each_line_is_a_message_and_blank_ones_are_none() {
    let home = Home::scripted(THREE);
    let ended = chat(&home, &[], "one\n\n  \ntwo\nthree").code(0);
    assert_eq!(ended.out, "first\nsecond\nthird\n");
    assert!(
        !ended.out.contains('>') && !ended.err.contains("> "),
        "no prompt: {ended:?}"
    );
}

#[test]
fn lines_are_joined_by_a_backslash() {
    let home = Home::scripted("[[reply]]\nexpect = [\"a\\nb\\nc\"]\ntext = \"joined\"\n");
    assert_eq!(chat(&home, &[], "a\\\nb\\\nc\n").code(0).out, "joined\n");
}

#[test]
fn the_exit_code_is_that_of_the_last_turn_and_errors_leave_the_chat_usable() {
    let failing =
        "[[reply]]\ntext = \"first\"\n[[reply]]\nerrors = [{ class = \"auth\", message = \"go away\" }]\n";
    let home = Home::scripted(failing);
    let ended = chat(&home, &[], "one\ntwo\n").code(1);
    assert_eq!(ended.out, "first\n");
    ended.says(["go away", "to try again: /resume"]);

    let recovers = format!("{failing}\n[[reply]]\ntext = \"never\"\n");
    home.play(&recovers.replace(
        "errors = [{ class = \"auth\", message = \"go away\" }]",
        "errors = [{ class = \"auth\", message = \"go away\" }]\ntext = \"second\"",
    ));
    let ended = chat(&home, &[], "one\ntwo\n/resume\n").code(0);
    assert_eq!(ended.out, "first\nsecond\n");
    chat(&home, &[], "").code(0);
}

#[test]
fn an_endpoint_that_is_down_is_told_with_what_to_do() {
    let home = Home::openai("http://127.0.0.1:1/v1", "");
    let ended = chat(&home, &[], "hello\n/taint\n").code(1);
    assert!(ended.out.contains("PUBLIC"), "the chat goes on: {ended:?}");
    ended.says(["127.0.0.1:1", "cannot be reached", "base_url of [providers.o]"]);
}

#[test]
fn a_session_is_continued_by_name_and_by_run() {
    let home = Home::scripted(THREE);
    assert_eq!(chat(&home, &["--session", "a"], "one\n").code(0).out, "first\n");
    assert_eq!(chat(&home, &["--session", "a"], "two\n").code(0).out, "second\n");
    assert_eq!(
        home.run(["run", "three", "--session", "a"]).code(0).out,
        "third\n"
    );
}

#[test]
fn commands_show_and_change_the_session() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"list_files\", arguments = { path = \".\" } }]\n[[reply]]\ntext = \"done\"\n",
    );
    let ended = chat(
        &home,
        &["--session", "a"],
        "look\n/taint\n/tools\n/model\n/model FLASH\n/history\n/help\n",
    )
    .code(0);
    for text in [
        "INTERNAL",
        "list_files",
        "write_file",
        "changes something",
        "only reads",
        "model policy: auto\n",
        "model policy: FLASH\n",
        "you · ",
        "/resume",
    ] {
        assert!(ended.out.contains(text), "{text:?} is not in:\n{}", ended.out);
    }
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["model_policy"], "FLASH");
}

#[test]
fn a_policy_that_cannot_be_used_changes_nothing() {
    let home = Home::answering("done");
    let ended = chat(&home, &["--session", "a"], "/model other:m\n/model\nwork\n").code(0);
    assert_eq!(ended.out, "model policy: auto\nmodel policy: auto\ndone\n");
    ended.says(["there is no provider other; there are: s"]);
}

#[test]
fn what_looks_like_a_command_and_is_none_is_not_sent() {
    let home = Home::scripted("[[reply]]\nexpect = [\"/etc/hosts\"]\ntext = \"sent\"\n");
    let ended = chat(&home, &[], "/etc/hosts\n/quit now\n /etc/hosts\n").code(0);
    assert_eq!(ended.out, "sent\n");
    ended.says(["there is no command /etc/hosts", "/quit takes nothing"]);
}

#[test]
fn a_reset_goes_on_in_a_new_public_session() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"read_file\", arguments = { path = \"internal/a\" } }]\n[[reply]]\nexpect_not = [\"nothing\"]\ntext = \"done\"\n",
    );
    home.write("project/internal/a", "42");
    let before = chat(
        &home,
        &["--session", "a", "--json"],
        "read\n/reset\n/taint\nread\n/taint\n",
    )
    .code(0);
    let lines = before.lines();
    assert_eq!(lines.len(), 5, "{lines:?}");
    let (first, reset, fresh, second) = (&lines[0], &lines[1], &lines[2], &lines[3]);
    assert_eq!(reset["from"], first["session"]);
    assert_ne!(reset["session"], first["session"]);
    assert_eq!(fresh["session"], reset["session"]);
    assert_eq!(fresh["taint"]["label"]["classification"], "PUBLIC", "{fresh}");
    assert_eq!(second["session"], reset["session"]);
    assert_eq!(second["label"]["classification"], "INTERNAL");
    // The name moves on; the session before is there under its id.
    assert_eq!(
        home.json(["sessions", "show", "a", "--json"])["id"],
        reset["session"]
    );
    let old = home.json(["sessions", "show", first["session"].as_str().unwrap(), "--json"]);
    assert_eq!((&old["name"], &old["turns"]), (&Value::Null, &1.into()));
}

#[test]
fn as_json_there_is_one_object_a_line() {
    let home = Home::scripted(THREE);
    let ended = chat(
        &home,
        &["--json"],
        "one\n/taint\n/tools\n/model\n/history\n/help\n/nope\ntwo\n",
    )
    .code(0);
    assert_eq!(ended.err, "");
    let lines = ended.lines();
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["command"].as_str().or(line["status"].as_str()).unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "success", "taint", "tools", "model", "history", "help", "error", "success"
        ]
    );
    assert_eq!(lines[7]["answer"], "second");
}

#[test]
fn quitting_leaves_the_rest_of_the_input() {
    let home = Home::scripted(THREE);
    assert_eq!(chat(&home, &[], "one\n/quit\ntwo\n").code(0).out, "first\n");
}

#[test]
fn input_that_is_no_text_is_an_error() {
    let home = Home::scripted(THREE);
    let ended = with_input(home.command(["chat"]), b"one\ncaf\xe9\n").code(1);
    assert_eq!(ended.out, "first\n");
    ended.says(["is not UTF-8 text"]);
}

#[test]
fn an_interrupt_cancels_the_turn_and_ends_the_script() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = Home::scripted(
            "[[reply]]\ncalls = [{ tool = \"list_files\", arguments = { path = \".\" } }]\n[[reply]]\nthinking_ms = 3600000\ntext = \"never\"\n",
        );
        let mut command = home.command(["chat", "--session", "a"]);
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        running
            .child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"work\nmore\n")
            .unwrap();
        running.err().until("✓ list_files");
        running.signal(signal);
        assert_eq!(running.code(), Some(130));
        let shown: Value = home.json(["sessions", "show", "a", "--json"]);
        assert_eq!((&shown["state"], &shown["turns"]), (&"idle".into(), &1.into()));
    }
}
