//! `tidegate demo`.

use crate::harness::{Home, ended};
use std::fs;

#[test]
fn the_tour_runs_to_its_end_and_claims_what_it_did() {
    let home = Home::bare();
    let folder = home.path("tours").display().to_string();
    let ended = home.run(["demo", "--folder", &folder]).code(0);
    assert_eq!(ended.err, "");
    for text in [
        "✓ list_files public",
        "✓ write_file public/news.md",
        "⛔ write_file public/mirror.md  refused",
        "⛔ write_file public/summary.md  refused",
        "the process is killed",
        "going on where the turn was interrupted",
        "✓ write_file confidential/summary.md",
        "✓ update_meta_artifact",
        "⟲ 1 recalled (CONFIDENTIAL",
        "I do not know.",
        "What to try next",
    ] {
        assert!(ended.out.contains(text), "{text:?} is not in\n{}", ended.out);
    }
    // What it tells to try works.
    let mut tried = 0;
    for line in ended.out.lines().filter(|line| line.contains(" --data-dir ")) {
        let mut words = line.split_whitespace();
        words.next().unwrap();
        let tried_out = crate::harness::ended(home.command(words)).code(0);
        assert!(!tried_out.out.is_empty(), "{line}");
        tried += 1;
    }
    assert_eq!(tried, 5);
}

#[test]
fn the_tour_stays_in_its_folder_whatever_the_users_variables_are() {
    let home = Home::bare();
    home.configure("this is no configuration");
    home.write("project/tidegate.toml", "nor is this");
    let mut command = home.command(["demo", "--json", "--folder"]);
    command
        .arg(home.path("tours"))
        .env("TIDEGATE__AGENT__MAX_ROUNDS", "1")
        .env("TIDEGATE__NONSENSE", "1")
        .env("TMPDIR", home.path("tmp"));
    fs::create_dir(home.path("tmp")).unwrap();
    let told = ended(command).code(0).json();
    assert_eq!(told["killed"], true);
    assert_eq!(told["resumed"], true);
    assert_eq!(told["tool_calls"], 8);
    assert_eq!(told["refused"].as_array().unwrap().len(), 2);
    assert_eq!(told["memory"]["label"]["classification"], "CONFIDENTIAL");
    assert_eq!(told["memory"]["recalled"], true);
    assert_eq!(told["memory"]["kept"], true);
    assert_eq!(
        told["written"],
        serde_json::json!(["public/news.md", "confidential/summary.md"])
    );
    assert!(
        told["answer"]
            .as_str()
            .unwrap()
            .starts_with("Done. public/news.md"),
        "{told}"
    );
    let names = |folder: &str| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(home.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("data"), Vec::<String>::new());
    assert_eq!(names("tmp"), Vec::<String>::new());
    assert_eq!(names("project"), ["tidegate.toml"]);
    assert_eq!(names("config/tidegate"), ["tidegate.toml"]);
    assert_eq!(names("tours").len(), 1);
}

#[test]
fn a_tour_that_has_no_place_says_so() {
    let home = Home::bare();
    home.write("file", "");
    let file = home.path("file").display().to_string();
    home.run(["demo", "--folder", &file])
        .code(1)
        .says(["cannot create", "file"]);
}
