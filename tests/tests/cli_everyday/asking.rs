//! Approvals at the terminal, in `run` and in `chat`.

use crate::harness::Home;
use crate::screen::Screen;

/// Writes a file with a call that has to be approved, and says what came of it.
pub(crate) const WRITES: &str = r#"
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "notes/a.md", content = "line 1\nline \u001b[2J 2\n" } }]
[[reply]]
text = "Over."
"#;

pub(crate) const ASKS: &str = r#"
[providers.s]
kind = "scripted"
scenario = "scenario.toml"
[tiers]
lite = ["s:m"]
[policy.tools.write_file]
approval = true
"#;

fn home(scenario: &str) -> Home {
    let home = Home::scripted(scenario);
    home.configure(ASKS);
    home
}

#[test]
fn the_whole_call_is_shown_and_yes_runs_it() {
    let home = home(WRITES);
    let mut screen = Screen::start(home.command(["run", "write notes/a.md", "--session", "a"]));
    let shown = screen.until("[y/N, w to let it wait] ");
    for text in [
        "tool     write_file",
        "notes/a.md   ← you wrote it (message 1)",
        "goes to  notes/a.md (may hold INTERNAL)",
        "carries  INTERNAL data",
        "│ line 1\n",
        "│ line \\u{1b}[2J 2\n",
    ] {
        assert!(shown.contains(text), "{text:?} is not in:\n{shown}");
    }
    assert!(
        !home.path("project/notes/a.md").exists(),
        "it runs only when it is approved"
    );
    screen.press("y\n");
    screen.until("Over.");
    assert_eq!(screen.end().0, Some(0));
    assert_eq!(home.read("project/notes/a.md"), "line 1\nline \u{1b}[2J 2\n");
}

#[test]
fn everything_but_yes_is_no() {
    for answer in ["\n", "n\n", "maybe\n", "yes please\n", "\u{4}"] {
        let home = home(WRITES);
        let mut screen = Screen::start(home.command(["run", "write", "--session", "a"]));
        screen.until("[y/N, w to let it wait] ");
        screen.press(answer);
        screen.until("Over.");
        assert_eq!(screen.end().0, Some(0), "{answer:?}");
        assert!(!home.path("project/notes/a.md").exists(), "{answer:?}");
        let history = home.run(["sessions", "history", "a"]).code(0).out;
        assert!(history.contains("The owner refused it"), "{history}");
    }
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let home = home(WRITES);
    let mut command = home.command(["run", "write", "--session", "a"]);
    command.env("TIDEGATE__AGENT__MAX_ROUNDS", "5");
    let mut screen = Screen::start(command);
    screen.press("y\n");
    screen.until("[y/N, w to let it wait] ");
    screen.press("\n");
    screen.until("Over.");
    screen.end();
    assert!(!home.path("project/notes/a.md").exists());
}

#[test]
fn long_content_comes_in_pages_and_is_never_cut() {
    let lines: Vec<String> = (1..=60).map(|line| format!("row {line} of it")).collect();
    let content = lines.join("\\n");
    let home = home(&format!(
        "[[reply]]\ncalls = [{{ tool = \"write_file\", arguments = {{ path = \"a.md\", content = \"{content}\" }} }}]\n[[reply]]\ntext = \"Over.\"\n"
    ));
    let mut screen = Screen::start(home.command(["run", "write"]));
    screen.until("lines: Enter shows more");
    screen.press("\n");
    screen.until("lines: Enter shows more");
    screen.press("\n");
    screen.until("lines: Enter shows more");
    screen.press("\n");
    screen.until("row 60 of it");
    screen.until("[y/N, w to let it wait] ");
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    for line in lines {
        assert!(seen.contains(&line), "{line} was not shown:\n{seen}");
    }
}

#[test]
fn it_can_be_asked_and_refused_in_the_chat() {
    let home = home(&format!("{WRITES}{}", WRITES.replace("a.md", "b.md")));
    let mut screen = Screen::start(home.command(["chat", "--session", "a"]));
    screen.say("write");
    screen.until("[y/N, w to let it wait] ");
    screen.press("n\n");
    screen.until("Over.");
    screen.say("write again");
    screen.until("[y/N, w to let it wait] ");
    screen.press("yes\n");
    screen.until("✓ write_file notes/b.md");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
    assert!(!home.path("project/notes/a.md").exists());
    assert!(home.path("project/notes/b.md").exists());
}

#[test]
fn it_can_wait_and_be_granted_elsewhere() {
    let home = home(WRITES);
    let mut screen = Screen::start(home.command(["chat", "--session", "a"]));
    screen.say("write");
    screen.until("[y/N, w to let it wait] ");
    screen.press("w\n");
    screen.until("waits for approval: a_");
    screen.ready();
    let waiting = home.json(["approvals", "list", "--json"]);
    home.run(["approvals", "grant", waiting["id"].as_str().unwrap()])
        .code(0);
    screen.press("/resume\r");
    screen.until("✓ write_file notes/a.md");
    screen.until("Over.");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn ctrl_c_at_the_question_cancels_the_turn_and_grants_nothing() {
    let home = home(WRITES);
    let mut screen = Screen::start(home.command(["chat", "--session", "a"]));
    screen.say("write");
    screen.until("[y/N, w to let it wait] ");
    screen.press("\u{3}");
    screen.until("cancelled");
    // The terminal is the line editor's again, and what is typed now is no late answer.
    screen.say("/taint");
    screen.until("PUBLIC");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
    assert!(!home.path("project/notes/a.md").exists());
}

#[test]
fn names_that_only_look_like_others_are_marked() {
    let home = home(&WRITES.replace("notes/a.md", "p\\u0430ypal/a.md"));
    let mut screen = Screen::start(home.command(["run", "write"]));
    let shown = screen.until("[y/N, w to let it wait] ");
    assert!(shown.contains("U+0430"), "{shown}");
    assert!(shown.contains("only looks like \"paypal\""), "{shown}");
    screen.press("n\n");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn a_rise_of_the_level_is_asked_about_at_a_terminal() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"read_file\", arguments = { path = \"confidential/a\" } }]\n[[reply]]\ntext = \"Over.\"\n",
    );
    home.write("project/confidential/a", "42");
    let mut screen = Screen::start(home.command(["run", "read", "--session", "a"]));
    let shown = screen.until("[y/N, w to let it wait] ");
    assert!(shown.contains("CONFIDENTIAL"), "{shown}");
    screen.press("y\n");
    screen.until("Over.");
    assert_eq!(screen.end().0, Some(0));
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["taint"]["label"]["classification"], "CONFIDENTIAL");
}
