//! Blocking work that can be stopped.

use crate::FileError;
use crate::error::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_policy::Label;
use tidegate_tools::Cancel;

/// Tells blocking work to stop: the call was cancelled, or nobody waits for it any more.
#[derive(Clone)]
pub(crate) struct Stop {
    cancel: Arc<dyn Cancel>,
    abandoned: Arc<AtomicBool>,
}

impl Stop {
    /// An error that says so, if the work is to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() || self.abandoned.load(Ordering::Relaxed) {
            // Whether something was looked at before is not told, so there is nothing to label.
            return Err(FileError::Cancelled {
                left: "nothing was changed",
            }
            .labelled(Label::BOTTOM));
        }
        Ok(())
    }
}

/// Says that nobody waits any more when a call's future is dropped, by a timeout say.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does blocking `work` on a thread for such work.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &Arc<dyn Cancel>,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let waiting = Waiting(Arc::new(AtomicBool::new(false)));
    let stop = Stop {
        cancel: Arc::clone(cancel),
        abandoned: Arc::clone(&waiting.0),
    };
    let done = tokio::task::spawn_blocking(move || {
        stop.check()?;
        work(&stop)
    })
    .await;
    drop(waiting);
    // What panicking work had looked at is not known.
    done.unwrap_or_else(|cause| Err(FileError::Stopped { cause }.labelled(Label::UNREADABLE)))
}
