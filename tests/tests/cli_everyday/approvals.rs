//! `tidegate approvals`, across processes.

use crate::asking::{ASKS, WRITES};
use crate::harness::Home;
use serde_json::Value;

/// A home whose unattended runs wait, with one call waiting. Gives its id.
fn waiting() -> (Home, String) {
    let home = Home::scripted(WRITES);
    home.configure(&format!("{ASKS}\n[policy]\nunattended = \"wait\"\n"));
    let ended = home.run(["run", "write", "--session", "a"]).code(5);
    let list = home.run(["approvals", "list", "--json"]).code(0).lines();
    assert_eq!(list.len(), 1);
    let id = list[0]["id"].as_str().unwrap().to_owned();
    ended.says([
        &format!("waits for approval: {id}"),
        &format!("tidegate approvals grant {id}"),
        "tidegate run --session a --resume",
    ]);
    assert!(!home.path("project/notes/a.md").exists());
    (home, id)
}

#[test]
fn an_unattended_run_refuses_unless_it_is_told_to_wait() {
    let home = Home::scripted(WRITES);
    home.configure(ASKS);
    assert_eq!(
        home.run(["run", "write", "--session", "a"]).code(0).out,
        "Over.\n"
    );
    assert!(!home.path("project/notes/a.md").exists());
    let list = home.run(["approvals", "list"]).code(0);
    assert_eq!(list.out, "nothing waits for approval\n");
    assert_eq!(home.run(["approvals", "list", "--json"]).code(0).out, "");
}

#[test]
fn the_list_shows_everything_the_owner_has_to_see() {
    let (home, id) = waiting();
    let list = home.run(["approvals", "list"]).code(0).out;
    for text in [
        id.as_str(),
        "session a",
        "expires in",
        "write_file",
        "notes/a.md",
        "may hold INTERNAL",
        "│ line \\u{1b}[2J 2",
        "tidegate approvals grant ID",
    ] {
        assert!(list.contains(text), "{text:?} is not in:\n{list}");
    }
    let shown = home.json(["approvals", "list", "--json"]);
    assert_eq!(shown["state"], "waiting");
    assert_eq!(shown["name"], "a");
    assert_eq!(shown["request"]["arguments"]["path"], "notes/a.md");
}

#[test]
fn a_granted_call_runs_once() {
    let (home, id) = waiting();
    // Without an answer the turn goes on waiting.
    home.run(["run", "--session", "a", "--resume"]).code(5);
    let granted = home.run(["approvals", "grant", &id]).code(0);
    assert!(
        granted
            .out
            .contains("granted, once: write_file to notes/a.md (INTERNAL)"),
        "{granted:?}"
    );
    assert!(
        granted.out.contains("tidegate run --session a --resume"),
        "{granted:?}"
    );
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "Over.\n"
    );
    assert!(home.path("project/notes/a.md").exists());
    for command in ["grant", "refuse"] {
        home.run(["approvals", command, &id]).code(1).says([&id]);
    }
    std::fs::remove_file(home.path("project/notes/a.md")).unwrap();
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "Over.\n"
    );
    assert!(!home.path("project/notes/a.md").exists(), "the grant is used up");
}

#[test]
fn a_refused_call_does_not_run_and_the_model_is_told() {
    let (home, id) = waiting();
    let refused: Value = home.json(["approvals", "refuse", &id, "--json"]);
    assert_eq!(refused["state"], "refused");
    assert_eq!(
        home.run(["run", "--session", "a", "--resume"]).code(0).out,
        "Over.\n"
    );
    assert!(!home.path("project/notes/a.md").exists());
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(history.contains("The owner refused it"), "{history}");
}

#[test]
fn a_new_task_ends_a_turn_that_waits_and_its_call_is_not_run() {
    let (home, id) = waiting();
    home.play(&format!("{WRITES}\n[[reply]]\ntext = \"Other.\"\n"));
    let ended = home.run(["run", "something else", "--session", "a"]).code(0);
    assert!(ended.out == "Over.\n" || ended.out == "Other.\n", "{ended:?}");
    home.run(["approvals", "grant", &id]).code(1);
    assert!(!home.path("project/notes/a.md").exists());
}

#[test]
fn ids_that_are_none_are_usage_errors_and_unknown_ones_errors() {
    let home = Home::answering("done");
    home.run(["run", "work"]).code(0);
    home.run(["approvals", "grant", "nonsense"]).code(2);
    let unknown = "a_00000000000000000000000000000000";
    let ended = home.run(["approvals", "grant", unknown, "--json"]).code(1);
    assert_eq!(ended.json()["status"], "error");
    home.run(["approvals", "refuse", unknown]).code(1).says([unknown]);
}
