//! The policy as a user meets it: rules, integrity by value, secrets, and asking why, with the real program.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[expect(dead_code, reason = "shared with the tests of the other commands")]
#[path = "../cli/harness.rs"]
mod harness;

mod asking_why;
mod integrity;
mod release;
mod rules;
#[expect(dead_code, reason = "shared with the tests of the commands of every day")]
#[path = "../cli_everyday/screen.rs"]
mod screen;
mod secrets;

use harness::Home;
use serde_json::Value;

/// A home whose model makes these calls, one a message, and then says "Over.".
fn calling(calls: &[(&str, &str)]) -> Home {
    let mut scenario = String::new();
    for (tool, arguments) in calls {
        scenario.push_str(&format!(
            "[[reply]]\ncalls = [{{ tool = \"{tool}\", arguments = {arguments} }}]\n"
        ));
    }
    Home::scripted(&format!("{scenario}[[reply]]\ntext = \"Over.\"\n"))
}

/// Adds to the configuration.
fn configured(home: Home, more: &str) -> Home {
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n{more}\n"));
    home
}

/// The events of one kind.
fn events(home: &Home, kind: &str) -> Vec<Value> {
    let told = home.run(["events", "--kind", kind, "--json"]).code(0).out;
    told.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The decisions about calls of `tool`, each with its rule.
fn decisions(home: &Home, tool: &str) -> Vec<(String, String)> {
    events(home, "flow.judged")
        .iter()
        .filter(|event| event["tool"] == tool && event["evaluation"]["flow"] == "tool_call")
        .map(|event| {
            let evaluation = &event["evaluation"];
            (
                evaluation["decision"].as_str().unwrap().to_owned(),
                evaluation["rule"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}
