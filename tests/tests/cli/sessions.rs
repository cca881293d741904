//! `tidegate sessions`.

use crate::harness::{Home, ended};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// Reads a confidential file and answers with a word that occurs nowhere else.
const READS: &str = r#"
[[reply]]
text = "Reading."
calls = [{ tool = "read_file", arguments = { path = "confidential/plan.md" } }]
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "public/plan.md", content = "Zanzibar" } }]
[[reply]]
text = "The answer is Zanzibar."
usage = { uncached = 7, output = 3 }
"#;

fn home_that_reads() -> Home {
    let home = Home::scripted(READS);
    home.write("project/confidential/plan.md", "Timbuktu, as a secret\n");
    home.write("project/public/faq.md", "for everyone\n");
    home
}

#[test]
fn a_session_can_be_listed_shown_and_read() {
    let home = home_that_reads();
    assert_eq!(
        home.run(["sessions", "list"]).code(0).out,
        "no sessions yet; start one: tidegate run \"…\" --session NAME\n"
    );
    assert_eq!(home.run(["sessions", "list", "--json"]).code(0).out, "");
    home.run(["run", "where\nto?", "--session", "trip"]).code(0);
    let all = ["list", "show trip", "history trip"].map(|command| {
        let arguments = std::iter::once("sessions").chain(command.split(' '));
        let ended = ended(home.command(arguments)).code(0);
        format!("$ tidegate sessions {command}\n{}", home.redacted(&ended.out))
    });
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn sessions_are_found_by_name_and_by_id() {
    let home = home_that_reads();
    let id = home.json(["run", "where to?", "--session", "trip", "--json"])["session"].clone();
    let id = id.as_str().unwrap();
    for command in ["show", "history", "export"] {
        let by_name = ended(home.command(["sessions", command, "trip", "--json"])).code(0);
        let by_id = ended(home.command(["sessions", command, id, "--json"])).code(0);
        assert_eq!(by_name.out, by_id.out);
        assert!(!by_name.lines().is_empty());
    }
    for command in ["show", "history", "export", "delete"] {
        for unknown in [
            "nobody",
            "s_00000000000000000000000000000000",
            "two words",
            "\u{1b}[2J",
            "",
        ] {
            let ended = ended(home.command(["sessions", command, unknown, "--json"])).code(1);
            let error = ended.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with("there is no session "), "{error}");
            assert!(error.contains("tidegate sessions list"), "{error}");
            assert!(!ended.out.contains('\u{1b}'));
        }
    }
}

#[test]
fn the_json_of_a_session_tells_how_it_came_to_its_taint() {
    let home = home_that_reads();
    home.run(["run", "where to?", "--session", "trip"]).code(0);
    let mut shown = home.json(["sessions", "show", "trip", "--json"]);
    // What was said and how often it was compacted is told of one session alone.
    let of_one = shown.as_object_mut().unwrap();
    assert_eq!(of_one.remove("segments"), Some(serde_json::json!([])));
    assert_eq!(of_one.remove("cache_share"), Some(serde_json::json!(0)));
    assert_eq!(home.run(["sessions", "list", "--json"]).code(0).json(), shown);
    assert_eq!(shown["name"], "trip");
    assert_eq!(shown["state"], "idle");
    assert_eq!(shown["turns"], 1);
    assert_eq!(shown["title"], "where to?");
    assert_eq!(shown["clearance"], "CONFIDENTIAL");
    assert_eq!(
        shown["taint"]["label"],
        json!({ "classification": "CONFIDENTIAL", "integrity": "UNTRUSTED" })
    );
    assert_eq!(
        shown["taint"]["lineage"][0]["origin"]["resources"],
        json!(["confidential/plan.md"])
    );
    assert_eq!(shown["usage"]["output"], 3);
}

#[test]
fn an_export_is_a_new_file_for_the_owner_alone() {
    let home = home_that_reads();
    home.run(["run", "where to?", "--session", "trip"]).code(0);
    let printed = home.json(["sessions", "export", "trip"]);
    assert_eq!(printed["format"], "tidegate-session/1");
    assert_eq!(printed["entries"].as_array().unwrap().len(), 6);
    assert!(printed["events"].as_array().unwrap().len() > 10);

    let wrote = home
        .run(["sessions", "export", "trip", "--output", "trip.json"])
        .code(0);
    assert_eq!(wrote.out, "wrote trip.json\n");
    let path = home.path("project/trip.json");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&home.read("project/trip.json")).unwrap(),
        printed
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    home.write("project/trip.json", "mine");
    home.run(["sessions", "export", "trip", "-o", "trip.json"])
        .code(1)
        .says(["cannot create trip.json; an export needs a new file"]);
    assert_eq!(home.read("project/trip.json"), "mine");
    home.run(["sessions", "export", "trip", "-o", "no/folder/trip.json"])
        .code(1)
        .says(["no/folder/trip.json"]);
    let json = home.json(["sessions", "export", "trip", "-o", "two.json", "--json"]);
    assert_eq!(json["file"], "two.json");
}

#[test]
fn what_is_deleted_is_gone_and_its_events_stay_without_content() {
    let home = home_that_reads();
    let id = home.json(["run", "where to? Samarkand", "--session", "trip", "--json"])["session"].clone();
    let id = id.as_str().unwrap();
    let words = ["Timbuktu", "Zanzibar", "Samarkand", "confidential/plan.md"];
    let is_stored = |word: &str| {
        home.bytes_below("data")
            .windows(word.len())
            .any(|bytes| bytes == word.as_bytes())
    };
    for word in words {
        assert!(is_stored(word), "{word} is stored before");
    }
    home.run(["sessions", "delete", "trip"])
        .code(1)
        .says(["this erases the content of session trip; pass --yes to do it"]);
    assert!(is_stored("Zanzibar"));

    let deleted = home.run(["sessions", "delete", "trip", "--yes"]).code(0);
    assert_eq!(
        home.redacted(&deleted.out),
        "deleted s_…; its events stay, without content\n"
    );
    for word in words {
        assert!(!is_stored(word), "{word} is still there");
    }
    let events = home.run(["events", "--session", id, "--json"]).code(0).lines();
    assert!(events.len() > 10);
    assert!(events.iter().any(|event| event["kind"] == "turn.finished"));

    // The name is free again; the deleted session is known by its id alone.
    home.run(["sessions", "show", "trip"]).code(1);
    assert_eq!(home.json(["sessions", "show", id, "--json"])["state"], "erased");
    assert!(!home.run(["sessions", "list"]).code(0).out.contains(id));
    home.run(["run", "more", "--session", id])
        .code(1)
        .says(["was deleted"]);
    let new = home.json(["run", "again", "--session", "trip", "--json"]);
    assert_ne!(new["session"], id);
}

#[test]
fn deleting_tells_so_as_json() {
    let home = home_that_reads();
    let id = home.json(["run", "a", "--session", "trip", "--json"])["session"].clone();
    home.run(["sessions", "delete", "trip", "--json"]).code(1);
    assert_eq!(
        home.json(["sessions", "delete", "trip", "--yes", "--json"])["deleted"],
        id
    );
}
