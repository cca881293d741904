//! `tidegate chat` at a terminal.

use crate::harness::Home;
use crate::screen::Screen;
use std::os::unix::fs::PermissionsExt as _;

/// Calls a tool, so that it is seen that the turn has begun, and then thinks without end.
const ENDLESS: &str = r#"
[[reply]]
calls = [{ tool = "list_files", arguments = { path = "." } }]
[[reply]]
thinking_ms = 3600000
text = "never said"
"#;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn chat(home: &Home) -> Screen {
    Screen::start(home.command(["chat", "--session", "a"]))
}

#[test]
fn a_chat_at_a_terminal() {
    let home = Home::scripted(
        "[[reply]]\ntext = \"Hello there.\"\nchunk_chars = 3\n\
         [[reply]]\ncalls = [{ tool = \"list_files\", arguments = { path = \".\" } }]\n[[reply]]\ntext = \"Empty.\"\n",
    );
    let mut screen = chat(&home);
    let welcome = screen.ready();
    assert!(welcome.contains("session a · auto · "), "{welcome}");
    screen.press("hello\r");
    screen.until("Hello there.\r\n");
    screen.say("look");
    screen.until("✓ list_files .");
    screen.until("Empty.\r\n");
    screen.ready();
    screen.until("INTERNAL> ");
    screen.press(CTRL_D);
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn ctrl_c_cancels_the_turn_and_the_chat_goes_on() {
    let home = Home::scripted(ENDLESS);
    let mut screen = chat(&home);
    screen.say("work");
    screen.until("✓ list_files .");
    screen.press(CTRL_C);
    screen.until("cancelled");
    screen.ready();
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["state"], "idle");
    home.play("[[reply]]\ntext = \"x\"\n[[reply]]\ntext = \"On we go.\"\n[[reply]]\ntext = \"On we go.\"\n");
    drop(screen);
    let mut screen = chat(&home);
    screen.say("more");
    screen.until("On we go.");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn ctrl_c_twice_leaves_and_once_clears_the_line() {
    let home =
        Home::scripted("[[reply]]\nexpect = [\"kept\"]\nexpect_not = [\"cleared\"]\ntext = \"It came.\"\n");
    let mut screen = chat(&home);
    screen.ready();
    screen.press("cleared");
    screen.until("cleared");
    screen.press(CTRL_C);
    screen.say("kept");
    screen.until("It came.");
    screen.ready();
    // One that clears a line does not count, and anything typed in between starts anew.
    screen.press(CTRL_C);
    screen.until("Ctrl-C again leaves");
    screen.ready();
    screen.press("x");
    screen.until("x");
    screen.press(CTRL_C);
    screen.ready();
    screen.press(CTRL_C);
    screen.until("Ctrl-C again leaves");
    screen.ready();
    screen.press(CTRL_C);
    assert_eq!(screen.end().0, Some(130));
}

#[test]
fn pasted_text_and_continued_lines_are_one_message() {
    let home = Home::scripted(
        "[[reply]]\nexpect = [\"first\\nsecond \\\\\\\\\\n/third\"]\ntext = \"One.\"\n[[reply]]\nexpect = [\"up\\ndown\"]\ntext = \"Two.\"\n",
    );
    let mut screen = chat(&home);
    screen.ready();
    screen.press("\u{1b}[200~first\nsecond \\\\\n/third\u{1b}[201~");
    screen.press("\r");
    screen.until("One.");
    screen.say("up\\\rdown");
    screen.until("Two.");
    screen.ready();
    screen.press(CTRL_D);
    assert_eq!(screen.end().0, Some(0));
    assert_eq!(home.json(["sessions", "show", "a", "--json"])["turns"], 2);
}

#[test]
fn what_was_typed_is_kept_for_the_owner_alone() {
    let home = Home::scripted(
        "[[reply]]\ntext = \"One.\"\n[[reply]]\nexpect = [\"remember me\"]\ntext = \"Two.\"\n",
    );
    let mut screen = chat(&home);
    screen.say("remember me");
    screen.until("One.");
    screen.say("/quit");
    screen.end();
    let file = home.path("data/chat-history");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(home.read("data/chat-history").contains("remember me"));
    // Two lines up, over /quit.
    let mut screen = chat(&home);
    screen.ready();
    screen.press("\u{1b}[A\u{1b}[A\r");
    screen.until("Two.");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn an_interrupted_turn_is_offered() {
    let home = Home::scripted(ENDLESS);
    let mut screen = chat(&home);
    screen.say("work");
    screen.until("✓ list_files .");
    rustix::process::kill_process(screen.process(), rustix::process::Signal::KILL).unwrap();
    screen.end();
    home.play("[[reply]]\ntext = \"x\"\n[[reply]]\ntext = \"Finished.\"\n");

    let mut screen = chat(&home);
    screen.until("Go on with it? [y/N] ");
    screen.press("n\n");
    screen.until("/resume goes on with it");
    screen.say("/quit");
    screen.end();

    let mut screen = chat(&home);
    screen.until("Go on with it? [y/N] ");
    screen.press("y\n");
    screen.until("Finished.");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn a_signal_from_outside_gives_the_terminal_back() {
    let home = Home::answering("done");
    let mut screen = chat(&home);
    screen.ready();
    rustix::process::kill_process(screen.process(), rustix::process::Signal::TERM).unwrap();
    screen.until("\u{1b}[?2004l");
    assert_eq!(screen.end().0, Some(130));
}

#[test]
fn what_a_model_says_does_not_play_with_the_terminal() {
    let home = Home::scripted("[[reply]]\ntext = \"\\u001b]0;title\\u0007over\"\n");
    let mut screen = chat(&home);
    screen.say("say it");
    screen.until("\\u{1b}]0;title\\u{7}over");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}
