//! Questions of the model when nobody is there: `run` ends with exit code 4, and the answer comes later.

use crate::harness::{Home, Running};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_testing::{FakeOpenAi, FakeReply};
use tokio::sync::Notify;

const ASKS: &str = r#"
[[reply]]
calls = [{ tool = "ask_user", arguments = { question = "Which \u001b[2Jcolour?", choices = ["red", "blue"], expires_s = 7200 } }]
[[reply]]
text = "Over."
"#;

#[test]
fn a_question_with_nobody_there_waits_and_is_answered_later() {
    let home = Home::scripted(ASKS);
    let ended = home.run(["run", "ask", "--session", "a"]).code(4);
    let list = home.run(["approvals", "list", "--json"]).code(0).json();
    let id = list["id"].as_str().unwrap().to_owned();
    assert_eq!(list["question"]["question"], "Which \u{1b}[2Jcolour?");
    assert_eq!(list["state"], "waiting");
    ended.says([
        &format!("the model asks ({id}, until "),
        "│ Which \\u{1b}[2Jcolour?",
        "  2  blue",
        "to answer: tidegate run --session a --resume --answer TEXT",
    ]);
    let shown = home.run(["approvals", "list"]).code(0).out;
    for text in ["│ Which \\u{1b}[2Jcolour?", "  1  red", "--answer TEXT"] {
        assert!(shown.contains(text), "{text:?} is not in:\n{shown}");
    }
    assert!(
        !shown.contains("approvals grant"),
        "a question is not granted: {shown}"
    );

    // Still unanswered: the same question, as JSON.
    let pending = home
        .run(["run", "--session", "a", "--resume", "--json"])
        .code(4)
        .json();
    assert_eq!(pending["status"], "pending_question");
    assert_eq!(pending["question"], "Which \u{1b}[2Jcolour?");
    assert_eq!(pending["questions"][0]["id"], id.as_str());
    assert_eq!(pending["questions"][0]["choices"], json!(["red", "blue"]));
    assert!(pending["questions"][0]["expires_ms"].as_i64().unwrap() > 0);
    // A question is answered, not granted.
    home.run(["approvals", "grant", &id])
        .code(1)
        .says(["is a question of the model", "--answer TEXT"]);

    let answered = home.run(["run", "--session", "a", "--resume", "--answer", "green, please"]);
    assert_eq!(answered.code(0).out, "Over.\n");
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert_eq!(history.matches("green, please").count(), 1, "{history}");
    for arguments in [
        vec!["run", "--session", "a", "--resume", "--answer", "again"],
        vec![
            "run",
            "--session",
            "a",
            "--resume",
            "--question",
            &id,
            "--answer",
            "again",
        ],
    ] {
        let mut command = home.command(&arguments);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("waits for no answer"), "{err}");
    }
    let events = home.run(["events", "--kind", "question"]).code(0).out;
    assert!(events.contains(&format!("{id} answered")), "{events}");
}

#[test]
fn a_choice_is_named_by_its_number_and_an_answer_needs_a_session() {
    let home = Home::scripted(ASKS);
    home.run(["run", "ask", "--session", "a"]).code(4);
    home.run(["run", "--session", "a", "--resume", "--answer", "2"])
        .code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("blue"), "{history}");
    home.run(["run", "task", "--answer", "2"]).code(2);
}

#[test]
fn a_refused_question_is_told_to_the_model() {
    let home = Home::scripted(ASKS);
    home.run(["run", "ask", "--session", "a"]).code(4);
    let list = home.json(["approvals", "list", "--json"]);
    let id = list["id"].as_str().unwrap();
    let refused = home.run(["approvals", "refuse", id]).code(0);
    assert!(refused.out.contains("refused: the question"), "{refused:?}");
    home.run(["run", "--session", "a", "--resume", "--answer", "red"])
        .code(1)
        .says(["was refused before"]);
    home.run(["run", "--session", "a", "--resume"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("the user does not want to answer"), "{history}");
}

#[test]
fn in_a_chat_that_nobody_types_the_next_message_is_the_answer() {
    let home = Home::scripted(ASKS);
    home.write("project/lines", "ask\nblue\n");
    let mut command = home.command(["chat", "--session", "a", "--json"]);
    command.stdin(std::fs::File::open(home.path("project/lines")).unwrap());
    let lines = crate::harness::ended(command).code(0).lines();
    let statuses: Vec<&str> = lines
        .iter()
        .map(|line| line["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["pending_question", "success"]);
}

/// Killed after the answer was stored and while the model thinks about it: the answer is there once.
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_answer_the_turn_goes_on_with_it_once() {
    let thinks = Arc::new(Notify::new());
    let (began, is_first) = (Arc::clone(&thinks), AtomicBool::new(true));
    let server = FakeOpenAi::answering(move |request| {
        if request.assistant_messages() == 0 {
            return FakeReply::calls([("ask_user", json!({ "question": "Which?" }))]);
        }
        let mut reply = FakeReply::text("Over.");
        if is_first.swap(false, Ordering::SeqCst) {
            // It never comes.
            reply.hold = Some(Arc::default());
            began.notify_one();
        }
        reply
    })
    .await
    .unwrap();
    let home = Home::openai(&server.base_url(), "");
    let home = tokio::task::spawn_blocking(move || {
        home.run(["run", "ask", "--session", "a"]).code(4);
        home
    })
    .await
    .unwrap();
    let mut running =
        Running::start(home.command(["run", "--session", "a", "--resume", "--answer", "the green"]));
    thinks.notified().await;
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.code(), None);
    server.until_idle().await;
    tokio::task::spawn_blocking(move || {
        home.run(["run", "--session", "a", "--resume", "--answer", "the green"])
            .code(1)
            .says(["was answered before"]);
        let ended = home.run(["run", "--session", "a", "--resume"]).code(0);
        assert_eq!(ended.out, "Over.\n");
        let history = home.run(["sessions", "history", "a"]).code(0).out;
        assert_eq!(history.matches("the green").count(), 1, "{history}");
    })
    .await
    .unwrap();
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    let last = server.requests().pop().unwrap();
    assert_eq!(last.json.to_string().matches("the green").count(), 1);
}
