//! Editing `tidegate.toml` while a chat goes on.

use crate::harness::{Home, Running};
use std::io::Write as _;
use std::process::Stdio;

/// Another scenario file, and a limit.
const CHANGED: &str = r#"
[providers.s]
kind = "scripted"
scenario = "other.toml"
[tiers]
lite = ["s:m"]
flash = ["s:m"]
pro = ["s:m"]
"#;

#[test]
fn a_changed_file_takes_effect_with_the_next_message_and_a_bad_one_is_refused() {
    let home = Home::answering("as before");
    home.write(
        "config/tidegate/other.toml",
        "[[reply]]\ntext = \"as changed\"\n".repeat(10),
    );
    let mut command = home.command(["chat", "--session", "a", "--json"]);
    let mut running = Running::start({
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    });
    let mut input = running.child.stdin.take().unwrap();
    let mut output = running.out();
    let mut say = |text: &str, expected: &[&str]| -> Vec<String> {
        writeln!(input, "{text}").unwrap();
        expected.iter().map(|expected| output.until(expected)).collect()
    };
    say("one", &["as before"]);

    home.configure("[agent]\nmax_round = 3\n");
    let told = say("two", &["the changed configuration is not used", "as before"]);
    assert!(told[0].contains("did you mean `max_rounds`?"), "{told:?}");
    // It is told of once.
    say("three", &["\"status\":\"success\""]);

    home.configure(CHANGED);
    say("four", &["as changed"]);
    drop(input);
    assert_eq!(running.code(), Some(0));
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["turns"], 4, "it is the same session");
}
