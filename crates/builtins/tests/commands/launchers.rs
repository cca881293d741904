//! Launchers that fail, at each stage of what program and launcher tell each other: an error is told, and never waited
//! for what will not come.

use crate::common::{Space, context};
use serde_json::json;
use std::time::Duration;
use tidegate_builtins::confine::Launcher;
use tidegate_policy::Classification::Restricted;
use tidegate_tools::CallContext;

/// Far more than the second after which a command is stopped here.
const STUCK: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_launcher_that_fails_gives_an_error() {
    let lost = "the launcher of commands ended unexpectedly; the command may have been run in part";
    let late = "stopped after 1 s, the time limit; timeout_s sets another, up to 600";
    let refused = "the command was not run: the launcher could not do it (just so)";
    let table = [
        ("ends at once", "exit 0", lost),
        ("fails at once", "exit 3", lost),
        ("is killed at once", "kill -9 $$", lost),
        (
            "ends when it has read the plan",
            "head -n 1 >/dev/null; exit 0",
            lost,
        ),
        (
            "is killed when it has read the plan",
            "head -n 1 >/dev/null; kill -9 $$",
            lost,
        ),
        ("never reads the plan", "exec sleep 1000", late),
        ("closes its side and stays", "exec sleep 1000 <&-", late),
        (
            "closes everything and stays",
            "exec sleep 1000 <&- >&- 2>&-",
            late,
        ),
        ("leaves a process that holds its side", "sleep 2 & exit 0", lost),
        (
            "says that it began and ends",
            "head -n 1 >/dev/null; echo '{\"report\":\"started\"}' >&0",
            lost,
        ),
        (
            "says that it began and stays",
            "head -n 1 >/dev/null; echo '{\"report\":\"started\"}' >&0; exec sleep 1000",
            late,
        ),
        (
            "says what is no report",
            "head -n 1 >/dev/null; echo nonsense >&0",
            lost,
        ),
        (
            "says half a report",
            "head -n 1 >/dev/null; printf '{\"report\":' >&0",
            lost,
        ),
        (
            "refuses before it reads the plan",
            "echo '{\"report\":\"refused\",\"step\":\"do it\",\"cause\":\"just so\"}' >&0",
            refused,
        ),
        (
            "refuses and is killed",
            "head -n 1 >/dev/null; echo '{\"report\":\"refused\",\"step\":\"do it\",\"cause\":\"just so\"}' >&0; kill -9 $$",
            refused,
        ),
    ];
    // A plan that no socket holds at once, and one that every socket does.
    for stdin in ["x".repeat(900_000), String::new()] {
        for (what, script, expected) in table {
            let mut launcher = Launcher::program("/bin/sh");
            launcher.arguments = vec!["-c".into(), script.into()];
            let space = Space::with_launcher(launcher);
            let context = CallContext {
                clearance: Restricted,
                ..context()
            };
            let arguments = json!({"command": "true", "stdin": stdin, "timeout_s": 1});
            let ended = tokio::time::timeout(STUCK, space.call(arguments, context)).await;
            let ended = ended.unwrap_or_else(|_| panic!("one that {what} is waited for"));
            assert!(!ended.ok, "one that {what}: {ended:?}");
            assert_eq!(ended.text.lines().next(), Some(expected), "one that {what}");
            assert_eq!(space.labels.pending_now().await, [], "one that {what}");
        }
    }
}
