//! Places of the program's own where nothing is yet.

use crate::common::{Space, confines, context};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use tidegate_policy::Classification::{Confidential, Internal, Restricted};

/// A workspace that holds the user's configuration folder as a home folder does.
async fn home() -> Option<Space> {
    confines()
        .await
        .then(|| Space::with_own(|root| root.join(".config/tidegate")))
}

#[tokio::test]
async fn a_command_makes_nothing_in_a_place_of_the_programs_own() {
    type Prepare = fn(&Space);
    let table: [(&str, Prepare, bool); 6] = [
        ("nothing of it is there", |_| {}, false),
        (
            "its folder is there",
            |space| {
                space.folder(".config");
            },
            false,
        ),
        (
            "it is there",
            |space| {
                space.folder(".config/tidegate");
            },
            true,
        ),
        (
            "its folder is a link",
            |space| {
                space.folder("elsewhere/tidegate");
                symlink("elsewhere", space.path(".config")).unwrap();
            },
            false,
        ),
        (
            "it is a link",
            |space| {
                space.folder(".config");
                symlink(space.home.join("outside"), space.path(".config/tidegate")).unwrap();
            },
            false,
        ),
        (
            "it is a link to nothing",
            |space| {
                space.folder(".config");
                symlink("nowhere", space.path(".config/tidegate")).unwrap();
            },
            false,
        ),
    ];
    for (what, prepare, runs) in table {
        let Some(space) = home().await else { return };
        prepare(&space);
        for command in [
            "mkdir -p .config/tidegate; echo evil >.config/tidegate/tidegate.toml; true",
            "mkdir -p .config nowhere; rm -f .config/tidegate; mkdir .config/tidegate; echo evil >.config/tidegate/tidegate.toml; true",
            "mkdir -p x/tidegate; echo evil >x/tidegate/tidegate.toml; rm -rf .config; mv x .config; true",
        ] {
            let ended = space.sh(command).await;
            assert_eq!(ended.ok, runs, "{what} {command}: {}", ended.text);
            let there = fs::read_to_string(space.path(".config/tidegate/tidegate.toml"));
            assert!(there.is_err(), "{what} {command}: {there:?}");
            if !runs {
                assert!(
                    ended.text.contains("the command was not run: ")
                        && ended.text.contains("or choose a workspace"),
                    "{}",
                    ended.text
                );
            }
        }
    }
}

#[tokio::test]
async fn it_is_no_matter_where_a_command_cannot_write() {
    let Some(space) = home().await else { return };
    space.folder("confidential");
    // At CONFIDENTIAL the workspace itself is read-only, at RESTRICTED everything.
    for level in [Confidential, Restricted] {
        space.sh_at(level, "mkdir .config; true").await.output();
        assert!(!space.path(".config").exists(), "{level}");
    }
    let judged = space.prepare(json!({"command": "true"}), &context()).await;
    assert!(judged.is_err(), "{Internal}");
}
