//! Editing `tidegate.toml` while a chat goes on.

use crate::harness::{Home, Running};
use std::io::Write as _;
use std::process::Stdio;

/// Two models, of which the second is used once the tiers say so, and a key that needs a restart.
fn two_models(tier: &str, timeout_s: u32) -> String {
    format!(
        "[providers.s]\nkind = \"scripted\"\nscenario = \"scenario.toml\"\ntimeout_s = {timeout_s}\n[providers.t]\nkind = \"scripted\"\nscenario = \"other.toml\"\n[tiers]\nlite = [\"{tier}\"]\n"
    )
}

#[test]
fn a_changed_file_takes_effect_with_the_next_message_and_a_bad_one_is_refused() {
    let home = Home::answering("as before");
    home.write(
        "config/tidegate/other.toml",
        "[[reply]]\ntext = \"as changed\"\n".repeat(10),
    );
    home.configure(&two_models("s:m", 240));
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

    home.configure(&two_models("t:m", 240));
    say("four", &["as changed"]);

    home.configure(&two_models("t:m", 7));
    let told = say("again", &["\"command\":\"configuration\"", "as changed"]);
    assert!(
        told[0].contains("\"restart\":[\"providers.s.timeout_s\"]"),
        "{told:?}"
    );
    home.configure(&two_models("t:m", 240));
    say("and again", &["as changed"]);

    // A provider that is new cannot be used yet, and is told of by name.
    home.configure(&format!(
        "{}[providers.new]\nkind = \"scripted\"\nscenario = \"other.toml\"\n",
        two_models("new:m", 240)
    ));
    let told = say("five", &["the changed configuration is not used", "as changed"]);
    assert!(
        told[0].contains("new:m cannot be used before a restart"),
        "{told:?}"
    );
    drop(input);
    assert_eq!(running.code(), Some(0));
    let shown = home.json(["sessions", "show", "a", "--json"]);
    assert_eq!(shown["turns"], 7, "it is the same session");
}

#[test]
fn keys_that_need_a_restart_are_named_and_the_others_take_effect() {
    let home = Home::answering("as before");
    home.write(
        "config/tidegate/other.toml",
        "[[reply]]\ntext = \"as changed\"\n".repeat(10),
    );
    home.configure(&two_models("s:m", 240));
    let mut command = home.command(["chat", "--session", "a"]);
    let mut running = Running::start({
        command.stdin(Stdio::piped());
        command
    });
    let mut input = running.child.stdin.take().unwrap();
    let (mut output, mut told) = (running.out(), running.err());
    writeln!(input, "one").unwrap();
    output.until("as before");
    home.configure(&two_models("t:m", 7));
    writeln!(input, "two").unwrap();
    told.until("the configuration has changed and is in effect now");
    told.until("as before until a restart: providers.s.timeout_s");
    output.until("as changed");
    drop(input);
    assert_eq!(running.code(), Some(0));
}
