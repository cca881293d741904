//! Running the child, and looking at how it ended.

use crate::scenario::Place;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use tidegate_tests::crash::{Errand, Finished, Kill, Work};

/// How a run of the child ended.
pub(crate) enum Ended {
    /// It was killed, as told.
    Killed,
    /// It ran to its end.
    Finished(Finished),
}

/// An errand in `place` for the model at `base_url`.
pub(crate) fn errand(place: &Place, base_url: String, task: &str) -> Errand {
    Errand {
        data: place.data(),
        workspace: place.workspace(),
        ledger: place.ledger(),
        base_url,
        task: task.to_owned(),
        resume: false,
        approve: false,
        work: Work::Task,
        window: None,
        kill: None,
    }
}

/// Runs the child once. Neither a kill nor an end in order is a panic; all else is.
pub(crate) async fn run(errand: &Errand, kill: Option<Kill>) -> Ended {
    let errand = Errand {
        kill,
        ..errand.clone()
    };
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_crash_child"))
        .arg(serde_json::to_string(&errand).unwrap())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.signal() == Some(9) {
        assert!(kill.is_some(), "killed by somebody else: {stderr}");
        return Ended::Killed;
    }
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
    Ended::Finished(serde_json::from_slice(&output.stdout).unwrap())
}
