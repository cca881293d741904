//! Paths that lead out of the workspace, by name, by link and by race.

use crate::harness::Home;
use serde_json::Value;
use std::os::unix::fs::symlink;

/// The results of one call of each tool with each path.
fn results(home: &Home, calls: &[(&str, String)]) -> Vec<Value> {
    let calls: Vec<String> = calls
        .iter()
        .map(|(tool, arguments)| format!("{{ tool = \"{tool}\", arguments = {arguments} }}"))
        .collect();
    home.play(&format!(
        "[[reply]]\ncalls = [\n{}\n]\n[[reply]]\ntext = \"done\"\n",
        calls.join(",\n")
    ));
    let session = home.json(["run", "work", "--json"])["session"].clone();
    home.run(["sessions", "history", session.as_str().unwrap(), "--json"])
        .code(0)
        .lines()
        .iter()
        .filter_map(|entry| entry["body"]["results"]["results"].as_array().cloned())
        .flatten()
        .collect()
}

fn text(result: &Value) -> String {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn nothing_outside_the_workspace_is_read_or_written() {
    let home = Home::scripted("");
    home.write("outside.txt", "OUTSIDE-SECRET\n");
    home.write("beside/deep.txt", "OUTSIDE-SECRET\n");
    home.write("project/inside.txt", "inside\n");
    let work = home.path("project");
    symlink(home.path("outside.txt"), work.join("link.txt")).unwrap();
    symlink("../outside.txt", work.join("relative-link.txt")).unwrap();
    symlink(home.path("beside"), work.join("folder")).unwrap();
    symlink("/proc/self/root", work.join("magic")).unwrap();
    std::fs::hard_link(home.path("outside.txt"), work.join("hard.txt")).unwrap();

    let outside = home.path("outside.txt").display().to_string();
    let paths = [
        "../outside.txt",
        "./../outside.txt",
        "inside/../../outside.txt",
        outside.as_str(),
        "/etc/passwd",
        "link.txt",
        "relative-link.txt",
        "folder/deep.txt",
        "magic/etc/passwd",
        "~/outside.txt",
        "",
        "a\\u0000b",
    ];
    let mut calls = Vec::new();
    for path in paths {
        calls.push(("read_file", format!("{{ path = \"{path}\" }}")));
        calls.push((
            "write_file",
            format!("{{ path = \"{path}\", content = \"OVERWRITTEN\" }}"),
        ));
        calls.push((
            "edit_file",
            format!("{{ path = \"{path}\", old_text = \"OUTSIDE\", new_text = \"OVERWRITTEN\" }}"),
        ));
        calls.push(("list_files", format!("{{ path = \"{path}\" }}")));
        calls.push((
            "search_files",
            format!("{{ path = \"{path}\", pattern = \"SECRET\" }}"),
        ));
    }
    let results = results(&home, &calls);
    assert_eq!(results.len(), calls.len());
    for (result, (tool, arguments)) in results.iter().zip(&calls) {
        let said = text(result);
        assert!(!said.contains("OUTSIDE-SECRET"), "{tool} {arguments}: {said}");
        assert!(!said.contains("root:"), "{tool} {arguments}: {said}");
        assert!(!said.contains("Os {"), "{tool} {arguments}: {said}");
        // A path with `~` or of no characters may be one of the workspace; the others are not.
        if !arguments.contains("path = \"~") && !arguments.contains("path = \"\"") {
            assert_ne!(result["status"], "ok", "{tool} {arguments}: {said}");
            assert!(!said.is_empty(), "{tool} {arguments}");
        }
    }
    assert_eq!(home.read("outside.txt"), "OUTSIDE-SECRET\n");
    assert_eq!(home.read("beside/deep.txt"), "OUTSIDE-SECRET\n");
    assert!(!home.path("beside").join("new.txt").exists());
}

#[test]
fn searching_and_listing_everything_stays_inside() {
    let home = Home::scripted("");
    home.write("outside.txt", "OUTSIDE-SECRET\n");
    home.write("project/inside.txt", "INSIDE-SECRET\n");
    symlink(home.path(""), home.path("project/up")).unwrap();
    let results = results(
        &home,
        &[
            ("search_files", "{ pattern = \"SECRET\" }".into()),
            ("list_files", "{ path = \".\", recursive = true }".into()),
        ],
    );
    assert!(text(&results[0]).contains("INSIDE-SECRET"), "{results:?}");
    assert!(
        results
            .iter()
            .all(|result| !text(result).contains("OUTSIDE-SECRET")),
        "{results:?}"
    );
    assert!(!text(&results[1]).contains("outside.txt"), "{results:?}");
}

#[test]
fn the_programs_own_files_are_nothing_for_its_tools() {
    let home = Home::scripted("");
    // The workspace is the home itself, with configuration and data in it.
    let workspace = home.path("").display().to_string();
    home.play(
        "[[reply]]\ncalls = [\n\
         { tool = \"read_file\", arguments = { path = \"config/tidegate/tidegate.toml\" } },\n\
         { tool = \"write_file\", arguments = { path = \"config/tidegate/tidegate.toml\", content = \"x\" } },\n\
         { tool = \"write_file\", arguments = { path = \"data/tidegate.db-wal\", content = \"x\" } },\n\
         { tool = \"read_file\", arguments = { path = \"data/tidegate.db\" } },\n\
         { tool = \"search_files\", arguments = { pattern = \"scenario.toml\" } },\n\
         ]\n[[reply]]\ntext = \"done\"\n",
    );
    let before = home.read("config/tidegate/tidegate.toml");
    let session = home.json(["run", "work", "--workspace", &workspace, "--json"])["session"].clone();
    assert_eq!(home.read("config/tidegate/tidegate.toml"), before);
    let history = home
        .run(["sessions", "history", session.as_str().unwrap(), "--json"])
        .code(0)
        .lines();
    let results: Vec<&Value> = history
        .iter()
        .filter_map(|entry| entry["body"]["results"]["results"].as_array())
        .flatten()
        .collect();
    for result in &results[..4] {
        assert_eq!(result["status"], "refused", "{result}");
    }
    assert!(
        !text(results[4]).contains("kind = \"scripted\""),
        "{}",
        results[4]
    );
    home.run(["sessions", "list"]).code(0);
}

#[test]
fn a_store_in_the_workspace_is_not_the_models_with_all_that_sqlite_keeps_beside_it() {
    let home = Home::scripted("");
    let names = ["t.db", "t.db-wal", "t.db-shm", "t.db-journal"];
    let calls: Vec<String> = names
        .iter()
        .map(|name| {
            format!("{{ tool = \"write_file\", arguments = {{ path = \"{name}\", content = \"x\" }} }}")
        })
        .collect();
    let scenario = format!(
        "[[reply]]\ncalls = [{}]\n[[reply]]\ntext = \"done\"\n",
        calls.join(", ")
    );
    home.play(&scenario);
    let store = home.path("project/t.db").display().to_string();
    let variables = [("TIDEGATE__STORE__PATH", store.as_str())];
    home.run_with(&variables, ["run", "work", "--session", "a"])
        .code(0);
    let history = home.run_with(&variables, ["sessions", "history", "a"]).code(0);
    for call in 0..names.len() {
        let refused = format!("← write_file [call_2_{call}] refused");
        assert!(history.out.contains(&refused), "{}", history.out);
    }
}
