//! Commands on a system that cannot confine them.

use crate::common::{Space, context, launcher};
use serde_json::json;
use tidegate_builtins::confine::Launcher;
use tidegate_builtins::{CommandError, confinement_available};
use tidegate_policy::Classification::{Public, Restricted};
use tidegate_policy::Label;
use tidegate_tools::CallContext;

#[tokio::test]
async fn it_can_reach_everything_and_may_be_given_nothing() {
    let space = Space::unconfined();
    for level in [Public, Restricted] {
        let context = CallContext {
            label: Label::trusted(level),
            ..context()
        };
        let judged = space.judged(json!({"command": "ls"}), &context).await;
        assert_eq!(judged, (Label::UNREADABLE, Public), "{level}");
    }
    let ended = space.sh("cat ../own/keys.txt; echo written >file").await;
    assert_eq!(ended.output(), "OWN");
    assert_eq!(ended.label, Label::UNREADABLE);
    assert_eq!(
        space.labels.of(&space.path("file")).await,
        Some(Label::UNREADABLE)
    );
}

#[tokio::test]
async fn its_environment_is_clean_and_its_home_is_its_own() {
    let space = Space::unconfined();
    let ended = space
        .sh("env | cut -d= -f1 | sort | tr '\\n' ' '; touch ~/x $TMPDIR/y; echo; echo $HOME")
        .await;
    let (names, home) = ended.output().trim_end().split_once('\n').unwrap();
    assert_eq!(names, "HOME LANG PATH PWD TERM TMPDIR ");
    assert!(
        home.contains("tidegate-command-") && !std::path::Path::new(home).exists(),
        "{home}"
    );
}

#[tokio::test]
async fn a_launcher_that_does_not_work_is_told() {
    let missing = Launcher::program("/no/such/launcher");
    let error = confinement_available(&missing).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the launcher of commands, /no/such/launcher, cannot be started"
    );
    let silent = Launcher::program("/bin/true");
    assert!(matches!(
        confinement_available(&silent).await,
        Err(CommandError::Lost)
    ));
}

#[test]
fn a_launcher_called_by_hand_says_what_it_is() {
    for arguments in [vec![], vec!["--help"], vec!["nonsense"]] {
        let output = std::process::Command::new(launcher().program)
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "This is the launcher of confined commands; the program starts it itself.\n"
        );
    }
}
