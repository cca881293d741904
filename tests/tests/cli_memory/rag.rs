//! Texts of a session.

use crate::harness::Home;
use serde_json::Value;

fn home() -> Home {
    let home = Home::answering("done");
    home.write(
        "project/ferry.md",
        "# Ferries\n\nThe early ferry leaves at nine.\n\n# Lamps\n\nThe quay lamps are red.\n",
    );
    home.write(
        "project/confidential/gold.md",
        "The gold lies in the third warehouse.\n",
    );
    home
}

fn search(home: &Home, arguments: &[&str]) -> Value {
    let arguments = ["rag", "search"].iter().chain(arguments).chain(&["--json"]);
    crate::harness::ended(home.command(arguments)).code(0).json()
}

#[test]
fn a_saved_file_is_found_with_its_place_and_label() {
    let home = home();
    home.run(["run", "work", "--session", "a"]).code(0);
    let saved = home.json(["rag", "save", "ferry.md", "--session", "a", "--json"]);
    assert_eq!(saved["source_id"], "ferry.md");
    assert_eq!(saved["label"]["classification"], "INTERNAL");
    assert_eq!(saved["label"]["integrity"], "UNTRUSTED");
    assert_eq!(saved["replaced"], false);

    let found = search(&home, &["when does the ferry leave", "--session", "a"]);
    let passage = &found["passages"][0];
    assert!(
        passage["text"].as_str().unwrap().contains("leaves at nine"),
        "{found:#}"
    );
    assert_eq!(passage["source_id"], "ferry.md");
    assert_eq!(passage["name"], "a");
    assert_eq!(passage["label"]["classification"], "INTERNAL");
    let text = home.run(["rag", "search", "ferry", "--session", "a"]).code(0).out;
    for part in [
        "ferry.md",
        "line",
        "session a",
        "INTERNAL, UNTRUSTED",
        "leaves at nine",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let again = home.json(["rag", "save", "ferry.md", "--session", "a", "--json"]);
    assert_eq!(again["replaced"], true);
}

#[test]
fn sources_are_of_their_session_unless_all_are_asked_for() {
    let home = home();
    home.run(["rag", "save", "ferry.md", "--session", "a"]).code(0);
    home.run([
        "rag",
        "save",
        "confidential/gold.md",
        "--session",
        "b",
        "--source",
        "gold",
    ])
    .code(0);
    let sources = |arguments: &[&str]| {
        let arguments = ["rag", "sources", "--json"].iter().chain(arguments);
        let listing = crate::harness::ended(home.command(arguments)).code(0).json();
        let sources = listing["sources"].as_array().unwrap().iter();
        let mut names: Vec<String> = sources
            .map(|source| source["source_id"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(sources(&[]), ["ferry.md", "gold"]);
    assert_eq!(sources(&["--session", "b"]), ["gold"]);
    assert!(
        search(&home, &["gold warehouse", "--session", "a"])["passages"]
            .to_string()
            .contains("ferry")
    );
    let everywhere = search(&home, &["gold warehouse", "--global"]);
    assert_eq!(everywhere["passages"][0]["source_id"], "gold");
    assert_eq!(
        everywhere["passages"][0]["label"]["classification"],
        "CONFIDENTIAL"
    );
    let here = search(&home, &["warehouse", "--session", "b", "--source", "gold"]);
    assert_eq!(here["passages"].as_array().unwrap().len(), 1);
    home.run(["rag", "search", "x", "--session", "a", "--source", "gold"])
        .code(1)
        .says([
            "there is no source \"gold\" in session a",
            "tidegate rag sources --session a",
        ]);

    // Of another session, and of none: the same answer.
    for source in ["gold", "none"] {
        home.run(["rag", "delete", source, "--session", "a"])
            .code(1)
            .says(["there is no source", "in session a"]);
    }
    home.run(["rag", "delete", "gold", "--session", "b"]).code(0);
    assert_eq!(sources(&[]), ["ferry.md"]);
    home.run(["rag", "save", "ferry.md", "--session", "a", "--source", "two"])
        .code(0);
    let purged = home.json(["rag", "purge", "--session", "a", "--json"]);
    assert_eq!(purged["deleted"], 2);
    assert!(sources(&[]).is_empty());
}

#[test]
fn a_level_can_only_be_raised_and_what_is_no_text_is_refused() {
    let home = home();
    home.run([
        "rag",
        "save",
        "confidential/gold.md",
        "--session",
        "a",
        "--level",
        "PUBLIC",
    ])
    .code(1)
    .says(["is CONFIDENTIAL", "would lower it"]);
    let raised = home.json([
        "rag",
        "save",
        "ferry.md",
        "--session",
        "a",
        "--level",
        "RESTRICTED",
        "--json",
    ]);
    assert_eq!(raised["label"]["classification"], "RESTRICTED");
    home.write("project/picture.bin", [0xff, 0xfe, 0x00]);
    home.run(["rag", "save", "picture.bin", "--session", "a"])
        .code(1)
        .says(["not UTF-8"]);
    home.run(["rag", "save", "none.md", "--session", "a"])
        .code(1)
        .says(["cannot read none.md"]);
    let config = home.path("config/tidegate/tidegate.toml").display().to_string();
    home.run(["rag", "save", &config, "--session", "a"])
        .code(1)
        .says(["one of the program's own files"]);
    home.run([
        "rag",
        "save",
        "ferry.md",
        "confidential/gold.md",
        "--session",
        "a",
        "--source",
        "x",
    ])
    .code(2)
    .says(["--source names one source"]);
    home.run(["rag", "search", "x", "--session", "nobody"])
        .code(1)
        .says(["there is no session"]);
}
