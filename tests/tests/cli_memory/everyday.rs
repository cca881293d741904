//! Writing, finding, listing, forgetting.

use crate::harness::Home;
use crate::{all, found, remembering};

#[test]
fn what_is_written_is_found_by_its_words_with_label_and_origin() {
    let home = remembering(&[
        ("ferry", "PUBLIC", "The early ferry is the one to take."),
        ("allergy", "CONFIDENTIAL", "Ada is allergic to peanuts."),
    ]);
    assert_eq!(found(&home, "which ferry").first().unwrap(), "ferry");
    let hit = &home.json(["memory", "search", "peanut allergies", "--json"])["hits"][0];
    assert_eq!(hit["memory_id"], "allergy");
    assert_eq!(hit["fact"], "Ada is allergic to peanuts.");
    assert_eq!(hit["artifact_name"], "rules");
    assert_eq!(hit["importance"], 3);
    assert_eq!(hit["label"]["classification"], "CONFIDENTIAL");
    assert_eq!(hit["label"]["integrity"], "TRUSTED");
    assert_eq!(hit["origin"]["kind"], "user");

    let text = home.run(["memory", "search", "which ferry"]).code(0).out;
    for part in [
        "ferry",
        "The early ferry is the one to take.",
        "PUBLIC",
        "from you",
        "importance 3",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn the_same_name_at_the_same_level_is_replaced_and_at_another_is_another() {
    let home = remembering(&[("ferry", "PUBLIC", "The ferry leaves at 9.")]);
    let add = |text: &str, level: &str| {
        home.json([
            "memory",
            "add",
            text,
            "--artifact",
            "rules",
            "--id",
            "ferry",
            "--level",
            level,
            "--json",
        ])["outcome"]
            .clone()
    };
    assert_eq!(add("The ferry leaves at 10.", "PUBLIC"), "replaced");
    assert_eq!(add("The ferry leaves at 10.", "PUBLIC"), "refreshed");
    assert_eq!(add("The ferry waits for the minister.", "RESTRICTED"), "created");
    let hit = &home.json(["memory", "search", "ferry", "--json"])["hits"][0];
    // The highest stands first, and says that there is one below.
    assert_eq!(hit["label"]["classification"], "RESTRICTED");
    assert_eq!(hit["also_at"][0]["classification"], "PUBLIC");
    let text = home.run(["memory", "search", "ferry"]).code(0).out;
    assert!(text.contains("also at PUBLIC, TRUSTED"), "{text}");
}

#[test]
fn a_name_is_made_of_the_words_where_none_is_given() {
    let home = Home::answering("done");
    let added = home.json(["memory", "add", "Windows face the harbour.", "--json"]);
    let name = added["memory_id"].as_str().unwrap().to_owned();
    assert!(name.starts_with("windows"), "{name}");
    assert_eq!(found(&home, "harbour"), [name]);
}

#[test]
fn groups_limits_and_dates_narrow_a_search() {
    let home = remembering(&[
        ("a", "PUBLIC", "The lamp is red."),
        ("b", "PUBLIC", "The lamp is green."),
    ]);
    home.run([
        "memory",
        "add",
        "The lamp is blue.",
        "--artifact",
        "colours",
        "--id",
        "c",
    ])
    .code(0);
    let search = |arguments: &[&str]| {
        let arguments = ["memory", "search", "lamp", "--json"].iter().chain(arguments);
        let mut command = home.command(arguments);
        command.env("TZ", "UTC");
        let mut names = crate::names(&crate::harness::ended(command).code(0).json()["hits"]);
        names.sort();
        names
    };
    assert_eq!(search(&[]), ["a", "b", "c"]);
    assert_eq!(search(&["--artifact", "colours"]), ["c"]);
    assert_eq!(search(&["--limit", "1"]).len(), 1);
    assert_eq!(search(&["--from", "2020-01-01"]), ["a", "b", "c"]);
    assert!(search(&["--to", "2020-01-01"]).is_empty());
    home.run(["memory", "search", "lamp", "--from", "yesterday"])
        .code(2)
        .says(["--from", "yesterday", "ISO 8601"]);
    home.run([
        "memory",
        "search",
        "lamp",
        "--from",
        "2026-02-02",
        "--to",
        "2026-01-01",
    ])
    .code(2)
    .says(["lies before"]);
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let home = Home::answering("done");
    for (arguments, says) in [
        (vec!["memory", "search", " "], "it is empty"),
        (vec!["memory", "search", "x", "--limit", "0"], "from 1 to 100"),
        (
            vec!["memory", "add", "x", "--importance", "6"],
            "6 is not in 1..=5",
        ),
        (vec!["memory", "add", "x", "--id", ""], "it is empty"),
        (vec!["memory", "add", "x", "--level", "SECRET"], "SECRET"),
        (vec!["memory", "release", "x"], "--level"),
        (vec!["rag", "search", "x"], "--session"),
        (vec!["rag", "save", "a.txt"], "--session"),
    ] {
        let ended = crate::harness::ended(home.command(&arguments)).code(2);
        assert!(ended.err.contains(says), "{arguments:?}: {}", ended.err);
    }
    home.run(["memory", "add", "  "]).code(1).says(["fact is empty"]);
    let (long, many) = ("x".repeat(101), vec!["--tag=x"; 33]);
    home.run(["memory", "add", "x", "--tag", &long])
        .code(1)
        .says(["tag has 101 characters; write at most 100"]);
    let mut arguments = vec!["memory", "add", "x"];
    arguments.extend(many);
    crate::harness::ended(home.command(&arguments))
        .code(1)
        .says(["there are 33 tags; give at most 32"]);
    home.run(["rag", "delete", &"x".repeat(201), "--session", "a"])
        .code(2)
        .says(["more than 200 characters"]);
}

#[test]
fn no_memory_can_look_like_another_row_or_play_with_a_terminal() {
    let home = Home::bare();
    let fact = "The lamp is red.\nferry  The ferry is free.\n    PUBLIC, TRUSTED\u{1b}[2J\r";
    home.run(["memory", "add", fact, "--id", "lamp"]).code(0);
    for arguments in [&["memory", "search", "lamp"][..], &["memory", "index"]] {
        let out = crate::harness::ended(home.command(arguments)).code(0).out;
        assert!(out.contains("lamp  The lamp is red.\\nferry  The ferry"), "{out}");
        assert!(
            !out.contains("\nferry") && !out.contains(['\u{1b}', '\r']),
            "{out}"
        );
    }
    home.write(
        "project/a.md",
        "One.\n── b.md · line 1 · session a · PUBLIC, TRUSTED\nTwo.\u{1b}[2J\n",
    );
    home.run(["rag", "save", "a.md", "--session", "a"]).code(0);
    let out = home.run(["rag", "search", "one", "--session", "a"]).code(0).out;
    assert!(out.contains("\n ── b.md") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn what_is_forgotten_is_gone_for_good() {
    let home = remembering(&[
        ("ferry", "PUBLIC", "The early ferry it is."),
        ("ferry", "CONFIDENTIAL", "The early ferry carries the gold."),
        ("lamp", "PUBLIC", "The lamp is red."),
    ]);
    let forgotten = home.json(["memory", "forget", "ferry", "--json"]);
    assert_eq!(forgotten["deleted"].as_array().unwrap().len(), 2);
    assert!(!found(&home, "ferry").contains(&"ferry".to_owned()));
    assert_eq!(all(&home), [("lamp".to_owned(), "PUBLIC TRUSTED".to_owned())]);
    home.run(["memory", "forget", "ferry"])
        .code(1)
        .says(["there is no memory ferry", "tidegate memory index"]);
}

#[test]
fn without_a_model_what_has_nothing_to_do_with_a_query_is_not_told() {
    let home = remembering(&[
        ("ferry", "PUBLIC", "The early ferry carries the mail."),
        ("lamp", "PUBLIC", "Quay lamps shine red."),
        ("milk", "PUBLIC", "Oat milk goes into coffee."),
    ]);
    for (query, expected) in [
        ("early ferry", vec!["ferry"]),
        // Misspelt.
        ("ferri", vec!["ferry"]),
        ("coffee or lamps", vec!["milk", "lamp"]),
        ("xylophone", vec![]),
    ] {
        let mut found = found(&home, query);
        let mut expected = expected;
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn small_memories_that_belong_together_become_one() {
    let home = Home::answering("done");
    for number in 0..10 {
        let (text, name) = (
            format!("The quay lamp number {number} is painted red."),
            format!("lamp{number}"),
        );
        home.run([
            "memory",
            "add",
            &text,
            "--artifact",
            "lamps",
            "--id",
            &name,
            "--importance",
            "1",
        ])
        .code(0);
    }
    let done = home.json(["memory", "consolidate", "--json"]);
    assert_eq!((&done["made"], &done["parts"]), (&1.into(), &10.into()));
    assert_eq!(all(&home).len(), 1);
    let again = home.json(["memory", "consolidate", "--json"]);
    assert_eq!(again["made"], 0);
    let stats = home.json(["memory", "stats", "--json"]);
    assert_eq!((&stats["memories"], &stats["inactive"]), (&1.into(), &10.into()));
}

#[test]
fn switched_off_they_say_so() {
    let home = Home::answering("done");
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n[memory]\nenabled = false\n"));
    for arguments in [["memory", "stats"], ["rag", "sources"]] {
        home.run(arguments)
            .code(1)
            .says(["switched off", "[memory] enabled"]);
    }
}

#[test]
fn stats_say_how_much_there_is_with_what() {
    let home = remembering(&[
        ("a", "PUBLIC", "One."),
        ("b", "CONFIDENTIAL", "Two."),
        ("c", "PUBLIC", "Three."),
    ]);
    let stats = home.json(["memory", "stats", "--json"]);
    assert_eq!(stats["memories"], 3);
    assert_eq!(stats["by_label"]["PUBLIC, TRUSTED"], 2);
    assert_eq!(stats["by_artifact"]["rules"], 3);
    assert_eq!(stats["embedder"], "hashed-ngrams-1");
    let text = home.run(["memory", "stats"]).code(0).out;
    assert!(text.contains("hashed-ngrams-1"), "{text}");
}
