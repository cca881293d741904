//! `edit_file`.

use crate::common::{Space, context, run, tainted};
use serde_json::{Value, json};
use std::fs;
use tidegate_policy::Classification::*;
use tidegate_policy::Label;

fn edit(space: &Space, path: &str, old: &str, new: &str) -> Value {
    let ended = run(space.call(
        "edit_file",
        json!({"path": path, "old_text": old, "new_text": new}),
    ));
    Value::String(format!("{}: {}", ended.how, ended.text))
}

#[test]
fn a_piece_is_replaced_and_the_lines_around_it_are_shown() {
    let space = Space::new();
    space.file("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    insta::assert_snapshot!(edit(&space, "a.txt", "three\nfour", "3\n4").as_str().unwrap(), @r"
    ok: edited a.txt, 1 place; now:
    1: one
    2: two
    3: 3
    4: 4
    5: five
    6: six
    ");
    assert_eq!(space.content("a.txt").unwrap(), "one\ntwo\n3\n4\nfive\nsix\n");
    insta::assert_snapshot!(edit(&space, "a.txt", "six\n", "").as_str().unwrap(), @r"
    ok: edited a.txt, 1 place; now:
    4: 4
    5: five
    ");
    space.file("b.txt", "a a a");
    let all = json!({"path": "b.txt", "old_text": "a", "new_text": "bb", "replace_all": true});
    insta::assert_snapshot!(run(space.call("edit_file", all)).text, @r"
    edited b.txt, 3 places; now:
    1: bb bb bb
    ");
    let long = (1..=50)
        .map(|line| format!("line {line} {}", "x".repeat(300)))
        .collect::<Vec<_>>()
        .join("\n");
    let shown = edit(&space, "b.txt", "bb bb bb", &long);
    assert_eq!(shown.as_str().unwrap().lines().count(), 22);
    assert_eq!(space.content("b.txt").unwrap(), long);
}

#[test]
fn what_cannot_be_replaced_is_told_with_what_to_do() {
    let space = Space::new();
    space
        .file("a.txt", "fn main() {\n    println!(\"hi\");\n}\nhi hi\n")
        .file("dos.txt", "one\r\ntwo\r\n");
    space
        .file("many.txt", "x\n".repeat(100))
        .file("bin", b"\0a")
        .file("aaa.txt", "aaa");
    let table = [
        (
            "a.txt",
            "absent",
            "b",
            "error: old_text is not in a.txt; read the file to see what it holds now",
        ),
        (
            "a.txt",
            "println!( \"hi\");",
            "",
            "error: old_text is not in a.txt; read the file to see what it holds now",
        ),
        (
            "a.txt",
            "\tprintln!(\"hi\");\n}",
            "",
            "error: old_text is not in a.txt; line 2 is similar, mind its white space and what follows:     println!(\"hi\");",
        ),
        (
            "a.txt",
            "hi",
            "ho",
            "error: old_text is in a.txt 3 times, at lines 2, 4, 4; take in lines around it until it is unique, or set \
             replace_all",
        ),
        (
            "many.txt",
            "x",
            "y",
            "error: old_text is in many.txt more than 10 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...; take in lines \
             around it until it is unique, or set replace_all",
        ),
        (
            "aaa.txt",
            "aa",
            "b",
            "error: old_text is in aaa.txt 2 times, at lines 1, 1; take in lines around it until it is unique, or set \
             replace_all",
        ),
        (
            "dos.txt",
            "one\ntwo",
            "1",
            "error: old_text is not in dos.txt; the file's lines end with \\r\\n, so those of old_text have to",
        ),
        (
            "a.txt",
            "",
            "b",
            "error: nothing to replace in a.txt: old_text has to be some text of the file, and new_text another",
        ),
        (
            "a.txt",
            "hi",
            "hi",
            "error: nothing to replace in a.txt: old_text has to be some text of the file, and new_text another",
        ),
        (
            "bin",
            "a",
            "b",
            "error: bin is no UTF-8 text but binary (2 bytes)",
        ),
        ("b.txt", "a", "b", "error: there is no b.txt; did you mean a.txt?"),
    ];
    for (path, old, new, expected) in table {
        let before = space.content(path);
        assert_eq!(edit(&space, path, old, new), *expected, "{path} {old:?}");
        assert_eq!(space.content(path), before);
    }
}

#[test]
fn what_is_edited_keeps_the_label_of_what_was_there() {
    let space = Space::new();
    run(async {
        let write = json!({"path": "a.txt", "content": "owner"});
        space.call("write_file", write).await;
        let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
        let read = || space.call("read_file", json!({"path": "a.txt"}));

        space.call("edit_file", edit("owner", "owner's")).await;
        assert_eq!(read().await.label, Label::trusted(Internal));
        space
            .call_in(
                "edit_file",
                edit("owner's", "mail's"),
                tainted(Label::untrusted(Public)),
            )
            .await;
        assert_eq!(read().await.label, Label::untrusted(Internal));
        let ended = space.call("edit_file", edit("mail", "owner")).await;
        assert_eq!(ended.label, Label::untrusted(Internal));
        assert_eq!(read().await.label, Label::untrusted(Internal));
        // Whole new content owes the old nothing but its level.
        space
            .call("write_file", json!({"path": "a.txt", "content": "owner"}))
            .await;
        assert_eq!(read().await.label, Label::trusted(Internal));
    });
}

#[test]
fn an_error_has_the_label_of_what_was_read() {
    let space = Space::new();
    space.file("confidential/a.txt", "text");
    let ended = run(space.call(
        "edit_file",
        json!({"path": "confidential/a.txt", "old_text": "no", "new_text": ""}),
    ));
    assert_eq!(
        (ended.how.as_str(), ended.label),
        ("error", Label::untrusted(Confidential))
    );
}

#[test]
fn an_edit_is_of_just_the_content_that_was_judged() {
    for between in ["judging and reading again", "reading again and running"] {
        let space = Space::new();
        space.file("a.txt", "one");
        let error = run(async {
            let arguments = json!({"path": "a.txt", "old_text": "one", "new_text": "two"});
            let mut prepared = space.prepare("edit_file", arguments, &context()).await.unwrap();
            if between.starts_with("reading") {
                prepared.reread().await.unwrap();
            }
            fs::write(space.path("b.txt"), "one, and somebody else's").unwrap();
            fs::rename(space.path("b.txt"), space.path("a.txt")).unwrap();
            if between.starts_with("judging") {
                return prepared.reread().await.unwrap_err();
            }
            prepared.run(context()).await.unwrap_err()
        });
        assert_eq!(
            error.message,
            "a.txt changed while it was being used; look at it again and repeat the call"
        );
        assert_eq!(space.content("a.txt").unwrap(), "one, and somebody else's");
        assert_eq!(space.names(""), ["a.txt"]);
    }
}
