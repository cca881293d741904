//! Nothing outside the workspace is opened, and nothing but regular files.

use crate::common::{Space, cleared, run, sink};
use rustix::fs::{CWD, Mode};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use tidegate_policy::Classification::*;
use tidegate_policy::{Label, Resource, SinkLevel};

/// A workspace with every kind of trap.
fn traps() -> Space {
    let space = Space::new();
    space.file("inside.txt", "INSIDE").file("folder/deep.txt", "DEEP");
    space.link(space.outside("secret.txt"), "absolute-out");
    space.link("../outside/secret.txt", "relative-out");
    space.link("../outside", "folder-out");
    space.link("absolute-out", "chain-out");
    space.link("nowhere.txt", "dangling");
    space.link("../outside/nowhere.txt", "dangling-out");
    space
        .link("loop-b", "loop-a")
        .link("loop-a", "loop-b")
        .link("self", "self");
    space
        .link("/proc/self/root", "magic")
        .link("/proc/self/cwd", "magic-cwd");
    space.link("/proc/self/fd/0", "magic-fd");
    space
        .link("inside.txt", "link")
        .link("folder", "folder-link")
        .link("link", "chain");
    space.link(space.path("folder/deep.txt"), "absolute-in");
    space.link("../folder/deep.txt", "folder/up");
    space.link("folder/../../outside/secret.txt", "winding-out");
    rustix::fs::mknodat(
        CWD,
        space.path("pipe"),
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    drop(UnixListener::bind(space.path("socket")).unwrap());
    space.link("pipe", "pipe-link").link("/dev/zero", "device");
    fs::hard_link(space.outside("secret.txt"), space.path("hard")).unwrap();
    space
}

#[test]
fn a_path_leads_to_a_file_inside_or_nowhere() {
    let space = traps();
    let inside = space.path("inside.txt");
    let outside = space.outside("secret.txt");
    let long = "n".repeat(300);
    let very_long = "directory/".repeat(600);
    let table = [
        ("inside.txt", "INSIDE"),
        ("./folder/../inside.txt", "INSIDE"),
        ("link", "INSIDE"),
        ("chain", "INSIDE"),
        ("folder-link/deep.txt", "DEEP"),
        ("absolute-in", "DEEP"),
        ("folder/up", "DEEP"),
        (inside.to_str().unwrap(), "INSIDE"),
        (
            "",
            "error: the path is empty; write one relative to the workspace, as in notes/today.md",
        ),
        (".", "error: . is a folder; use list_files to see what is in it"),
        (
            "folder",
            "error: folder is a folder; use list_files to see what is in it",
        ),
        (
            "folder-link",
            "error: folder is a folder; use list_files to see what is in it",
        ),
        (
            "folder/",
            "error: folder/ ends with a slash and so names a folder; leave the slash out to name a file",
        ),
        (
            "inside.txt/",
            "error: inside.txt/ ends with a slash and so names a folder; leave the slash out to name a file",
        ),
        ("inside.txt/x", "error: inside.txt is not a folder"),
        (
            "inside\0.txt",
            "error: the path holds a zero byte; no file can have such a name",
        ),
        (
            "../outside/secret.txt",
            "error: ../outside/secret.txt lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            outside.to_str().unwrap(),
            "error: OUT lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            "/etc/passwd",
            "error: /etc/passwd lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            "absolute-out",
            "error: absolute-out cannot be used: the link absolute-out leads out of the workspace",
        ),
        (
            "relative-out",
            "error: relative-out cannot be used: the link relative-out leads out of the workspace",
        ),
        (
            "folder-out/secret.txt",
            "error: folder-out/secret.txt cannot be used: the link folder-out leads out of the workspace",
        ),
        (
            "winding-out",
            "error: winding-out cannot be used: the link winding-out leads out of the workspace",
        ),
        (
            "chain-out",
            "error: chain-out cannot be used: the link absolute-out leads out of the workspace",
        ),
        (
            "dangling-out",
            "error: dangling-out cannot be used: the link dangling-out leads out of the workspace",
        ),
        (
            "dangling",
            "error: there is no nowhere.txt; list_files shows what there is",
        ),
        (
            "loop-a",
            "error: loop-a cannot be used: it leads through more than 40 links",
        ),
        (
            "self",
            "error: self cannot be used: it leads through more than 40 links",
        ),
        (
            "magic/etc/passwd",
            "error: magic/etc/passwd cannot be used: the link magic leads out of the workspace",
        ),
        (
            "magic-cwd",
            "error: magic-cwd cannot be used: the link magic-cwd leads out of the workspace",
        ),
        (
            "magic-fd",
            "error: magic-fd cannot be used: the link magic-fd leads out of the workspace",
        ),
        (
            "device",
            "error: device cannot be used: the link device leads out of the workspace",
        ),
        (
            "pipe",
            "error: pipe is no regular file but a pipe; only regular files can be used",
        ),
        (
            "pipe-link",
            "error: pipe is no regular file but a pipe; only regular files can be used",
        ),
        (
            "socket",
            "error: socket is no regular file but a socket; only regular files can be used",
        ),
        (
            &long,
            "error: cannot look at LONG: File name too long (os error 36)",
        ),
        (
            &very_long,
            "error: there is no VERY; list_files shows what there is",
        ),
    ];
    run(async {
        for (path, expected) in table {
            let path = if path == very_long {
                path.trim_end_matches('/')
            } else {
                path
            };
            for tool in ["read_file", "edit_file"] {
                let arguments = match tool {
                    "read_file" => json!({"path": path}),
                    _ => json!({"path": path, "old_text": "E", "new_text": "E!", "replace_all": true}),
                };
                let ended = space.call(tool, arguments).await;
                let text = ended
                    .text
                    .replace(outside.to_str().unwrap(), "OUT")
                    .replace(&long, "LONG");
                let text = text.replace(very_long.trim_end_matches('/'), "VERY");
                match (ended.how.as_str(), tool) {
                    ("ok", "read_file") => assert_eq!(text, expected, "{path}"),
                    ("ok", _) => assert!(text.starts_with("edited"), "{path}: {text}"),
                    (how, _) => assert_eq!(format!("{how}: {text}"), expected, "{tool} {path}"),
                }
                for (file, content) in [("inside.txt", "INSIDE"), ("folder/deep.txt", "DEEP")] {
                    fs::write(space.path(file), content).unwrap();
                }
            }
        }
    });
    assert_eq!(fs::read_to_string(outside).unwrap(), "OUTSIDE");
}

#[test]
fn nothing_is_written_outside_or_through_what_is_no_file() {
    let table = [
        ("new.txt", "ok"),
        ("a/b/c/new.txt", "ok"),
        ("inside.txt", "ok"),
        ("link", "ok"),
        ("dangling", "ok"),
        ("folder-link/new.txt", "ok"),
        ("hard", "ok"),
        (
            "folder",
            "folder is a folder; use list_files to see what is in it",
        ),
        (
            "new/",
            "new/ ends with a slash and so names a folder; leave the slash out to name a file",
        ),
        ("inside.txt/new.txt", "inside.txt is not a folder"),
        (
            "../new.txt",
            "../new.txt lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            "/tmp/new.txt",
            "/tmp/new.txt lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            "absolute-out",
            "absolute-out cannot be used: the link absolute-out leads out of the workspace",
        ),
        (
            "dangling-out",
            "dangling-out cannot be used: the link dangling-out leads out of the workspace",
        ),
        (
            "folder-out/new.txt",
            "folder-out/new.txt cannot be used: the link folder-out leads out of the workspace",
        ),
        (
            "magic/tmp/new.txt",
            "magic/tmp/new.txt cannot be used: the link magic leads out of the workspace",
        ),
        ("self", "self cannot be used: it leads through more than 40 links"),
        (
            "device",
            "device cannot be used: the link device leads out of the workspace",
        ),
        (
            "pipe",
            "pipe is no regular file but a pipe; only regular files can be used",
        ),
        (
            ".tidegate-0123456789abcdef.tmp",
            "names like .tidegate-0123456789abcdef.tmp are for this program's own unfinished files; choose another name",
        ),
    ];
    for (path, expected) in table {
        let space = traps();
        let ended = run(space.call("write_file", json!({"path": path, "content": "NEW"})));
        match expected {
            "ok" => {
                assert_eq!(
                    (
                        ended.how.as_str(),
                        fs::read_to_string(space.path(path)).unwrap().as_str()
                    ),
                    ("ok", "NEW")
                );
            }
            _ => assert_eq!((ended.how.as_str(), ended.text.as_str()), ("error", expected)),
        }
        // Whatever happened: outside is as it was. The file with two names was replaced inside alone.
        assert_eq!(
            fs::read_to_string(space.outside("secret.txt")).unwrap(),
            "OUTSIDE",
            "{path}"
        );
        assert_eq!(fs::read_dir(space.outside("")).unwrap().count(), 1, "{path}");
    }
}

#[test]
fn a_link_is_written_through_and_stays_a_link() {
    let space = traps();
    run(async {
        space
            .call("write_file", json!({"path": "chain", "content": "NEW"}))
            .await;
        space
            .call("write_file", json!({"path": "dangling", "content": "NEW"}))
            .await;
    });
    assert!(space.path("chain").is_symlink() && space.path("link").is_symlink());
    assert_eq!(space.content("inside.txt").unwrap(), "NEW");
    assert!(space.path("dangling").is_symlink());
    assert_eq!(space.content("nowhere.txt").unwrap(), "NEW");
}

#[test]
fn a_file_with_a_second_name_is_the_highest_and_untrusted_whatever_its_path() {
    let space = traps();
    fs::create_dir(space.path("public")).unwrap();
    fs::hard_link(space.outside("secret.txt"), space.path("public/hard.txt")).unwrap();
    run(async {
        let read = |clearance| {
            space.call_in(
                "read_file",
                json!({"path": "public/hard.txt"}),
                cleared(clearance),
            )
        };
        let ended = read(Restricted).await;
        assert_eq!((ended.text.as_str(), ended.label), ("OUTSIDE", Label::UNREADABLE));
        assert_eq!(read(Confidential).await.how, "read-ceiling");
        // It is so from the first look, not only when the labels are read again.
        let prepared = space
            .prepare(
                "read_file",
                json!({"path": "public/hard.txt"}),
                &cleared(Restricted),
            )
            .await;
        let resources = prepared.unwrap().resources().to_vec();
        assert!(
            matches!(
                resources[..],
                [Resource::Source {
                    label: Label::UNREADABLE,
                    ..
                }]
            ),
            "{resources:?}"
        );
        let search = |clearance| {
            let arguments = json!({"pattern": "OUTSIDE", "path": "public"});
            space.call_in("search_files", arguments, cleared(clearance))
        };
        let found = search(Restricted).await;
        assert_eq!(
            (found.text.as_str(), found.label),
            ("public/hard.txt:1: OUTSIDE", Label::UNREADABLE)
        );
        let found = search(Confidential).await;
        assert_eq!(
            (found.text.as_str(), found.label),
            ("[no line matches]", Label::untrusted(Public))
        );
        let edit = json!({"path": "public/hard.txt", "old_text": "OUT", "new_text": "IN"});
        assert_eq!(space.call("edit_file", edit).await.how, "no-write-down");
    });
}

#[test]
fn the_target_of_a_link_decides_not_its_name() {
    let space = Space::new();
    space
        .file("confidential/plan.txt", "PLAN")
        .file("public/faq.txt", "FAQ");
    space
        .link("../confidential/plan.txt", "public/looks-harmless")
        .link("../public/faq.txt", "confidential/faq");
    run(async {
        let read =
            |path: &str, clearance| space.call_in("read_file", json!({"path": path}), cleared(clearance));
        let ended = read("public/looks-harmless", Confidential).await;
        assert_eq!(
            (ended.text.as_str(), ended.label),
            ("PLAN", Label::untrusted(Confidential))
        );
        assert_eq!(read("public/looks-harmless", Internal).await.how, "read-ceiling");
        // Where a link is says who may know where it leads.
        let ended = read("confidential/faq", Confidential).await;
        assert_eq!(
            (ended.text.as_str(), ended.label),
            ("FAQ", Label::untrusted(Confidential))
        );
        assert_eq!(read("confidential/faq", Internal).await.how, "read-ceiling");

        let write = |path: &str| json!({"path": path, "content": "NEW"});
        let prepared = space
            .prepare("write_file", write("public/looks-harmless"), &cleared(Restricted))
            .await
            .unwrap();
        assert_eq!(sink(prepared.resources()), Some(SinkLevel::Level(Confidential)));
        // By this link a secret decision would show in a public file.
        assert_eq!(
            space.call("write_file", write("confidential/faq")).await.how,
            "no-write-down"
        );
    });
    assert_eq!(space.content("public/faq.txt").unwrap(), "FAQ");
}

#[test]
fn the_programs_own_files_are_never_written_and_not_listed() {
    let space = Space::with_rules(|rules| {
        let root = rules.clone().build().unwrap().workspace().to_owned();
        rules.own(root.join("tidegate.toml")).own(root.join("own"))
    });
    space
        .file("tidegate.toml", "[policy]")
        .file("other.txt", "")
        .link("tidegate.toml", "innocent");
    run(async {
        for path in ["tidegate.toml", "innocent"] {
            let ended = space
                .call("write_file", json!({"path": path, "content": ""}))
                .await;
            assert_eq!(ended.how, "never-write-own-files", "{path}");
            let edit = json!({"path": path, "old_text": "policy", "new_text": ""});
            assert_eq!(
                space.call("edit_file", edit).await.how,
                "never-write-own-files",
                "{path}"
            );
        }
        // Whatever is there: what is the program's own is refused before it is looked at.
        space.folder("own/folder").link("own", "by-link");
        for path in [
            "own",
            "own/folder",
            "own/new/file",
            "tidegate.toml/x",
            "by-link/folder",
            "by-link/new",
        ] {
            let ended = space
                .call("write_file", json!({"path": path, "content": ""}))
                .await;
            assert_eq!(ended.how, "never-write-own-files", "{path}");
        }
        let read = space.call("read_file", json!({"path": "innocent"})).await;
        assert_eq!(
            (read.text.as_str(), read.label),
            ("[policy]", Label::untrusted(Restricted))
        );
        assert_eq!(
            space.call("list_files", json!({})).await.text,
            "by-link -> own\ninnocent -> tidegate.toml\nother.txt"
        );
    });
    assert_eq!(space.content("tidegate.toml").unwrap(), "[policy]");
}

#[test]
fn every_name_can_be_shown_and_every_utf8_name_used() {
    let space = Space::new();
    let names: [&[u8]; 5] = [
        b"two\nlines.txt",
        b"\x1b[31mred.txt",
        b"caf\xe9.txt",
        "ünï😀.txt".as_bytes(),
        b" ~$;|`'\"",
    ];
    for name in names {
        fs::write(space.path("").join(OsStr::from_bytes(name)), "x").unwrap();
    }
    run(async {
        let listed = space.call("list_files", json!({})).await;
        insta::assert_snapshot!(listed.text, @r#"
        \u{1b}[31mred.txt
         ~$;|`'"
        caf\xe9.txt
        two\nlines.txt
        ünï😀.txt
        "#);
        let found = space.call("search_files", json!({"pattern": "x"})).await;
        assert_eq!(found.text.lines().count(), 5);
        for name in ["two\nlines.txt", "\u{1b}[31mred.txt", "ünï😀.txt", " ~$;|`'\""] {
            assert_eq!(space.call("read_file", json!({"path": name})).await.text, "x");
            assert_eq!(
                space
                    .call("write_file", json!({"path": name, "content": "y"}))
                    .await
                    .how,
                "ok"
            );
        }
    });
}

#[test]
fn resources_name_what_was_asked_for() {
    let space = traps();
    let prepared = run(space.prepare(
        "read_file",
        json!({"path": "./folder/../link"}),
        &cleared(Restricted),
    ))
    .unwrap();
    let [Resource::Source { what, label }] = prepared.resources() else {
        panic!("one source is expected")
    };
    assert_eq!((what.name.as_str(), *label), ("link", Label::untrusted(Internal)));
}

#[test]
fn a_workspace_has_to_be_a_folder_with_rules_of_its_own() {
    use std::sync::Arc;
    use tidegate_builtins::Workspace;
    use tidegate_policy::PathRules;
    let space = traps();
    let open = |root: &std::path::Path, rules: &std::path::Path| {
        let rules = PathRules::builder(rules).build().unwrap();
        let home = space.home.path().canonicalize().unwrap();
        match Workspace::open(root, rules, Arc::new(crate::common::Labels::default())) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string().replace(home.to_str().unwrap(), "HOME"),
        }
    };
    let (root, file, missing) = (space.path(""), space.path("inside.txt"), space.path("missing"));
    let root = root.canonicalize().unwrap();
    assert_eq!(open(&root, &root), "opened");
    assert_eq!(open(&space.path("folder-link/.."), &root), "opened");
    let unusable = "it has to be a folder this program may read and write";
    assert_eq!(
        open(&file, &file),
        format!("cannot open the workspace HOME/space/inside.txt; {unusable}")
    );
    assert_eq!(
        open(&missing, &missing),
        format!("cannot open the workspace HOME/space/missing; {unusable}")
    );
    assert_eq!(
        open(&root, &missing),
        "the workspace is HOME/space, but the path rules are for HOME/space/missing; both have to be the same \
         canonical path"
    );
}
