//! Names that a tool gave, and the labels recorded for them.

use crate::common::{Space, context};
use serde_json::{Value, json};
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_policy::{Classification, Label};
use tidegate_tools::{CallContext, ContentHash, KnownFile, PendingWrites};

const SECRET: &str = "hunter2";

fn clearance(clearance: Classification) -> CallContext {
    CallContext {
        clearance,
        ..context()
    }
}

/// A workspace that is PUBLIC by its paths, in which something CONFIDENTIAL named files, folders and links.
fn space() -> Space {
    let space = Space::with_rules(|rules| rules.workspace_level(Public));
    space
        .file("open.txt", "needle")
        .file(&format!("{SECRET}.txt"), "needle")
        .file(&format!("{SECRET}/inside.txt"), "needle")
        .file(&format!("sub/{SECRET}.d/inside.txt"), "needle")
        .link(SECRET, "link");
    for path in [
        format!("{SECRET}.txt"),
        SECRET.to_owned(),
        format!("sub/{SECRET}.d"),
        "link".to_owned(),
    ] {
        let known = KnownFile {
            hash: ContentHash::NONE,
            label: Label::untrusted(Confidential),
        };
        space.labels.set(&space.path(&path), known);
    }
    space
}

/// Every way to be told names.
fn listings() -> Vec<(&'static str, Value)> {
    vec![
        ("list_files", json!({})),
        ("list_files", json!({"recursive": true})),
        ("list_files", json!({"pattern": "hunter*"})),
        ("list_files", json!({"path": "sub"})),
        ("search_files", json!({"pattern": "needle"})),
        ("search_files", json!({"pattern": "needle", "path": "sub"})),
        ("read_file", json!({"path": "hunter.txt"})),
        ("list_files", json!({"path": "hunter"})),
        ("search_files", json!({"pattern": "x", "path": "hunter"})),
        (
            "write_file",
            json!({"path": "sub/hunter.d/../missing", "content": ""}),
        ),
        (
            "edit_file",
            json!({"path": "hunte2.txt", "old_text": "a", "new_text": "b"}),
        ),
    ]
}

#[tokio::test]
async fn a_name_above_the_clearance_is_told_by_no_tool() {
    for level in [Public, Internal] {
        for (tool, arguments) in listings() {
            let space = space();
            let ended = space.call_in(tool, arguments.clone(), clearance(level)).await;
            assert!(
                !ended.text.contains(SECRET) && ended.label.classification <= level,
                "{level} {tool} {arguments}: {ended:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_name_within_the_clearance_brings_its_label() {
    for (tool, arguments) in listings() {
        let space = space();
        let ended = space
            .call_in(tool, arguments.clone(), clearance(Restricted))
            .await;
        assert!(
            !ended.text.contains(SECRET) || ended.label.classification == Confidential,
            "{tool} {arguments}: {ended:?}"
        );
    }
    let listed = space()
        .call_in("list_files", json!({}), clearance(Confidential))
        .await;
    assert!(
        listed.text.contains("hunter2.txt") && listed.text.contains("link -> hunter2"),
        "{listed:?}"
    );
}

#[tokio::test]
async fn an_answer_about_a_place_brings_the_labels_of_the_folders_that_lead_there() {
    for (tool, arguments) in [
        ("list_files", json!({"path": SECRET})),
        ("search_files", json!({"pattern": "nothing", "path": SECRET})),
        ("read_file", json!({"path": format!("{SECRET}/inside.txt")})),
        ("read_file", json!({"path": format!("{SECRET}/missing.txt")})),
        ("read_file", json!({"path": "link/inside.txt"})),
        ("list_files", json!({"path": "link"})),
    ] {
        let space = space();
        let ended = space
            .call_in(tool, arguments.clone(), clearance(Confidential))
            .await;
        assert_eq!(
            ended.label.classification, Confidential,
            "{tool} {arguments}: {ended:?}"
        );
        let ended = space.call_in(tool, arguments.clone(), clearance(Internal)).await;
        assert!(
            ended.how != "ok" && ended.label.classification <= Internal,
            "{tool} {arguments}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn folders_made_for_a_file_have_the_label_of_who_made_them() {
    let space = Space::with_rules(|rules| rules.workspace_level(Public).pattern("**/*.key", Confidential));
    let tainted = CallContext {
        label: Label::untrusted(Confidential),
        ..clearance(Confidential)
    };
    let arguments = json!({"path": "sub/hunter2/x.key", "content": "x"});
    assert_eq!(space.call_in("write_file", arguments, tainted).await.how, "ok");
    for folder in ["sub", "sub/hunter2"] {
        let label = space.labels.get_now(&space.path(folder)).map(|known| known.label);
        assert_eq!(label, Some(Label::untrusted(Confidential)), "{folder}");
    }
    let listed = space
        .call_in("list_files", json!({"recursive": true}), clearance(Public))
        .await;
    assert_eq!(
        (listed.text.as_str(), listed.label.classification),
        ("[nothing in it]", Public)
    );
}

#[tokio::test]
async fn folders_are_labelled_before_they_can_be_seen() {
    let space = Space::new();
    let root = space.path("");
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = std::sync::Arc::clone(&seen);
    space.labels.before_put(move |path| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        note.lock().unwrap().push((name, path.exists()));
    });
    let arguments = json!({"path": "a/b/c.txt", "content": "x"});
    assert_eq!(space.call("write_file", arguments).await.how, "ok");
    let expected = [("a", false), ("a/b", false), ("a/b/c.txt", false)];
    assert_eq!(
        *seen.lock().unwrap(),
        expected.map(|(name, there)| (name.to_owned(), there))
    );
}

#[tokio::test]
async fn what_may_be_being_written_counts_as_written() {
    let space = space();
    space.file("kept/a.txt", "needle");
    space.labels.pending.lock().unwrap().push(PendingWrites {
        id: "1".into(),
        since_ms: 0,
        label: Label::untrusted(Internal),
        places: vec![
            (space.path("").components().collect(), true),
            (space.path("kept"), false),
        ],
    });
    for (tool, arguments, level) in [
        ("read_file", json!({"path": "open.txt"}), Internal),
        ("read_file", json!({"path": "kept/a.txt"}), Public),
        ("list_files", json!({}), Internal),
        ("list_files", json!({"path": "kept"}), Public),
        (
            "search_files",
            json!({"pattern": "needle", "path": "open.txt"}),
            Internal,
        ),
    ] {
        let ended = space.call_in(tool, arguments.clone(), clearance(Internal)).await;
        assert_eq!(
            (ended.how.as_str(), ended.label.classification),
            ("ok", level),
            "{tool} {arguments}"
        );
    }
    let ended = space.call_in("list_files", json!({}), clearance(Public)).await;
    assert_eq!(
        (ended.text.as_str(), ended.label.classification),
        ("kept/", Public)
    );
}

#[tokio::test]
async fn many_labels_in_deeper_folders_do_not_hide_those_that_are_asked_for() {
    let space = Space::with_rules(|rules| rules.workspace_level(Public));
    let known = |label| KnownFile {
        hash: ContentHash::NONE,
        label,
    };
    for folder in 0..30 {
        for file in 0..60 {
            let path = space.path(&format!("d{folder}/{file}"));
            space.labels.set(&path, known(Label::untrusted(Confidential)));
        }
    }
    space
        .file("d0-near", "")
        .file("d29.txt", "")
        .file("z", "")
        .folder("d5");
    for name in ["d0-near", "d29.txt", "z"] {
        space
            .labels
            .set(&space.path(name), known(Label::untrusted(Confidential)));
    }
    let listed = space.call_in("list_files", json!({}), clearance(Public)).await;
    assert_eq!(listed.text, "d5/");
}

#[tokio::test]
async fn nothing_is_listed_whose_labels_cannot_be_read() {
    let space = space();
    space.labels.break_down(true);
    for (tool, arguments) in listings() {
        let ended = space
            .call_in(tool, arguments.clone(), clearance(Confidential))
            .await;
        assert!(!ended.text.contains(SECRET), "{tool} {arguments}: {ended:?}");
    }
}

#[tokio::test]
async fn that_a_write_succeeds_in_a_folder_above_the_sink_is_not_told() {
    let space = space();
    let arguments = json!({"path": format!("{SECRET}/new.txt"), "content": "x"});
    let ended = space
        .call_in("write_file", arguments, clearance(Confidential))
        .await;
    assert_eq!(ended.how, "no-write-down");
}
