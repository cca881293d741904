//! What is recorded of what commands make, and what recorded labels are to commands.

use crate::common::{Broken, Ended, Space, context};
use serde_json::json;
use std::fs;
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_policy::{Classification, Label, PathRulesBuilder};
use tidegate_tools::{CallContext, FileLabels as _, PendingWrites};

const SECRET: &str = "hunter2";

fn public(rules: PathRulesBuilder) -> PathRulesBuilder {
    rules.pattern("**/*.pub", Public).pattern("**/*.pub/**", Public)
}

fn clearance(clearance: Classification) -> CallContext {
    CallContext {
        clearance,
        ..context()
    }
}

async fn told(space: &Space, tool: &str, arguments: serde_json::Value, level: Classification) -> Ended {
    space.call_tool(tool, arguments, clearance(level)).await
}

#[tokio::test]
async fn a_name_that_a_command_gave_is_not_told_below_its_level() {
    // Each makes a place of a lower level whose name, or the name of something in it, is the secret.
    let table = [
        (Internal, "mkdir public; touch public/hunter2.txt"),
        (Internal, "mkdir -p public/hunter2/deep"),
        (Internal, "mkdir public; ln -s hunter2 public/link"),
        (Internal, "mkdir public; mkfifo public/hunter2"),
        (Internal, "mkdir -p x/hunter2; echo x >x/hunter2/y; mv x public"),
        (
            Internal,
            "mkdir public; echo hunter2 >public/a; ln public/a public/hunter2",
        ),
        (Internal, "mkdir -p public/a; mv public/a public/hunter2"),
        (
            Internal,
            "for i in $(seq 1500); do echo $i >n$i; done; mkdir public; touch public/hunter2",
        ),
        (
            Internal,
            "mkdir public; touch \"$(printf 'public/hunter2\\377')\"",
        ),
        (
            Confidential,
            "cd confidential; mkdir hunter2.pub; touch hunter2.pub/hunter2",
        ),
        (Confidential, "cd confidential; touch hunter2.pub"),
    ];
    for (level, command) in table {
        let Some(space) = Space::with(public, |settings| settings).await else {
            return;
        };
        space.folder("confidential");
        let ended = space.sh_at(level, command).await;
        assert!(ended.text.starts_with("exit code 0"), "{command}: {}", ended.text);
        for arguments in [
            json!({"recursive": true}),
            json!({"path": "public", "recursive": true}),
            json!({"path": "confidential/hunter2.pub"}),
        ] {
            let listed = told(&space, "list_files", arguments.clone(), Public).await;
            assert!(
                !listed.ok || !listed.text.contains(SECRET),
                "{command} {arguments}: {listed:?}"
            );
        }
        let found = told(&space, "read_file", json!({"path": "public/hunter.txt"}), Public).await;
        assert!(!found.text.contains(SECRET), "{command}: {found:?}");
        // Whoever may know is told, and holds it then.
        let listed = told(&space, "list_files", json!({"recursive": true}), level).await;
        assert!(
            !listed.text.contains(SECRET) || listed.label.classification == level,
            "{command}: {listed:?}"
        );
    }
}

#[tokio::test]
async fn a_command_works_at_the_level_recorded_of_what_it_would_see() {
    let Some(space) = Space::with(public, |settings| settings).await else {
        return;
    };
    space
        .file("raised.txt", "SECRET")
        .file("confidential/deep/x", "SECRET");
    let command = json!({"command": "cat raised.txt"});
    space
        .labels
        .set(&space.path("confidential/deep/x"), Label::untrusted(Confidential))
        .await;
    space
        .labels
        .set(&space.path("gone.txt"), Label::untrusted(Restricted))
        .await;
    let judged = space.judged(command.clone(), &context()).await;
    assert_eq!(judged, (Label::untrusted(Internal), Internal));
    space
        .labels
        .set(&space.path("raised.txt"), Label::untrusted(Confidential))
        .await;
    let judged = space.judged(command.clone(), &context()).await;
    assert_eq!(judged, (Label::untrusted(Confidential), Confidential));
    let ended = space.call(command.clone(), clearance(Internal)).await;
    assert!(!ended.ok && !ended.text.contains("SECRET"), "{ended:?}");
    assert_eq!(ended.label, Label::untrusted(Confidential));
    let ended = space.call(command, context()).await;
    assert_eq!(
        (ended.output(), ended.label),
        ("SECRET", Label::untrusted(Confidential))
    );
    // What it then reads cannot be put where less is promised.
    let ended = space
        .sh("cp raised.txt copy.txt; cat raised.txt >other.txt; true")
        .await;
    assert_eq!(ended.label, Label::untrusted(Confidential));
    assert_eq!(
        (space.content("copy.txt"), space.content("other.txt")),
        (None, None)
    );
}

#[tokio::test]
async fn names_recorded_above_the_level_raise_it_too() {
    for (make, name) in [("folder", "hunter2"), ("link", "link"), ("file", "sub/hunter2")] {
        let Some(space) = Space::confined().await else {
            return;
        };
        space.folder("sub");
        match make {
            "folder" => {
                space.folder(name);
            }
            "link" => std::os::unix::fs::symlink(SECRET, space.path(name)).unwrap(),
            _ => {
                space.file(name, "");
            }
        }
        space
            .labels
            .set(&space.path(name), Label::untrusted(Confidential))
            .await;
        let ended = space.sh("find . -ls").await;
        assert_eq!(ended.label, Label::untrusted(Confidential), "{make}");
        let ended = space
            .call(json!({"command": "find . -ls"}), clearance(Internal))
            .await;
        assert!(!ended.ok && !ended.text.contains(SECRET), "{make}: {ended:?}");
    }
}

#[tokio::test]
async fn very_many_labels_in_hidden_places_are_passed_over() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.folder("confidential/a").folder("sub");
    for index in 0..2_000 {
        let path = space.path(&format!("confidential/a/{index}"));
        space.labels.set(&path, Label::untrusted(Confidential)).await;
    }
    let command = json!({"command": "true"});
    let judged = space.judged(command.clone(), &context()).await;
    assert_eq!(judged, (Label::untrusted(Internal), Internal));
    space.file("sub/z", "");
    space
        .labels
        .set(&space.path("sub/z"), Label::untrusted(Confidential))
        .await;
    let judged = space.judged(command, &context()).await;
    assert_eq!(judged, (Label::untrusted(Confidential), Confidential));
}

#[tokio::test]
async fn what_is_recorded_while_a_command_runs_raises_its_result() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.file("a.txt", "x");
    let mut prepared = space
        .prepare(json!({"command": "cat a.txt"}), &context())
        .await
        .unwrap();
    prepared.reread().await.unwrap();
    space
        .labels
        .set(&space.path("a.txt"), Label::untrusted(Confidential))
        .await;
    let output = prepared.run(context()).await.unwrap();
    assert_eq!(output.label, Label::untrusted(Confidential));
}

#[tokio::test]
async fn what_a_killed_program_left_counts_as_written() {
    let Some(space) = Space::with(public, |settings| settings).await else {
        return;
    };
    space.file("kept.pub", "kept").file("own.txt", "x");
    space.labels.break_down(Broken::Killed);
    let command = json!({"command": "mkdir public; echo SECRET >public/hunter2; touch done"});
    let running = space.call(command, context());
    let ready = space.path("done");
    tokio::select! {
        ended = running => panic!("it was not killed: {ended:?}"),
        () = async { while !ready.exists() { tokio::task::yield_now().await } } => {}
    }
    // What is left is a record that it ran; nothing of what it wrote.
    assert_eq!(space.labels.of(&space.path("public/hunter2")).await, None);
    assert_eq!(space.labels.pending_now().await.len(), 1);
    space.labels.break_down(Broken::Nothing);
    for (tool, arguments) in [
        ("read_file", json!({"path": "public/hunter2"})),
        ("list_files", json!({"path": "public"})),
        ("list_files", json!({"recursive": true})),
        ("search_files", json!({"pattern": "SECRET"})),
        ("search_files", json!({"pattern": "SECRET", "path": "public"})),
    ] {
        let ended = told(&space, tool, arguments.clone(), Public).await;
        let text = ended.text.replace("no public/hunter2", "");
        assert!(
            !ended.ok || (!text.contains(SECRET) && !text.contains("SECRET")),
            "{tool} {arguments}: {ended:?}"
        );
    }
    // What it could not write is what it was.
    let kept = told(&space, "read_file", json!({"path": "kept.pub"}), Public).await;
    assert_eq!(
        (kept.text.as_str(), kept.label),
        ("kept", Label::untrusted(Public))
    );
}

#[tokio::test]
async fn a_record_a_killed_program_left_is_settled_by_a_later_command() {
    let Some(space) = Space::with(public, |settings| settings).await else {
        return;
    };
    space.file("public/hunter2", "SECRET").file("kept.pub", "kept");
    let root = space.path("").components().collect::<std::path::PathBuf>();
    let left = PendingWrites {
        id: "left".into(),
        since_ms: 0,
        label: Label::untrusted(Internal),
        places: vec![(root.clone(), true), (root.join("kept.pub"), false)],
    };
    let elsewhere = PendingWrites {
        id: "elsewhere".into(),
        places: vec![(space.home.join("outside"), true)],
        ..left.clone()
    };
    for work in [left, elsewhere] {
        space.labels.begin(work).await.unwrap();
    }
    space.sh("true").await.output();
    let label = Some(Label::untrusted(Internal));
    assert_eq!(space.labels.of(&space.path("public")).await, label);
    assert_eq!(space.labels.of(&space.path("public/hunter2")).await, label);
    assert_eq!(space.labels.of(&space.path("kept.pub")).await, None);
    let ids: Vec<String> = space
        .labels
        .pending_now()
        .await
        .into_iter()
        .map(|work| work.id)
        .collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[tokio::test]
async fn a_command_whose_writes_cannot_be_recorded_is_not_run() {
    let Some(confined) = Space::confined().await else {
        return;
    };
    for space in [confined, Space::unconfined()] {
        space.labels.break_down(Broken::Begin);
        let ended = space.sh_at(Restricted, "touch made").await;
        assert_eq!(
            ended.text,
            "the command was not run, because what it may write cannot be recorded: the labels of files cannot be \
             written: the disk is full"
        );
        assert!(!space.path("made").exists());
    }
}

#[tokio::test]
async fn nothing_is_left_pending_behind_a_command_that_ended() {
    let Some(space) = Space::confined().await else {
        return;
    };
    for (command, level) in [
        ("true", Internal),
        ("exit 3", Confidential),
        ("kill -9 $$", Internal),
    ] {
        space.sh_at(level, command).await;
        assert_eq!(space.labels.pending_now().await, [], "{command}");
    }
    // One that never ran did not write.
    fs::remove_file(space.path("tidegate.toml")).unwrap();
    assert!(!space.sh("true").await.ok);
    assert_eq!(space.labels.pending_now().await, []);
}
