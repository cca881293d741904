//! `tidegate events`.

use crate::harness::{Home, Running};
use rustix::process::Signal;
use std::collections::BTreeSet;

const WORK: &str = r#"
[[reply]]
calls = [{ tool = "list_files", arguments = { path = "." } }, { tool = "no_such_tool" }]
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "public/a.md", content = "x" } }]
[[reply]]
text = "done"
"#;

#[test]
fn events_are_told_in_a_line_each() {
    let home = Home::scripted(WORK);
    home.run(["run", "work", "--session", "a"]).code(0);
    let events = home.run(["events"]).code(0);
    insta::assert_snapshot!(home.redacted(&events.out));
}

#[test]
fn events_are_filtered_by_session_and_kind() {
    let home = Home::scripted(WORK);
    let one = home.json(["run", "work", "--session", "one", "--json"])["session"].clone();
    home.run(["run", "work", "--session", "two"]).code(0);
    let all = home.run(["events", "--json"]).code(0).lines();
    let of_one = home.run(["events", "--session", "one", "--json"]).code(0).lines();
    assert_eq!(all.len(), 2 * of_one.len());
    assert!(of_one.iter().all(|event| event["session"] == one));
    let positions: BTreeSet<u64> = all
        .iter()
        .map(|event| event["position"].as_u64().unwrap())
        .collect();
    assert_eq!(positions.len(), all.len());

    let kinds = |kind: &str| -> BTreeSet<String> {
        crate::harness::ended(home.command(["events", "--kind", kind, "--json"]))
            .code(0)
            .lines()
            .iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        kinds("tool"),
        ["tool.finished", "tool.started"].map(String::from).into()
    );
    assert_eq!(kinds("tool.finished"), ["tool.finished".to_owned()].into());
    assert_eq!(kinds("model.failed"), BTreeSet::new());
    home.run(["events", "--session", "nobody"])
        .code(1)
        .says(["there is no session \"nobody\""]);
}

#[test]
fn following_shows_what_other_processes_do_until_it_is_interrupted() {
    for (json, shown) in [(false, "turn.finished"), (true, "\"kind\":\"turn.finished\"")] {
        let home = Home::scripted(WORK);
        home.run(["run", "work", "--session", "before"]).code(0);
        let mut arguments = vec!["events", "--follow", "--kind", "turn"];
        if json {
            arguments.push("--json");
        }
        let mut follow = Running::start(home.command(arguments));
        let mut lines = follow.out();
        lines.until(shown);
        for name in ["one", "two"] {
            home.run(["run", "work", "--session", name]).code(0);
            lines.until(shown);
        }
        let err = follow.err();
        follow.signal(Signal::INT);
        assert_eq!(follow.code(), Some(130));
        assert_eq!(lines.rest(), "");
        assert_eq!(err.rest(), "");
    }
}

#[test]
fn without_events_nothing_is_printed() {
    let home = Home::answering("done");
    let ended = home.run(["events"]).code(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
}
