//! What a command may be writing, recorded before it runs.
//!
//! So a program that is killed in the middle leaves behind what the command could have written, and with which label.

use super::reach::Reach;
use super::record::{perhaps_written, settle};
use crate::Workspace;
use crate::stop::blocking;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_policy::{Classification, Label};
use tidegate_tools::{CallContext, Cancel, FileLabelsError, NeverCancelled, PendingWrites};

/// After how long a record is certainly one that a killed program left: no command may run that long.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// Records that a command is about to run which writes with `label`: everywhere in the workspace, or if it is confined
/// where `reach` says. Returns the id of the record.
pub(super) async fn begin(
    workspace: &Workspace,
    reach: Option<&Reach>,
    label: Label,
    context: &CallContext,
) -> Result<String, FileLabelsError> {
    let places = match reach {
        None => vec![(workspace.root().to_owned(), true)],
        Some(reach) => reach
            .writable()
            .map(|(path, writable)| (workspace.absolute(path), writable))
            .collect(),
    };
    // The standard library's hash keys are random, and differ each time.
    let chance = RandomState::new().build_hasher().finish();
    let id = format!(
        "{}:{}:{}:{chance:016x}",
        context.session, context.turn, context.call
    );
    let work = PendingWrites {
        id: id.clone(),
        since_ms: now_ms(),
        label,
        places,
    };
    workspace.labels().begin(work).await?;
    Ok(id)
}

/// Settles what killed programs left in this workspace: whatever their commands could have written is recorded as
/// written, where its path alone would promise too much. If that fails the record stays, and is tried again.
pub(super) async fn settle_forgotten(workspace: &Arc<Workspace>) -> Result<(), FileLabelsError> {
    let never: Arc<dyn Cancel> = Arc::new(NeverCancelled);
    let limit = i64::try_from(FORGOTTEN.as_millis()).unwrap_or(i64::MAX);
    let here = |work: &PendingWrites| {
        let mut places = work.places.iter();
        now_ms().saturating_sub(work.since_ms) > limit
            && places.all(|(place, _)| place.starts_with(workspace.root()))
    };
    let pending = workspace.labels().pending().await?;
    for work in pending.into_iter().filter(here) {
        let everything = {
            let workspace = Arc::clone(workspace);
            blocking(&never, move |stop| {
                let reach = Reach::of(&workspace, Classification::Restricted, stop)?;
                Ok(reach
                    .map(|reach| perhaps_written(&workspace, reach.everything(), &work))
                    .map(|files| (work.id, files)))
            })
            .await
        };
        if let Ok(Ok((id, files))) = everything {
            settle(workspace, id, files).await?;
        }
    }
    Ok(())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
