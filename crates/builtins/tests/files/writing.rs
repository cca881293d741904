//! `write_file`.

use crate::common::{Space, cleared, context, run, tainted};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use tidegate_policy::Classification::*;
use tidegate_policy::Label;

#[test]
fn content_is_written_whole_and_folders_are_made() {
    let space = Space::new();
    run(async {
        let ended = space
            .call(
                "write_file",
                json!({"path": "a/b/new.txt", "content": "你好\r\n"}),
            )
            .await;
        assert_eq!(
            (ended.how.as_str(), ended.text.as_str()),
            ("ok", "wrote 8 bytes to a/b/new.txt")
        );
        assert_eq!(space.content("a/b/new.txt").unwrap(), "你好\r\n");
        let ended = space
            .call("write_file", json!({"path": "a/b/new.txt", "content": ""}))
            .await;
        assert_eq!(ended.text, "wrote 0 bytes to a/b/new.txt");
        assert_eq!(space.content("a/b/new.txt").unwrap(), "");
    });
    assert_eq!(space.names("a/b"), ["new.txt"]);
    assert_eq!(space.names(""), ["a"]);
}

#[test]
fn a_success_tells_only_that_it_worked() {
    let space = Space::new();
    run(async {
        let write = || {
            space.call(
                "write_file",
                json!({"path": "confidential/a.txt", "content": "x"}),
            )
        };
        let (created, replaced) = (write().await, write().await);
        assert_eq!(created, replaced);
        // That it worked tells of the folder, and of nobody's text.
        assert_eq!(created.label, Label::trusted(Confidential));
    });
}

#[test]
fn data_is_not_written_down() {
    let space = Space::new();
    let secret = tainted(Label::trusted(Confidential));
    let table = [
        ("confidential/a.txt", "ok"),
        ("restricted/a.txt", "ok"),
        ("a.txt", "no-write-down"),
        ("public/a.txt", "no-write-down"),
        ("confidential/../public/a.txt", "no-write-down"),
    ];
    for (path, expected) in table {
        let ended = run(space.call_in(
            "write_file",
            json!({"path": path, "content": "x"}),
            secret.clone(),
        ));
        assert_eq!(ended.how, expected, "{path}");
    }
    assert_eq!(space.names(""), ["confidential", "restricted"]);
}

#[test]
fn a_place_above_the_clearance_is_refused_and_not_touched() {
    let space = Space::new();
    space.file("restricted/there.txt", "OLD");
    for path in [
        "restricted/there.txt",
        "restricted/not-there.txt",
        "restricted/there.txt/under",
        "restricted/new/x",
    ] {
        let ended = run(space.call_in(
            "write_file",
            json!({"path": path, "content": "x"}),
            cleared(Confidential),
        ));
        assert_eq!(
            (ended.how.as_str(), ended.text.as_str()),
            ("read-ceiling", ""),
            "{path}"
        );
    }
    assert_eq!(space.names("restricted"), ["there.txt"]);
    assert_eq!(space.content("restricted/there.txt").unwrap(), "OLD");
}

#[test]
fn the_mode_of_a_replaced_file_stays() {
    let space = Space::new();
    space.file("script.sh", "old");
    fs::set_permissions(space.path("script.sh"), Permissions::from_mode(0o751)).unwrap();
    run(space.call("write_file", json!({"path": "script.sh", "content": "new"})));
    assert_eq!(
        fs::metadata(space.path("script.sh"))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777,
        0o751
    );
    assert_eq!(space.content("script.sh").unwrap(), "new");
}

#[test]
fn what_is_read_only_stays_as_it_is() {
    let space = Space::new();
    space.file("fixed.txt", "OLD").file("folder/a.txt", "OLD");
    fs::set_permissions(space.path("fixed.txt"), Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(space.path("folder"), Permissions::from_mode(0o555)).unwrap();
    run(async {
        for (path, culprit) in [
            ("fixed.txt", "fixed.txt"),
            ("folder/a.txt", "folder"),
            ("folder/new.txt", "folder"),
        ] {
            let ended = space
                .call("write_file", json!({"path": path, "content": "x"}))
                .await;
            assert_eq!(
                ended.text,
                format!("{culprit} is read-only; write to another path"),
                "{path}"
            );
        }
    });
    assert_eq!(space.content("fixed.txt").unwrap(), "OLD");
    assert_eq!(space.content("folder/a.txt").unwrap(), "OLD");
    fs::set_permissions(space.path("folder"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_label_is_recorded_before_the_content_can_be_seen() {
    let space = Space::new();
    space.file("a.txt", "OLD");
    let path = space.path("a.txt");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (note, old) = (Arc::clone(&seen), path.clone());
    space.labels.before_put(move |path| {
        note.lock()
            .unwrap()
            .push((path.to_owned(), fs::read_to_string(&old).unwrap()));
    });
    run(space.call("write_file", json!({"path": "a.txt", "content": "NEW"})));
    assert_eq!(*seen.lock().unwrap(), [(path, "OLD".to_owned())]);
    assert_eq!(space.content("a.txt").unwrap(), "NEW");
}

#[test]
fn content_whose_label_cannot_be_recorded_is_not_written() {
    let space = Space::new();
    space.file("a.txt", "OLD");
    space.labels.break_down(true);
    run(async {
        for path in ["a.txt", "b.txt", "new/folder/c.txt"] {
            let ended = space
                .call("write_file", json!({"path": path, "content": "NEW"}))
                .await;
            assert_eq!(
                ended.text,
                format!(
                    "{path} was not written, because its label cannot be recorded: the labels of files cannot be read: \
                     the database is locked"
                )
            );
        }
    });
    // Nor is anything of the attempt left.
    assert_eq!(space.names(""), ["a.txt"]);
    assert_eq!(space.content("a.txt").unwrap(), "OLD");
}

#[test]
fn a_target_that_became_something_else_while_it_was_judged_is_not_written() {
    type Change = fn(&Space);
    let table: [(&str, Change, &str); 6] = [
        (
            "folder/a.txt",
            |space| fs::rename(space.path("folder"), space.outside("folder")).unwrap(),
            "changed",
        ),
        (
            "folder/a.txt",
            |space| fs::rename(space.path("folder"), space.path("elsewhere")).unwrap(),
            "changed",
        ),
        (
            "folder/new.txt",
            |space| {
                space.link(space.outside("secret.txt"), "folder/new.txt");
            },
            "changed",
        ),
        (
            "folder/new/a.txt",
            |space| {
                space.link(space.outside(""), "folder/new");
            },
            "changed",
        ),
        // A file or folder that came meanwhile changes nothing about a write.
        (
            "folder/new/a.txt",
            |space| _ = space.folder("folder/new"),
            "wrote",
        ),
        (
            "folder/new.txt",
            |space| _ = space.file("folder/new.txt", "OTHER"),
            "wrote",
        ),
    ];
    for (path, change, expected) in table {
        for between in ["judging and reading again", "reading again and running"] {
            let space = Space::new();
            space.file("folder/a.txt", "OLD");
            let text = run(async {
                let arguments = json!({"path": path, "content": "NEW"});
                let mut prepared = space.prepare("write_file", arguments, &context()).await.unwrap();
                if between.starts_with("judging") {
                    change(&space);
                    if let Err(error) = prepared.reread().await {
                        return error.message;
                    }
                } else {
                    prepared.reread().await.unwrap();
                    change(&space);
                }
                match prepared.run(context()).await {
                    Ok(output) => tidegate_message::joined_text(&output.content),
                    Err(error) => error.message,
                }
            });
            assert!(text.contains(expected), "{path}, between {between}: {text}");
            assert_eq!(
                fs::read_to_string(space.outside("secret.txt")).unwrap(),
                "OUTSIDE"
            );
            assert!(!space.outside("a.txt").exists());
            if let Ok(moved) = fs::read_to_string(space.outside("folder/a.txt")) {
                assert_eq!(moved, "OLD");
            }
        }
    }
}

#[test]
fn an_abandoned_write_leaves_nothing() {
    let space = Space::new();
    space.file("a.txt", "OLD");
    run(async {
        let prepared = space
            .prepare(
                "write_file",
                json!({"path": "x/y.txt", "content": "NEW"}),
                &context(),
            )
            .await;
        drop(prepared.unwrap());
        let prepared = space
            .prepare(
                "write_file",
                json!({"path": "a.txt", "content": "NEW"}),
                &context(),
            )
            .await;
        drop(prepared.unwrap().run(context()));
    });
    assert_eq!(space.names(""), ["a.txt"]);
    assert_eq!(space.content("a.txt").unwrap(), "OLD");
}

#[test]
fn writes_one_after_another_in_a_folder_that_was_missing_for_both_both_work() {
    let space = Space::new();
    run(async {
        let write = |path: &str| json!({"path": path, "content": path});
        let first = space
            .prepare("write_file", write("new/a.txt"), &context())
            .await
            .unwrap();
        let second = space
            .prepare("write_file", write("new/b.txt"), &context())
            .await
            .unwrap();
        for mut call in [first, second] {
            call.reread().await.unwrap();
            call.run(context()).await.unwrap();
        }
    });
    assert_eq!(space.names("new"), ["a.txt", "b.txt"]);
}

#[test]
fn many_writers_of_one_file_leave_one_of_their_texts_with_its_label() {
    let space = Arc::new(Space::new());
    run(async {
        for round in 0..20 {
            let content = move |writer: u32| format!("{round} {writer}").repeat(1000);
            let tasks: Vec<_> = (0..8)
                .map(|writer| {
                    let space = Arc::clone(&space);
                    let arguments = json!({"path": "new/a.txt", "content": content(writer)});
                    tokio::spawn(async move { space.call("write_file", arguments).await.how })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), "ok");
            }
            let read = space.call("read_file", json!({"path": "new/a.txt"})).await;
            assert!((0..8).any(|writer| read.text == content(writer)));
            // The last label recorded is that of the last content shown.
            assert_eq!(read.label, Label::trusted(Internal));
        }
    });
    assert_eq!(space.names("new"), ["a.txt"]);
}

/// A full disk needs a file system of its own, which only the superuser can have.
#[test]
fn a_full_disk_is_told_and_the_old_content_stays() {
    let space = Space::new();
    space.folder("disk");
    let disk = space.path("disk");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&disk)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!("not tested here: this user may not mount a file system");
        return;
    }
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).output();
        }
    }
    let _unmount = Unmount(disk);
    space.file("disk/a.txt", "OLD");
    let ended = run(space.call(
        "write_file",
        json!({"path": "disk/a.txt", "content": "x".repeat(200_000)}),
    ));
    assert_eq!(
        ended.text,
        "disk/a.txt was not written: no space is left on the device; the old content, if any, is unchanged: No space left \
         on device (os error 28)"
    );
    assert_eq!(space.content("disk/a.txt").unwrap(), "OLD");
    assert_eq!(space.names("disk"), ["a.txt"]);
}

#[test]
fn content_that_could_not_be_read_again_is_not_written() {
    let space = Space::new();
    let ended = run(space.call(
        "write_file",
        json!({"path": "a.txt", "content": "x".repeat((16 << 20) + 1)}),
    ));
    assert_eq!(
        ended.text,
        "a.txt has 16777217 bytes, more than the 16777216 that can be written; write less"
    );
    assert!(space.names("").is_empty());
}
