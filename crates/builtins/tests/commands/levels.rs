//! What level a command has, and what of the workspace it reaches.

use crate::common::{Broken, Space, confines, context, folder};
use serde_json::json;
use std::fs;
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_policy::{Label, PathRules};
use tidegate_tools::CallContext;

#[tokio::test]
async fn the_level_is_the_highest_of_context_workspace_and_folder() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space
        .folder("public")
        .folder("confidential")
        .folder("restricted")
        .folder("plain");
    let table = [
        (Public, ".", Internal),
        (Public, "public", Internal),
        (Public, "plain", Internal),
        (Public, "confidential", Confidential),
        (Internal, ".", Internal),
        (Confidential, ".", Confidential),
        (Confidential, "public", Confidential),
        (Restricted, "public", Restricted),
        (Public, "restricted", Restricted),
    ];
    for (level, folder, expected) in table {
        let context = CallContext {
            label: Label::trusted(level),
            clearance: Restricted,
            ..context()
        };
        let judged = space
            .judged(json!({"command": "ls", "folder": folder}), &context)
            .await;
        assert_eq!(
            judged,
            (Label::untrusted(expected), expected),
            "{level} in {folder}"
        );
    }
}

#[tokio::test]
async fn what_is_above_the_clearance_is_told_to_the_gate_and_not_run() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.folder("restricted");
    let arguments = json!({"command": "touch x", "folder": "restricted"});
    let judged = space.judged(arguments.clone(), &context()).await;
    assert_eq!(judged, (Label::untrusted(Restricted), Restricted));
    let ended = space.call(arguments, context()).await;
    assert_eq!(
        (ended.ok, ended.text.as_str()),
        (false, "restricted is not for this session")
    );
    assert!(!space.path("restricted/x").exists());
    // The workspace itself may be too high.
    let context = CallContext {
        clearance: Public,
        ..context()
    };
    let judged = space.judged(json!({"command": "ls"}), &context).await;
    assert_eq!(judged, (Label::untrusted(Internal), Internal));
}

#[tokio::test]
async fn lower_places_are_read_only_and_higher_ones_hidden() {
    let rules = |rules: tidegate_policy::PathRulesBuilder| {
        rules
            .pattern("deep/**/*.key", Restricted)
            .pattern("faq.md", Public)
            .pattern("vault/**", Confidential)
    };
    let Some(space) = Space::with(rules, |settings| settings).await else {
        return;
    };
    space
        .file("plain.txt", "plain")
        .file("faq.md", "faq")
        .file("public/p.txt", "public")
        .file("internal/i.txt", "internal")
        .file("confidential/c.txt", "CONFIDENTIAL")
        .file("vault/v.txt", "VAULT")
        .file("deep/er/a.key", "KEY")
        .file("deep/er/a.txt", "deep");
    let files = "plain.txt faq.md public/p.txt internal/i.txt confidential/c.txt vault/v.txt deep/er/a.key deep/er/a.txt";
    let script = format!(
        "for f in {files}; do r=-; w=-; [ -n \"$(cat $f 2>/dev/null)\" ] && r=r; (echo x >>$f) 2>/dev/null && w=w; echo $f $r$w; done"
    );
    let at = |expected: [&str; 8]| {
        files
            .split(' ')
            .zip(expected)
            .map(|(file, access)| format!("{file} {access}\n"))
            .collect::<String>()
    };
    let ended = space.sh(&script).await;
    assert_eq!(
        ended.output(),
        at(["rw", "r-", "r-", "rw", "--", "--", "--", "rw"])
    );
    assert_eq!(ended.label, Label::untrusted(Internal));
    let ended = space.sh_at(Confidential, &script).await;
    assert_eq!(
        ended.output(),
        at(["r-", "r-", "r-", "r-", "rw", "rw", "--", "r-"])
    );
    assert_eq!(ended.label, Label::untrusted(Confidential));
    let ended = space.sh_at(Restricted, &script).await;
    assert_eq!(
        ended.output(),
        at(["r-", "r-", "r-", "r-", "r-", "r-", "rw", "r-"])
    );
}

#[tokio::test]
async fn a_place_cannot_be_moved_to_a_path_of_another_level() {
    let rules = |rules: tidegate_policy::PathRulesBuilder| rules.pattern("a/b/*.key", Restricted);
    let Some(space) = Space::with(rules, |settings| settings).await else {
        return;
    };
    space
        .file("a/b/x.key", "KEY")
        .file("a/b/plain", "plain")
        .file("restricted/r", "R")
        .file("public/p", "P");
    for command in [
        "mv a c",
        "mv a/b c",
        "mv a/b/x.key c",
        "ln a/b/x.key c",
        "cp a/b/x.key c && grep KEY c",
        "mv restricted c",
        "mv public c",
        "rm -rf a/b/x.key",
        "rmdir restricted",
        "mv a/b/plain public/",
        "ln a/b/plain public/",
        "python3 -c 'import os; os.rename(\"a\", \"c\")'",
    ] {
        let ended = space.sh(command).await;
        assert!(
            !ended.text.starts_with("exit code 0"),
            "{command}: {}",
            ended.text
        );
    }
    assert_eq!(space.content("a/b/x.key").unwrap(), "KEY");
    assert_eq!(space.content("restricted/r").unwrap(), "R");
    assert_eq!(space.content("public/p").unwrap(), "P");
}

#[tokio::test]
async fn a_file_with_a_name_elsewhere_is_hidden_and_one_with_all_names_here_is_not() {
    let Some(space) = Space::confined().await else {
        return;
    };
    fs::hard_link(space.home.join("outside/secret.txt"), space.path("linked")).unwrap();
    space.file("one", "both names are here").file("restricted/r", "R");
    fs::hard_link(space.path("one"), space.path("two")).unwrap();
    fs::hard_link(space.path("restricted/r"), space.path("alias")).unwrap();
    let ended = space.sh("cat linked alias 2>/dev/null; cat one two").await;
    assert_eq!(ended.output(), "both names are hereboth names are here");
}

#[tokio::test]
async fn unfinished_files_of_the_file_tools_are_hidden() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.file(".tidegate-0123456789abcdef.tmp", "UNFINISHED");
    let ended = space.sh("cat .tidegate-0123456789abcdef.tmp; true").await;
    assert!(!ended.text.contains("UNFINISHED"), "{}", ended.text);
}

#[tokio::test]
async fn what_a_command_wrote_carries_its_level() {
    let rules = |rules: tidegate_policy::PathRulesBuilder| rules;
    let Some(space) = Space::with(rules, |settings| settings).await else {
        return;
    };
    space.file("old", "old").file("same", "same");
    space
        .sh("echo new >new; echo more >>old; mkdir sub; echo deep >sub/deep; cat same")
        .await;
    let label = Some(Label::untrusted(Internal));
    for path in ["new", "old", "sub/deep"] {
        assert_eq!(space.labels.of(&space.path(path)).await, label, "{path}");
    }
    assert_eq!(space.labels.of(&space.path("same")).await, None);
    // A folder of a lower level that the command makes itself does not lower what is in it.
    space.sh("mkdir public && echo new >public/new").await;
    assert_eq!(space.labels.of(&space.path("public/new")).await, label);
}

#[tokio::test]
async fn labels_are_recorded_also_if_the_command_fails_or_is_stopped() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let ended = space.sh("echo x >failed; exit 3").await;
    assert_eq!(ended.text, "exit code 3\n(no output)");
    let stopped = json!({"command": "echo x >stopped; sleep 100", "timeout_s": 1});
    let ended = space.call(stopped, context()).await;
    assert!(
        !ended.ok && ended.text.starts_with("stopped after 1 s, the time limit"),
        "{}",
        ended.text
    );
    for path in ["failed", "stopped"] {
        assert_eq!(
            space.labels.of(&space.path(path)).await,
            Some(Label::untrusted(Internal)),
            "{path}"
        );
    }
    space.labels.break_down(Broken::Settle);
    let ended = space.sh("echo x >unlabelled").await;
    assert!(!ended.ok);
    assert_eq!(
        ended.text,
        "the command ended, but the labels of what it wrote cannot be recorded; until they are, all it could write in \
         the workspace counts as INTERNAL, UNTRUSTED: the labels of files cannot be written: the disk is full"
    );
}

#[tokio::test]
async fn what_appears_above_the_level_raises_the_result() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let ended = space.sh("mkdir confidential && echo made").await;
    assert_eq!(ended.label, Label::untrusted(Confidential));
    assert_eq!(
        ended.output(),
        "made\n\n[this counts as CONFIDENTIAL: confidential appeared while the command ran]"
    );
}

#[tokio::test]
async fn software_the_owner_named_can_be_read_and_not_written() {
    for tools in [folder(), tempfile::TempDir::new().unwrap()] {
        let tools = tools.path().canonicalize().unwrap();
        let tool = tools.join("tool");
        fs::write(&tool, "TOOL").unwrap();
        let Some(space) = Space::with(|rules| rules, |settings| settings.software([tools])).await else {
            return;
        };
        let ended = space
            .sh(&format!("cat {0}; echo x >{0}; true", tool.display()))
            .await;
        assert!(ended.output().starts_with("TOOL"), "{}", ended.text);
        assert_eq!(fs::read_to_string(tool).unwrap(), "TOOL");
    }
}

#[tokio::test]
async fn a_workspace_below_the_folder_for_temporary_files_or_an_own_folder_is_there() {
    if !confines().await {
        return;
    }
    for (place, own) in [(tempfile::TempDir::new().unwrap(), false), (folder(), true)] {
        let home = place.path().canonicalize().unwrap();
        let root = home.join("data/workspaces/one");
        fs::create_dir_all(&root).unwrap();
        fs::write(home.join("data/keys"), "OWN").unwrap();
        fs::write(root.join("file"), "content").unwrap();
        let mut rules = PathRules::builder(&root);
        if own {
            rules = rules.own(home.join("data")).session_workspace(&root);
        }
        let space = Space::at(place, &root, rules.build().unwrap(), |settings| {
            settings.own_files(own.then(|| home.join("data")))
        });
        for level in [Internal, Restricted] {
            let ended = space
                .sh_at(
                    level,
                    &format!("cat file; cat {}/data/keys; true", home.display()),
                )
                .await;
            assert!(ended.output().starts_with("content"), "{}", ended.text);
            assert!(!ended.text.contains("OWN"), "{}", ended.text);
        }
        space.sh("echo new >new").await;
        assert_eq!(fs::read_to_string(root.join("new")).unwrap(), "new\n");
    }
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_told() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.file("file", "");
    let table = [
        (
            json!({"command": " "}),
            "the command is empty; write a command line for sh, as in \"ls -l\"",
        ),
        (
            json!({"command": "a\u{0}b"}),
            "the command holds a zero byte; write a command line for sh, as in \"ls -l\"",
        ),
        (
            json!({"command": "ls", "folder": "missing"}),
            "there is no missing; list_files shows what there is",
        ),
        (json!({"command": "ls", "folder": "file"}), "file is not a folder"),
        (
            json!({"command": "ls", "folder": "/etc"}),
            "/etc lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
        (
            json!({"command": "ls", "folder": "../outside"}),
            "../outside lies outside the workspace; write a path relative to the workspace, as in notes/today.md",
        ),
    ];
    for (arguments, expected) in table {
        let error = space
            .prepare(arguments.clone(), &context())
            .await
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.message, expected, "{arguments}");
    }
    let link = space.path("link");
    std::os::unix::fs::symlink(space.home.join("outside"), link).unwrap();
    let error = space
        .prepare(json!({"command": "ls", "folder": "link"}), &context())
        .await
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        error.message,
        "link cannot be used: the link link leads out of the workspace"
    );
}
