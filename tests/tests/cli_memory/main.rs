//! The memories as their owner meets them: memory, rag, models, eval memory, and what doctor says of them, with the real
//! program.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod everyday;
mod forgotten;
#[expect(dead_code, reason = "shared with the tests of the other commands")]
#[path = "../cli/harness.rs"]
mod harness;
mod hub;
mod index;
mod labels;
mod models;
mod rag;
mod release;
#[expect(dead_code, reason = "shared with the tests of the commands of every day")]
#[path = "../cli_everyday/screen.rs"]
mod screen;
mod transfer;

use harness::Home;
use serde_json::Value;

/// A home with a model that says "done" and these memories: name, level, text.
fn remembering(memories: &[(&str, &str, &str)]) -> Home {
    let home = Home::answering("done");
    for (name, level, text) in memories {
        home.run([
            "memory",
            "add",
            text,
            "--artifact",
            "rules",
            "--id",
            name,
            "--level",
            level,
        ])
        .code(0);
    }
    home
}

/// The names of the memories a search finds, best first.
fn found(home: &Home, query: &str) -> Vec<String> {
    let report = home.json(["memory", "search", query, "--json"]);
    names(&report["hits"])
}

fn names(memories: &Value) -> Vec<String> {
    let memories = memories.as_array().unwrap().iter();
    memories
        .map(|memory| memory["memory_id"].as_str().unwrap().to_owned())
        .collect()
}

/// All names with labels, in the order of names and labels.
fn all(home: &Home) -> Vec<(String, String)> {
    let report = home.json(["memory", "index", "--json"]);
    let mut all = Vec::new();
    for theme in report["themes"].as_array().unwrap() {
        for item in theme["items"].as_array().unwrap() {
            let label = &item["label"];
            all.push((
                item["memory_id"].as_str().unwrap().to_owned(),
                format!(
                    "{} {}",
                    label["classification"].as_str().unwrap(),
                    label["integrity"].as_str().unwrap()
                ),
            ));
        }
    }
    all.sort();
    all
}
