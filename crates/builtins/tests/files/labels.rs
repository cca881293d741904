//! The labels of contents.

use crate::common::{Ended, Space, cleared, run, tainted};
use serde_json::json;
use std::fs;
use tidegate_policy::Classification::*;
use tidegate_policy::Label;
use tidegate_tools::{ContentHash, KnownFile};

fn space() -> Space {
    Space::with_rules(|rules| {
        let trusted = rules.clone().build().unwrap().workspace().join("trusted");
        rules.workspace_level(Public).trusted(trusted)
    })
}

async fn read(space: &Space, path: &str) -> Ended {
    space.call("read_file", json!({"path": path})).await
}

#[test]
fn what_a_tool_wrote_keeps_its_label_until_somebody_changes_it() {
    let space = space();
    run(async {
        let write = |path: &'static str, label| {
            let space = &space;
            async move {
                let arguments = json!({"path": path, "content": "text"});
                assert_eq!(
                    space.call_in("write_file", arguments, tainted(label)).await.how,
                    "ok"
                );
            }
        };
        write("a.txt", Label::BOTTOM).await;
        assert_eq!(read(&space, "a.txt").await.label, Label::BOTTOM);
        write("a.txt", Label::untrusted(Public)).await;
        assert_eq!(read(&space, "a.txt").await.label, Label::untrusted(Public));

        write("a.txt", Label::BOTTOM).await;
        fs::write(space.path("a.txt"), "changed").unwrap();
        assert_eq!(read(&space, "a.txt").await.label, Label::untrusted(Public));
        // The same bytes are the same content.
        fs::write(space.path("a.txt"), "text").unwrap();
        assert_eq!(read(&space, "a.txt").await.label, Label::BOTTOM);

        write("confidential/a.txt", Label::trusted(Internal)).await;
        assert_eq!(
            read(&space, "confidential/a.txt").await.label,
            Label::trusted(Confidential)
        );
        // A folder marked trusted vouches for files nobody knows, not for what a tool wrote into it.
        write("trusted/b.txt", Label::untrusted(Public)).await;
        assert_eq!(
            read(&space, "trusted/b.txt").await.label,
            Label::untrusted(Public)
        );
        space.file("trusted/a.txt", "x").file("new.txt", "x");
        assert_eq!(read(&space, "trusted/a.txt").await.label, Label::BOTTOM);
        assert_eq!(read(&space, "new.txt").await.label, Label::untrusted(Public));
    });
}

#[test]
fn a_known_level_holds_whatever_the_content_is_now() {
    let space = space();
    space.file("a.txt", "text");
    space.labels.set(
        &space.path("a.txt"),
        KnownFile {
            hash: ContentHash([0; 32]),
            label: Label::trusted(Confidential),
        },
    );
    run(async {
        assert_eq!(read(&space, "a.txt").await.label, Label::untrusted(Confidential));
        let low = |tool, arguments| space.call_in(tool, arguments, cleared(Internal));
        assert_eq!(
            low("read_file", json!({"path": "a.txt"})).await.how,
            "read-ceiling"
        );
        let edit = json!({"path": "a.txt", "old_text": "t", "new_text": "", "replace_all": true});
        assert_eq!(low("edit_file", edit.clone()).await.how, "read-ceiling");
        let search = low("search_files", json!({"pattern": "text"})).await;
        assert_eq!(
            (search.text.as_str(), search.label),
            ("[no line matches]", Label::untrusted(Public))
        );
        // By way of an edit the content would stay in a file that by its path is PUBLIC.
        assert_eq!(space.call("edit_file", edit).await.how, "no-write-down");
        // Whole new content does not make the record forget how high the file was: the old may still be there.
        assert_eq!(
            space
                .call("write_file", json!({"path": "a.txt", "content": "new"}))
                .await
                .how,
            "ok"
        );
        assert_eq!(read(&space, "a.txt").await.label, Label::trusted(Confidential));
    });
}

#[test]
fn a_label_that_cannot_be_read_is_the_highest() {
    let space = space();
    space.file("a.txt", "text");
    space.labels.break_down(true);
    run(async {
        assert_eq!(read(&space, "a.txt").await.label, Label::UNREADABLE);
        let ended = space
            .call_in("read_file", json!({"path": "a.txt"}), cleared(Confidential))
            .await;
        assert_eq!(ended.how, "read-ceiling");
    });
}

#[test]
fn a_label_that_rises_while_the_call_is_judged_is_seen() {
    let space = space();
    space.file("a.txt", "text");
    run(async {
        let context = cleared(Restricted);
        let mut prepared = space
            .prepare("read_file", json!({"path": "a.txt"}), &context)
            .await
            .unwrap();
        let before = prepared.resources().to_vec();
        let known = KnownFile {
            hash: ContentHash([1; 32]),
            label: Label::trusted(Confidential),
        };
        space.labels.set(&space.path("a.txt"), known);
        let after = prepared.reread().await.unwrap();
        assert_ne!(before, after);
        assert_eq!(
            prepared.run(context).await.unwrap().label,
            Label::untrusted(Confidential)
        );
    });
}

#[test]
fn a_second_name_that_appears_while_the_call_is_judged_is_seen() {
    let space = space();
    space.file("a.txt", "text");
    run(async {
        let context = cleared(Restricted);
        let mut prepared = space
            .prepare("read_file", json!({"path": "a.txt"}), &context)
            .await
            .unwrap();
        prepared.reread().await.unwrap();
        fs::hard_link(space.path("a.txt"), space.path("b.txt")).unwrap();
        prepared.reread().await.unwrap();
        assert_eq!(prepared.run(context).await.unwrap().label, Label::UNREADABLE);
    });
}

#[test]
fn a_trusted_content_reached_by_somebody_elses_link_is_not_the_owners_choice() {
    let space = space();
    run(async {
        space
            .call("write_file", json!({"path": "a.txt", "content": "text"}))
            .await;
        space.link("a.txt", "link");
        assert_eq!(read(&space, "a.txt").await.label, Label::BOTTOM);
        assert_eq!(read(&space, "link").await.label, Label::untrusted(Public));
    });
}

#[test]
fn a_search_of_known_files_alone_is_trusted_in_a_trusted_folder() {
    let space = space();
    run(async {
        space
            .call("write_file", json!({"path": "trusted/a.txt", "content": "text"}))
            .await;
        let search = || space.call("search_files", json!({"pattern": "text", "path": "trusted"}));
        assert_eq!(search().await.label, Label::BOTTOM);
        fs::write(space.path("trusted/a.txt"), "text, changed").unwrap();
        assert_eq!(search().await.label, Label::untrusted(Public));
    });
}
