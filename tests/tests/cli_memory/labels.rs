//! Nothing above the clearance is shown, and every item stays under its label.

use crate::harness::Home;
use crate::{all, found, remembering};

fn with_clearance(home: &Home, level: &str) {
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n[users.local]\nclearance = \"{level}\"\n"));
}

#[test]
fn what_is_above_the_clearance_is_in_no_answer() {
    let home = remembering(&[
        ("open", "PUBLIC", "The ferry is blue."),
        ("house", "INTERNAL", "The ferry needs paint."),
        ("gold", "CONFIDENTIAL", "The ferry carries gold."),
    ]);
    with_clearance(&home, "INTERNAL");
    let mut names = found(&home, "ferry");
    names.sort();
    assert_eq!(names, ["house", "open"]);
    assert_eq!(all(&home).len(), 2);
    for arguments in [
        vec!["memory", "search", "gold ferry"],
        vec!["memory", "index"],
        vec!["memory", "stats"],
        vec!["memory", "export"],
        vec!["memory", "search", "gold ferry", "--json"],
        vec!["memory", "index", "--json"],
        vec!["memory", "stats", "--json"],
    ] {
        let ended = crate::harness::ended(home.command(&arguments)).code(0);
        assert!(
            !ended.out.contains("carries gold"),
            "{arguments:?}: {}",
            ended.out
        );
        assert!(
            !ended.out.contains("CONFIDENTIAL"),
            "{arguments:?}: {}",
            ended.out
        );
    }
    // What is hidden is answered as what never was.
    let refusal = |id: &str| {
        let ended = home.run(["memory", "forget", id]).code(1);
        format!("{}{}", ended.out, ended.err).replace(id, "ID")
    };
    assert_eq!(refusal("gold"), refusal("none"));
    home.run([
        "memory",
        "add",
        "More gold.",
        "--id",
        "more",
        "--level",
        "CONFIDENTIAL",
    ])
    .code(1)
    .says(["above your clearance", "INTERNAL"]);
    home.run(["memory", "release", "gold", "--level", "PUBLIC"])
        .code(1)
        .says(["there is no memory gold"]);

    // It was not touched by any of that.
    home.configure(
        &home
            .read("config/tidegate/tidegate.toml")
            .replace("INTERNAL", "RESTRICTED"),
    );
    assert_eq!(found(&home, "gold").first().unwrap(), "gold");
}

/// A scenario that writes a memory, and one that looks for it.
const REMEMBERS: &str = r#"
[[reply]]
calls = [{ tool = "update_meta_artifact", arguments = { artifact_name = "learned hypotheses", fact = "The tide turns at six.", memory_id = "tide" } }]
[[reply]]
text = "Noted."
"#;

const LOOKS: &str = r#"
[[reply]]
calls = [{ tool = "search_meta_artifacts", arguments = { query = "tide" } }]
[[reply]]
text = "Looked."
"#;

#[test]
fn a_memory_of_one_session_is_seen_in_another_that_may_see_it_and_in_no_other() {
    let home = Home::scripted(REMEMBERS);
    home.run([
        "run",
        "Remember the tide.",
        "--session",
        "writer",
        "--level",
        "CONFIDENTIAL",
    ])
    .code(0);
    let item = &home.json(["memory", "search", "tide", "--json"])["hits"][0];
    assert_eq!(item["label"]["classification"], "CONFIDENTIAL");
    assert_eq!(item["origin"]["kind"], "model");
    assert!(item["session"].as_str().unwrap().starts_with("s_"), "{item:#}");

    for (session, level, sees) in [("high", "CONFIDENTIAL", true), ("low", "PUBLIC", false)] {
        home.play(LOOKS);
        home.run(["run", "What of the tide?", "--session", session, "--level", level])
            .code(0);
        let history = home.run(["sessions", "history", session]).code(0).out;
        assert_eq!(history.contains("turns at six"), sees, "{session}:\n{history}");
    }
}
