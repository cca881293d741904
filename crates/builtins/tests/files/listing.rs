//! `list_files`.

use crate::common::{Space, cleared, run};
use serde_json::{Value, json};
use tidegate_policy::Classification::*;
use tidegate_policy::Label;

fn list(space: &Space, arguments: Value) -> String {
    let ended = run(space.call("list_files", arguments));
    if ended.how == "ok" {
        ended.text
    } else {
        format!("{}: {}", ended.how, ended.text)
    }
}

fn tree() -> Space {
    let space = Space::new();
    space
        .file("b.txt", "")
        .file("a-b.md", "")
        .file("a/z.md", "")
        .file("a/deep/er/x.md", "")
        .file("a.md", "");
    space.file(".hidden", "").file(".git/config", "").folder("empty");
    space
        .link("a", "to-a")
        .link("../outside", "to-outside")
        .link("nowhere", "dangling");
    space.file(".tidegate-0123456789abcdef.tmp", "unfinished");
    space
}

#[test]
fn a_folder_is_listed_in_the_order_of_bytes() {
    insta::assert_snapshot!(list(&tree(), json!({})), @r"
    .git/
    .hidden
    a-b.md
    a.md
    a/
    b.txt
    dangling -> nowhere
    empty/
    to-a -> a
    to-outside -> ../outside
    ");
}

#[test]
fn folders_in_it_are_listed_on_demand_and_links_not_followed() {
    insta::assert_snapshot!(list(&tree(), json!({"recursive": true})), @r"
    .git/
    .hidden
    a-b.md
    a.md
    a/
    a/deep/
    a/deep/er/
    a/deep/er/x.md
    a/z.md
    b.txt
    dangling -> nowhere
    empty/
    to-a -> a
    to-outside -> ../outside
    ");
}

#[test]
fn a_pattern_chooses() {
    let space = tree();
    let table = [
        (json!({"pattern": "*.md"}), "a-b.md\na.md"),
        (
            json!({"pattern": "*.md", "recursive": true}),
            "a-b.md\na.md\na/deep/er/x.md\na/z.md",
        ),
        (
            json!({"pattern": "**/*.md"}),
            "a-b.md\na.md\na/deep/er/x.md\na/z.md",
        ),
        (json!({"pattern": "a/*"}), "a/deep/\na/z.md"),
        (json!({"pattern": "a/*", "recursive": false}), "[nothing matches]"),
        (
            json!({"path": "a", "pattern": "deep/**"}),
            "a/deep/er/\na/deep/er/x.md",
        ),
        (json!({"pattern": "[ab].{md,txt}"}), "a.md\nb.txt"),
        (json!({"path": "to-a"}), "a/deep/\na/z.md"),
        (json!({"path": ".git"}), ".git/config"),
        (json!({"path": "empty"}), "[nothing in it]"),
        (json!({"path": "a/../a/"}), "a/deep/\na/z.md"),
        (json!({"path": "b.txt"}), "error: b.txt is not a folder"),
        (
            json!({"path": "to-outside"}),
            "error: to-outside cannot be used: the link to-outside leads out of the workspace",
        ),
        (
            json!({"path": "emty"}),
            "error: there is no emty; did you mean empty?",
        ),
        (
            json!({"pattern": "[a"}),
            "error: \"[a\" is not a glob: unclosed character class; missing ']'; use * for any part of a name, ** for any folders, [ab] for a choice",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(list(&space, arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn a_long_listing_is_cut_with_a_mark() {
    let space = Space::new();
    for index in 0..30 {
        space.file(&format!("{index:02}.txt"), "");
    }
    assert_eq!(
        list(&space, json!({"limit": 2})),
        "00.txt\n01.txt\n[only the first 2; narrow path or pattern, or raise limit]"
    );
    assert_eq!(list(&space, json!({"limit": 30})).lines().count(), 30);
}

#[test]
fn a_very_deep_tree_is_walked_to_a_depth() {
    let space = Space::new();
    space.folder(&vec!["d"; 80].join("/"));
    let listed = list(&space, json!({"recursive": true}));
    assert_eq!(listed.lines().count(), 66);
    assert!(
        listed.ends_with("d/d is more than 64 folders deep and was passed over]"),
        "{listed}"
    );
}

#[test]
fn the_label_joins_everything_looked_at_matched_or_not() {
    let space = Space::with_rules(|rules| {
        let trusted = rules.clone().build().unwrap().workspace().join("trusted");
        rules
            .workspace_level(Public)
            .pattern("mixed/*.key", Restricted)
            .pattern("mixed/*.c", Confidential)
            .trusted(trusted)
    });
    space
        .file("mixed/a.txt", "")
        .file("plain/a.txt", "")
        .file("trusted/a.txt", "")
        .folder("confidential");
    space
        .file("mixed/b.c", "")
        .file("mixed/c.key", "")
        .folder("trusted/none");
    let label = |arguments: Value, clearance| {
        let ended = run(space.call_in("list_files", arguments, cleared(clearance)));
        assert_eq!(ended.how, "ok");
        ended.label
    };
    assert_eq!(
        label(json!({"path": "plain"}), Restricted),
        Label::untrusted(Public)
    );
    assert_eq!(
        label(json!({"path": "mixed"}), Restricted),
        Label::untrusted(Restricted)
    );
    assert_eq!(
        label(json!({"path": "mixed", "pattern": "*.none"}), Restricted),
        Label::untrusted(Restricted)
    );
    assert_eq!(
        label(json!({"path": "mixed"}), Confidential),
        Label::untrusted(Confidential)
    );
    assert_eq!(
        label(json!({"path": "mixed"}), Internal),
        Label::untrusted(Public)
    );
    assert_eq!(
        label(json!({"path": "confidential"}), Restricted),
        Label::untrusted(Confidential)
    );
    assert_eq!(
        label(json!({"path": "trusted"}), Restricted),
        Label::trusted(Public)
    );
    assert_eq!(
        label(json!({"path": "trusted/none"}), Restricted),
        Label::trusted(Public)
    );
    assert_eq!(
        label(json!({"limit": 1}), Restricted),
        Label::untrusted(Confidential)
    );
}
