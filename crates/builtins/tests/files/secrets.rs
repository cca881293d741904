//! What is above the clearance leaves no trace: two workspaces that differ only there answer alike.

use crate::common::{Ended, Space, cleared, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use tidegate_policy::Classification::*;
use tidegate_policy::Label;
use tidegate_tools::{ContentHash, KnownFile};

/// One thing in the part that may not be seen.
#[derive(Clone, Debug)]
enum Secret {
    File(String, String),
    Folder(String),
    Link(String, String),
}

fn space(secrets: &[Secret]) -> Space {
    let space = Space::with_rules(|rules| {
        let own = rules.clone().build().unwrap().workspace().join("notes/own");
        rules
            .pattern("notes/*.key", Restricted)
            .pattern("open/secret*", Confidential)
            .own(own)
    });
    space
        .file("notes/plan.md", "plan A\nneedle")
        .file("open/list.txt", "needle")
        .file("public/faq.md", "faq");
    space
        .folder("empty")
        .link("../restricted/a", "notes/link")
        .link("../restricted/b/plan", "public/plan");
    for secret in secrets {
        match secret {
            Secret::File(path, content) => {
                if let Some(folder) = space.path(path).parent()
                    && fs::create_dir_all(folder).is_ok()
                {
                    // Through a link made before, this would change what may be seen.
                    let _ = fs::File::create_new(space.path(path))
                        .and_then(|mut file| file.write_all(content.as_bytes()));
                }
            }
            Secret::Folder(path) => drop(fs::create_dir_all(space.path(path))),
            Secret::Link(target, path) => {
                if let Some(folder) = space.path(path).parent()
                    && fs::create_dir_all(folder).is_ok()
                {
                    let _ = std::os::unix::fs::symlink(target, space.path(path));
                }
            }
        }
    }
    space
}

/// Every question whose answer could tell.
fn questions() -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("list_files", json!({})),
        ("list_files", json!({"recursive": true})),
        ("list_files", json!({"recursive": true, "limit": 3})),
        ("list_files", json!({"pattern": "**/*"})),
        ("list_files", json!({"path": "notes", "pattern": "*.key"})),
        ("search_files", json!({"pattern": "needle"})),
        ("search_files", json!({"pattern": "needle", "limit": 1})),
        ("search_files", json!({"pattern": "", "glob": "**/*"})),
        ("write_file", json!({"path": "notes/new.md", "content": "x"})),
    ];
    let paths = [
        "restricted",
        "restricted/a",
        "restricted/a/b",
        "restricted/b/plan",
        "notes/a.key",
        "notes/pla.md",
        "notes/own",
        "notes/own/a",
        "notes/link",
        "notes/link/b",
        "public/plan",
        "open/secret",
        "open/secre",
        "open/secret/x",
        "restrictd",
        "confidential/x",
        "notes/a.ky",
        "restricted/../notes/plan.md",
        "restricted/a/../../notes/plan.md",
    ];
    for path in paths {
        questions.push(("read_file", json!({"path": path})));
        questions.push(("list_files", json!({"path": path})));
        questions.push(("search_files", json!({"pattern": "needle", "path": path})));
        questions.push((
            "edit_file",
            json!({"path": path, "old_text": "plan A", "new_text": "plan B"}),
        ));
        questions.push(("write_file", json!({"path": path, "content": "needle"})));
    }
    questions
}

async fn all(space: &Space) -> Vec<(String, Ended)> {
    let mut answers = Vec::new();
    for (tool, arguments) in questions() {
        let asked = format!("{tool} {arguments}");
        let ended = space.call_in(tool, arguments, cleared(Internal)).await;
        answers.push((asked, ended));
    }
    answers
}

fn answers(space: &Space) -> Vec<(String, Ended)> {
    run(all(space))
}

fn secret() -> impl Strategy<Value = Secret> {
    let path = proptest::sample::select(vec![
        "restricted/a",
        "restricted/b/plan",
        "restricted/a/b",
        "restricted/.tidegate-0123456789abcdef.tmp",
        "notes/a.key",
        "notes/plan.key",
        "notes/own/a",
        "notes/own",
        "open/secret",
        "open/secret/x",
        "open/secrets.txt",
        "confidential/x",
        "confidential/needle.md",
        "Restricted/x",
    ]);
    let content = proptest::sample::select(vec!["", "needle", "needle\nneedle", "\0binary", "plan A"]);
    (path, content, 0..3).prop_map(|(path, content, kind)| match kind {
        0 => Secret::File(path.into(), content.into()),
        1 => Secret::Folder(path.into()),
        _ => Secret::Link("../notes/plan.md".into(), path.into()),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_answer_depends_on_what_may_not_be_seen(
        some in proptest::collection::vec(secret(), 0..8),
        others in proptest::collection::vec(secret(), 0..8),
    ) {
        let (one, other) = (answers(&space(&some)), answers(&space(&others)));
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!(one, other);
        }
    }
}

#[test]
fn the_questions_are_able_to_tell() {
    // A session that may see the difference does.
    let answers = |space: &Space| {
        run(async {
            let mut answers = Vec::new();
            for (tool, arguments) in questions() {
                answers.push(space.call_in(tool, arguments, cleared(Restricted)).await);
            }
            answers
        })
    };
    let secrets = [
        Secret::File("restricted/a".into(), "needle".into()),
        Secret::File("notes/a.key".into(), "".into()),
    ];
    let differing = answers(&space(&[]))
        .iter()
        .zip(&answers(&space(&secrets)))
        .filter(|(one, other)| one != other)
        .count();
    assert!(differing > 20, "{differing}");
}

#[test]
fn a_file_known_to_be_high_is_no_more_than_a_name_for_those_below() {
    let with = |content: &str| {
        let space = space(&[]);
        space.file("notes/raised.md", content);
        let known = KnownFile {
            hash: ContentHash([0; 32]),
            label: Label::trusted(Restricted),
        };
        space.labels.set(&space.path("notes/raised.md"), known);
        space
    };
    let ask = |space: &Space| {
        run(async {
            let mut answers = all(space).await;
            for (tool, arguments) in [
                ("read_file", json!({"path": "notes/raised.md", "offset": 3})),
                (
                    "search_files",
                    json!({"pattern": "needle", "path": "notes/raised.md"}),
                ),
                (
                    "edit_file",
                    json!({"path": "notes/raised.md", "old_text": "needle", "new_text": ""}),
                ),
            ] {
                answers.push((
                    tool.into(),
                    space.call_in(tool, arguments, cleared(Internal)).await,
                ));
            }
            answers
        })
    };
    let one = ask(&with("needle"));
    for content in ["", "other\n", "\0", &"long ".repeat(4_000_000)] {
        assert_eq!(one, ask(&with(content)));
    }
}
