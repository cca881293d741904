//! Whether this system can confine commands.

use super::CommandError;
use super::process::{Finished, run};
use crate::confine::{CommandLimits, Confinement, Launcher, Plan, environment};
use std::path::PathBuf;
use std::time::Duration;
use tidegate_tools::NeverCancelled;

/// How long trying it may take.
const TRYING: Duration = Duration::from_secs(10);

/// Tries whether commands can be confined on this system with this launcher.
///
/// # Errors
/// If they cannot: a [`CommandError::Refused`] says which step the system does not allow, another error that the
/// launcher itself does not work.
pub async fn confinement_available(launcher: &Launcher) -> Result<(), CommandError> {
    let plan = Plan {
        command: "exit 0".into(),
        folder: PathBuf::from("/"),
        stdin: None,
        environment: environment(None),
        limits: CommandLimits::default(),
        confinement: Some(Confinement::default()),
    };
    let finished: Finished = run(launcher, &plan, TRYING, &NeverCancelled).await?;
    let ended = finished.ended()?;
    if ended.code == Some(0) {
        Ok(())
    } else {
        Err(CommandError::Refused {
            step: "run a confined command".into(),
            cause: finished.output.text(),
        })
    }
}
