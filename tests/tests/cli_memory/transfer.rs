//! Export and import: a round trip that lowers no label.

use crate::harness::Home;
use crate::{all, found, remembering};
use std::os::unix::fs::PermissionsExt as _;

const MEMORIES: [(&str, &str, &str); 3] = [
    ("ferry", "PUBLIC", "The early ferry it is."),
    ("ferry", "CONFIDENTIAL", "The early ferry carries gold."),
    ("lamp", "RESTRICTED", "The lamp is \u{1f4a1} \"red\"\nand green."),
];

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let home = remembering(&MEMORIES);
    let exported = home.run(["memory", "export"]).code(0).out;
    assert_eq!(exported.lines().count(), 3);
    let file = home.path("project/memories.jsonl");
    let told = home.json(["memory", "export", "--output", "memories.jsonl", "--json"]);
    assert_eq!(told["memories"], 3);
    assert_eq!(home.read("project/memories.jsonl"), exported);
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    home.run(["memory", "export", "--output", "memories.jsonl"])
        .code(1)
        .says(["cannot create"]);

    let other = Home::answering("done");
    other.write("project/memories.jsonl", &exported);
    let told = other.json(["memory", "import", "memories.jsonl", "--json"]);
    assert_eq!((&told["imported"], &told["unchanged"]), (&3.into(), &0.into()));
    assert_eq!(all(&other), all(&home));
    assert_eq!(other.run(["memory", "export"]).code(0).out, exported);
    assert_eq!(found(&other, "lamp red").first().unwrap(), "lamp");
    let again = other.json(["memory", "import", "memories.jsonl", "--json"]);
    assert_eq!((&again["imported"], &again["unchanged"]), (&0.into(), &3.into()));
}

#[test]
fn what_a_memory_said_before_goes_along() {
    let home = remembering(&[
        ("ferry", "PUBLIC", "The early ferry it is."),
        ("ferry", "PUBLIC", "The late ferry it is."),
        ("ferry", "PUBLIC", "No ferry it is."),
    ]);
    let exported = home.run(["memory", "export"]).code(0).out;
    let line: serde_json::Value = serde_json::from_str(exported.trim()).unwrap();
    let facts: Vec<&str> = line["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["fact"].as_str().unwrap())
        .collect();
    assert_eq!(facts, ["The early ferry it is.", "The late ferry it is."]);
    let other = remembering(&[]);
    other.write("project/memories.jsonl", &exported);
    for _ in 0..2 {
        other.run(["memory", "import", "memories.jsonl"]).code(0);
        assert_eq!(other.run(["memory", "export"]).code(0).out, exported);
    }
    // What it replaces is history, too, and nothing is there twice.
    other
        .run([
            "memory",
            "add",
            "Two ferries.",
            "--id",
            "ferry",
            "--artifact",
            "rules",
        ])
        .code(0);
    other.run(["memory", "import", "memories.jsonl"]).code(0);
    let line = other.run(["memory", "export"]).code(0).json();
    assert_eq!(line["fact"], "No ferry it is.");
    let facts: Vec<&str> = line["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["fact"].as_str().unwrap())
        .collect();
    assert_eq!(
        facts,
        [
            "The early ferry it is.",
            "The late ferry it is.",
            "No ferry it is.",
            "Two ferries."
        ]
    );
    let long = exported.replace("The early ferry", &"x".repeat(4_001));
    other.write("project/long.jsonl", long);
    other.run(["memory", "import", "long.jsonl"]).code(1).says([
        "line 1",
        "what it said before",
        "fact has 4",
    ]);
}

#[test]
fn an_import_lowers_no_label() {
    let home = remembering(&[("gold", "CONFIDENTIAL", "The ferry carries gold.")]);
    let exported = home.run(["memory", "export"]).code(0).out;
    let lowered = exported.replace("CONFIDENTIAL", "PUBLIC");
    assert_ne!(lowered, exported);
    home.write("project/lowered.jsonl", &lowered);
    home.run(["memory", "import", "lowered.jsonl"]).code(1).says([
        "line 1",
        "lowers no label",
        "memory release gold --level PUBLIC",
        "nothing was imported",
    ]);
    assert_eq!(
        all(&home),
        [("gold".to_owned(), "CONFIDENTIAL TRUSTED".to_owned())]
    );

    // Raised it may be, and taken for another's word; but not for the owner's again.
    home.run([
        "memory",
        "import",
        "lowered.jsonl",
        "--level",
        "RESTRICTED",
        "--untrusted",
    ])
    .code(0);
    assert_eq!(
        all(&home),
        [
            ("gold".to_owned(), "CONFIDENTIAL TRUSTED".to_owned()),
            ("gold".to_owned(), "RESTRICTED UNTRUSTED".to_owned())
        ]
    );
    home.write(
        "project/trusted.jsonl",
        exported.replace("CONFIDENTIAL", "RESTRICTED"),
    );
    home.run(["memory", "import", "trusted.jsonl"])
        .code(1)
        .says(["lowers no label"]);
}

#[test]
fn what_is_no_export_is_refused_whole() {
    let home = remembering(&[]);
    let line = {
        let other = remembering(&[("a", "PUBLIC", "One.")]);
        other.run(["memory", "export"]).code(0).out
    };
    for (content, says) in [
        ("{}\n".to_owned(), "line 1"),
        (format!("{line}not json\n"), "line 2"),
        (line.replace("\"label\"", "\"lable\""), "lable"),
        (
            line.replace("\"importance\":3", "\"importance\":9"),
            "write a whole number from 1 to 5",
        ),
        (line.replace("One.", " "), "fact is empty"),
        (
            line.replace("One.", &"x".repeat(4_001)),
            "fact has 4001 characters; write at most 4000",
        ),
        (
            line.replace("\"tags\":[]", &format!("\"tags\":[{:?}]", "x".repeat(101))),
            "tag has 101 characters; write at most 100",
        ),
    ] {
        home.write("project/bad.jsonl", &content);
        home.run(["memory", "import", "bad.jsonl"]).code(1).says([says]);
        assert!(all(&home).is_empty(), "{content}");
    }
    home.run(["memory", "import", "none.jsonl"])
        .code(1)
        .says(["cannot read none.jsonl"]);
}

#[test]
fn another_text_at_the_lower_label_makes_no_way_down() {
    let home = remembering(&[("gold", "CONFIDENTIAL", "The ferry carries gold.")]);
    let lowered = home.run(["memory", "export"]).code(0).out;
    home.write("project/lowered.jsonl", lowered.replace("CONFIDENTIAL", "PUBLIC"));
    home.run(["memory", "add", "The lamp is red.", "--id", "gold"])
        .code(0);
    home.run(["memory", "import", "lowered.jsonl"])
        .code(1)
        .says(["lowers no label", "nothing was imported"]);
}

#[test]
fn an_import_tells_nothing_of_what_is_above_the_clearance() {
    let home = remembering(&[("gold", "CONFIDENTIAL", "The ferry carries gold.")]);
    let exported = home.run(["memory", "export"]).code(0).out;
    let before = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{before}\n[users.local]\nclearance = \"INTERNAL\"\n"));
    let mut answers = Vec::new();
    for (name, fact) in [
        ("right", "The ferry carries gold."),
        ("wrong", "The ferry carries tin."),
    ] {
        let line = exported
            .replace("CONFIDENTIAL", "PUBLIC")
            .replace("The ferry carries gold.", fact);
        home.write(&format!("project/{name}.jsonl"), &line);
        answers.push(
            home.run(["memory", "import", &format!("{name}.jsonl")])
                .code(0)
                .out,
        );
    }
    assert_eq!(answers[0], answers[1]);
}
